"""Reductions take their axes as an attribute before 18."""

from __future__ import annotations

from typing import Any

from onnx_ir import Value

from trueport.passes.lower.adapt import Downgrade, downgrades

__all__: list[str] = []

_OF_ONE_ELEMENT = {
    "ReduceL1": ("Abs",),
    "ReduceL2": ("Abs",),
    "ReduceLogSum": ("Log",),
    "ReduceLogSumExp": ("Exp", "Log"),
}
"""What is left of a reduction over no axis, where that is not the element itself."""


@downgrades("ReduceL1", 18, 13)
@downgrades("ReduceL2", 18, 13)
@downgrades("ReduceLogSum", 18, 13)
@downgrades("ReduceLogSumExp", 18, 13)
@downgrades("ReduceMax", 18, 13)
@downgrades("ReduceMean", 18, 13)
@downgrades("ReduceMin", 18, 13)
@downgrades("ReduceProd", 18, 13)
@downgrades("ReduceSumSquare", 18, 13)
def axes_as_attribute(
    op: Downgrade, data: Value, axes: Value | None, *, keepdims: int, noop_with_empty_axes: int
) -> Any:
    """The axes must be known; without any, all are meant."""
    along = [] if axes is None else [int(axis) for axis in op.need(axes, "axes").ravel()]
    if along or not noop_with_empty_axes:
        return op.again(data, axes=along or None, keepdims=keepdims)
    if op.node.op_type == "ReduceSumSquare":
        return op.Mul(data, data)
    for name in _OF_ONE_ELEMENT.get(op.node.op_type, ()):
        data = op.add(name, [data], {})
    return data
