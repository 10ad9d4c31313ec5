"""Find a module's outputs that are indices among elements of which PyTorch does not say which of equal ones it takes.

Where it does not say in which order it gives them either (``topk(sorted=False)``), the elements are found as well. The
module runs as its users run it, and each operator is seen as PyTorch dispatches it: an index is followed from the
operator that made it through views and copies to the output.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.source.call import Call, as_array, as_tensor, inference
from trueport.frontends.torch.source.higher_order import run_control_flow_in
from trueport.ir.choices import Choice

__all__ = ["unspecified_choices"]

_CHOOSING: Mapping[str, str] = {
    "aten::kthvalue": "torch.kthvalue",
    "aten::median": "torch.median",
    "aten::mode": "torch.mode",
    "aten::nanmedian": "torch.nanmedian",
    "aten::sort": "torch.sort without stable=True",
    "aten::topk": "torch.topk",
}
"""Operators whose documentation, or whose kernels for CPU and GPU, leave open which index a tie gets."""
_COPIES = frozenset({"aten::_to_copy", "aten::alias", "aten::clone", "aten::detach", "aten::lift_fresh"})
_MOVES = frozenset(
    f"aten::{name}"
    for name in ("expand", "flip", "permute", "select", "slice", "squeeze", "t", "transpose", "unsqueeze")
)
_RESHAPES = frozenset({"aten::_reshape_alias", "aten::_unsafe_view", "aten::view"})
"""Operators that take a size; rows are reshaped, because their strides may be others."""


def unspecified_choices(module: Any, call: Call, feeds: Mapping[str, Any]) -> dict[str, Choice]:
    """Run the module and return such outputs by name, with what their indices point at."""
    given = [as_tensor(feeds[name], like, name) for name, like in zip(call.names, call.tensors, strict=True)]
    seen = _Seen()
    with inference(module), _mode_class()(seen):
        results = call.run(module, given)
    return {name: found for name, value in results.items() if (found := seen.choice(value)) is not None}


@dataclass(frozen=True, eq=False)
class _Trace:
    """What a tensor holds: see :class:`trueport.ir.choices.Choice`."""

    tensor: Any
    operator: str
    data: Any
    rows: Any
    is_unordered: bool
    is_value: bool
    call: int


class _Seen:
    """Tensors of indices, and of elements in an open order."""

    def __init__(self) -> None:
        self._known: dict[int, _Trace] = {}
        """by identity, which holds as long as the tensor itself is kept"""

    def choice(self, value: Any) -> Choice | None:
        found = self._known.get(id(value))
        if found is None:
            return None
        data, rows = as_array(found.data), as_array(found.rows)
        return Choice(found.operator, data, rows, found.is_unordered, found.is_value, found.call)

    def look(self, operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any], made: Any) -> None:
        name = operator._schema.name
        if operator._schema.is_mutable:
            for changed in args:
                self._known.pop(id(changed), None)
        if name in _CHOOSING and isinstance(made, (list, tuple)) and not _is_stable(operator, args, kwargs):
            data, rows = _rows(args[0], _argument(operator, args, kwargs, "dim"), made[1])
            is_unordered = name == "aten::topk" and not _argument(operator, args, kwargs, "sorted")
            called = f"{_CHOOSING[name]}(sorted=False)" if is_unordered else _CHOOSING[name]
            for place in (0, 1) if is_unordered else (1,):
                trace = _Trace(made[place], called, data, rows, is_unordered, place == 0, id(made[1]))
                self._known[id(made[place])] = trace
        elif name in _COPIES | _MOVES | _RESHAPES and args and id(args[0]) in self._known:
            before = self._known[id(args[0])]
            rows = before.rows
            if name in _RESHAPES:
                rows = rows.reshape(args[1])
            elif name in _MOVES:
                rows = operator(rows, *args[1:], **kwargs)
            self._known[id(made)] = replace(before, tensor=made, rows=rows)


def _is_stable(operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    return operator._overloadname == "stable" and bool(_argument(operator, args, kwargs, "stable"))


def _argument(operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any], name: str) -> Any:
    """What an operator is called with by this name, or its default."""
    for position, argument in enumerate(operator._schema.arguments):
        if argument.name == name:
            given = args[position] if position < len(args) else argument.default_value
            return kwargs.get(name, given)
    raise AssertionError(f"{operator} has no argument {name}")


def _rows(data: Any, dim: int, indices: Any) -> tuple[Any, Any]:
    """``[rows, n]`` data, and for each index the number of its row."""
    if data.dim() == 0:
        return data.reshape(1, 1).clone(), torch.zeros_like(indices)
    last = data.movedim(dim, -1)
    count = last[..., :1].numel()
    rows = torch.arange(count).reshape(last.shape[:-1])
    if indices.dim() == data.dim():
        rows = rows.unsqueeze(-1).movedim(-1, dim % data.dim()).expand(indices.shape)
    return last.reshape(count, last.shape[-1]).clone(), rows


@functools.cache
def _mode_class() -> Any:
    """PyTorch's hook; the class is made here because its base is PyTorch's."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Looking(TorchDispatchMode):  # type: ignore[misc, no-untyped-call, unused-ignore]
        def __init__(self, seen: _Seen) -> None:
            super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
            self._seen = seen

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            made = func(*args, **(kwargs or {}))
            self._seen.look(func, args, kwargs or {}, made)
            return made

    run_control_flow_in(Looking)
    return Looking
