"""The line at which a module goes another way on other inputs."""

from __future__ import annotations

import functools
from collections.abc import Sequence, Set
from typing import Any

from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.source.call import Call, inference
from trueport.frontends.torch.source.user_lines import running_line

__all__ = ["first_divergence", "lines_calling"]

_Step = tuple[str, str, Any]
"""What one call of a PyTorch function shows: its name, the user's line, the ranks of its results."""


def first_divergence(module: Any, call: Call, first: Sequence[Any], second: Sequence[Any]) -> str:
    """``net.py:12 in forward: code`` of the first call that differs in function, line or rank; empty if none does."""
    one, other = _steps(module, call, first), _steps(module, call, second)
    for a, b in zip(one, other, strict=False):
        if a != b:
            return b[1] or a[1]
    longer = max(one, other, key=len)
    return longer[min(len(one), len(other))][1] if len(one) != len(other) else ""


def lines_calling(module: Any, call: Call, tensors: Sequence[Any], names: Set[str]) -> list[str]:
    """The user's lines, in order, that call one of these functions of PyTorch's or methods of its tensors."""
    return [line or name for name, line, _ in _steps(module, call, tensors) if name in names]


def _steps(module: Any, call: Call, tensors: Sequence[Any]) -> list[_Step]:
    steps: list[_Step] = []
    try:
        with inference(module), _recorder_class()(steps):
            call.run(module, [tensor.clone() for tensor in tensors])
    except Exception:  # the module's own: what was recorded until then is enough
        return steps
    return steps


@functools.cache
def _recorder_class() -> Any:
    from torch.overrides import TorchFunctionMode

    class Recorder(TorchFunctionMode):  # type: ignore[misc, unused-ignore]
        def __init__(self, steps: list[_Step]) -> None:
            super().__init__()
            self._steps = steps

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            made = func(*args, **(kwargs or {}))
            name = getattr(func, "__name__", str(func))
            if name != "__get__":
                self._steps.append((name, running_line(), torch.utils._pytree.tree_map(_rank, made)))
            return made

    return Recorder


def _rank(value: Any) -> Any:
    return value.dim() if isinstance(value, torch.Tensor) else type(value).__name__
