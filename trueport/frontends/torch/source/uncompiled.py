"""PyTorch's own control flow, run as it stands: called outside of an export it would be compiled first, each time."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

__all__ = ["uncompiled"]

_PLACE = "torch._higher_order_ops.utils"
_NAME = "_hop_compile_and_call"


@contextmanager
def uncompiled() -> Iterator[None]:
    """Within it torch.cond and while_loop call what they are given: a compiler would not see the modes around it."""
    module = importlib.import_module(_PLACE)
    kept = getattr(module, _NAME, None)
    if kept is None:  # an older PyTorch, which has no such place
        yield
        return
    setattr(module, _NAME, _called)
    try:
        yield
    finally:
        setattr(module, _NAME, kept)


def _called(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> Any:
    return function(*args, **(kwargs or {}))
