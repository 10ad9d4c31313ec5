"""Where a NaN may stand: read off the nodes that make a value, as far as that is cheap."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.ir.build import known_array
from trueport.operators.record import Kind, Operator, Trait
from trueport.operators.table import facts_of

__all__ = ["has_nan_order", "may_hold_nan"]

_FAR = 24
"""Nodes that are looked back along one path; what comes from further away may hold anything."""


def may_hold_nan(value: ir.Value | None, far: int = _FAR) -> bool:
    """True unless the value is known to hold no NaN."""
    if value is None or (value.dtype is not None and not value.dtype.is_floating_point()):
        return False
    known = known_array(value)
    if known is not None:
        return bool(np.any(known != known))
    maker = value.producer()
    if maker is None or maker.domain or not far:
        return True
    operator = facts_of(maker)
    if operator.has(Trait.MOVES_FIRST):
        return may_hold_nan(maker.inputs[0], far - 1)
    if maker.op_type == "Where":
        return _where_may(maker, far)
    return not operator.has(Trait.KEEPS_NAN) or any(may_hold_nan(item, far - 1) for item in maker.inputs)


def has_nan_order(node: ir.Node) -> bool:
    """True for a TopK that is written so that NaN has a place: of all elements along its axis, by a wider type."""
    if node.op_type != "TopK":
        return False
    data, count = node.inputs
    if data is None or data.dtype == ir.DataType.DOUBLE:
        return False
    known, axis = known_array(count), node.attributes.get_int("axis", -1)
    if known is None:
        return count is not None and _is_size_of(count, data)
    return data.shape is not None and data.shape[axis] == int(known.ravel()[0])


def _is_size_of(count: ir.Value, data: ir.Value | None) -> bool:
    """Whether a number is read off the shape of the data; TopK takes no larger one than the axis has."""
    maker = count.producer()
    if maker is None:
        return False
    if maker.op_type == "Shape":
        return maker.inputs[0] is data
    moves = facts_of(maker).has(Trait.MOVES_FIRST)
    return moves and maker.inputs[0] is not None and _is_size_of(maker.inputs[0], data)


def _where_may(node: ir.Node, far: int) -> bool:
    """Whether either choice may be NaN; ``Where(IsNaN(x), number, x)`` is not, nor with a function of x for x."""
    condition, chosen, other = node.inputs
    asks = condition.producer() if condition is not None else None
    asked = asks.inputs[0] if asks is not None and asks.op_type == "IsNaN" else None
    if asked is not None and other is not None and _follows(other, asked):
        return may_hold_nan(chosen, far - 1)
    return may_hold_nan(chosen, far - 1) or may_hold_nan(other, far - 1)


def _follows(value: ir.Value, origin: ir.Value) -> bool:
    """True if an element of the value is NaN only where the same element of the origin is."""
    if value is origin:
        return True
    maker = value.producer()
    if maker is None or not _keeps_each(facts_of(maker)):
        return known_array(value) is not None and not may_hold_nan(value)
    return all(_follows(item, origin) for item in maker.inputs if item is not None)


def _keeps_each(operator: Operator) -> bool:
    """True if an element of the result is NaN only where one of the operands is."""
    return operator.kind is Kind.ELEMENTWISE and operator.has(Trait.KEEPS_NAN)
