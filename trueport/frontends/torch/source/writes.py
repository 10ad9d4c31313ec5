"""Writes of a call into the memory of parameters, buffers and other tensors that a module keeps."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.source.higher_order import run_control_flow_in
from trueport.frontends.torch.source.user_lines import running_line

__all__ = ["kept_tensors", "memory_of", "watched_writes"]


def kept_tensors(module: Any) -> Iterator[tuple[str, Any]]:
    """Parameters, buffers and tensors in plain attributes, by their path."""
    for name, part in module.named_modules():
        held = {**vars(part), **part._parameters, **part._buffers}
        for attribute, value in held.items():
            if isinstance(value, torch.Tensor):
                yield (f"{name}.{attribute}" if name else attribute), value


def memory_of(module: Any) -> dict[str, int]:
    """The address of each parameter and buffer: ``weight.data = …`` exchanges it."""
    held = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    return {path: _memory(tensor) for path, tensor in held.items()}


def watched_writes(module: Any) -> tuple[Any, dict[str, str]]:
    """A context, and where it notes each tensor of the module that is written into, with the user's line.

    Writes are seen as operators that change memory: ``.data`` and ``torch.no_grad()`` hide them from version counters.
    """
    found: dict[str, str] = {}
    owners = {_memory(tensor): path for path, tensor in kept_tensors(module)}
    return _watcher_class()(owners, found), found


def _memory(tensor: Any) -> int:
    """The address of a tensor's storage; 0 for one without memory of its own."""
    try:
        return int(tensor.untyped_storage().data_ptr())
    except (RuntimeError, NotImplementedError):  # sparse, quantized and other kinds have no storage
        return 0


@functools.cache
def _watcher_class() -> Any:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watcher(TorchDispatchMode):  # type: ignore[misc, no-untyped-call, unused-ignore]
        def __init__(self, owners: Mapping[int, str], found: dict[str, str]) -> None:
            super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
            self._owners, self._found = owners, found

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func._schema.is_mutable:
                for tensor in _written(func, args, kwargs or {}):
                    memory = _memory(tensor)
                    if memory and memory in self._owners:
                        self._found.setdefault(self._owners[memory], running_line())
            return func(*args, **(kwargs or {}))

    run_control_flow_in(Watcher)
    return Watcher


def _written(operator: Any, args: Any, kwargs: Any) -> Iterator[Any]:
    for place, argument in enumerate(operator._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[place] if place < len(args) else kwargs.get(argument.name)
            yield from (leaf for leaf in torch.utils._pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor))
