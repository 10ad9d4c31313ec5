"""Extremes and sorts of floats among which there may be NaN, so that ONNX Runtime gives NaN its place.

Its kernels (1.31, CPU) compare with ``<``, which is false for NaN: ReduceMax and ReduceMin pass over NaN unless it
comes first, and TopK leaves an order that depends on where NaN stands, also among the numbers. Here NaN is the extreme,
and above all numbers in a sort, as in PyTorch and NumPy. What stays as it is, because this would cost as much again, is
told by the rule ``nan-in-orderings``: ArgMax and ArgMin, TopK of a part, sorts of float64, Unique.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.ir.insert import Inserter
from trueport.ir.marks import ignores_nan
from trueport.ir.nan import has_nan_order, may_hold_nan

__all__ = ["again", "extreme_of_floats", "sort_of_floats", "why_no_care", "why_no_sort"]

_D = ir.DataType


def again(op: Inserter, data: ir.Value, name: str) -> ir.Value:
    """A reduction of other data over the node's axes."""
    attributes = {name: attribute.value for name, attribute in op.node.attributes.items()}
    return op.add(name, [data, *op.node.inputs[1:]], attributes)


def extreme_of_floats(op: Inserter) -> ir.Value:
    """The extreme, or NaN where there is one: zeros add up to zero, and Clip and ReduceSum keep NaN.

    Sums of absolutes or of squares would tell with one node less, but ONNX Runtime takes three times as long for them.
    """
    data = op.node.inputs[0]
    assert data is not None and data.dtype is not None
    wide = op.Cast(data, to=_D.FLOAT.value) if data.dtype.bitwidth < _D.FLOAT.bitwidth else data
    zero = op.like(0, wide)
    zero_or_nan = again(op, op.Clip(wide, zero, zero), "ReduceSum")
    made: ir.Value = op.Where(op.IsNaN(zero_or_nan), zero_or_nan, again(op, wide, op.node.op_type))
    return made if wide is data else op.Cast(made, to=data.dtype.value)


def sort_of_floats(op: Inserter) -> tuple[ir.Value, ...]:
    """Sort by numbers of a wider type, in which infinity becomes finite and NaN infinite; equals keep their order."""
    data, count = op.node.inputs
    assert data is not None and count is not None and data.dtype is not None
    wider = _D.DOUBLE if data.dtype == _D.FLOAT else _D.FLOAT
    wide = op.Cast(data, to=wider.value)
    finite = op.Min(wide, op.like(np.finfo(wider.numpy()).max, wide))
    key = op.Where(op.IsNaN(data), op.like(np.inf, wide), finite)
    attributes = {name: attribute.value for name, attribute in op.node.attributes.items()}
    _, places = op.several(2).TopK(key, count, **attributes)
    return op.GatherElements(data, places, axis=attributes.get("axis", -1)), places


def why_no_care(node: ir.Node) -> str | None:
    """Why NaN needs no care at a node; None if it does."""
    data = node.inputs[0]
    if data is None or data.dtype is None or not data.dtype.is_floating_point():
        return "its input is not of floats"
    if ignores_nan(node):
        return "what it makes of NaN does not matter"
    return None if may_hold_nan(data) else "its input holds no NaN"


def why_no_sort(node: ir.Node) -> str | None:
    """Why a TopK stays as it is; None if it is a sort in which NaN needs care."""
    if (reason := why_no_care(node)) is not None or has_nan_order(node):
        return reason
    return "it does not sort all elements, or sorts float64, which has no wider type"
