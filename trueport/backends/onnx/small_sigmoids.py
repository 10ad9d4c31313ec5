"""Sigmoids of large negative numbers, where their size matters.

ONNX Runtime computes float32 sigmoids to an absolute accuracy: sigmoid(-16) is off by half, sigmoid(-18) is 0. Nothing
is lost where the result is a gate or a score. Where its logarithm, root or reciprocal is taken, or a sum of such values
divides, the sigmoid is written as ``1 / (1 + exp(-x))``, which is accurate relative to itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx_ir as ir

from trueport.ir.build import known_array
from trueport.ir.insert import Inserter, Workshop
from trueport.ir.provenance import MADE_BY
from trueport.ir.replace import replace_node
from trueport.operators.record import Kind, Trait
from trueport.operators.table import facts_of

__all__ = ["keep_small_sigmoids"]

_NEAR_ZERO = 1e-6
"""A comparison with less than this is decided by values that the runtime gets wrong."""
_EXACT_FROM = 1e-3
"""With this added, small values count for nothing."""


def keep_small_sigmoids(node: ir.Node, shop: Workshop) -> bool:
    """Write a Sigmoid whose small values matter by Exp; return True if it was changed."""
    data, result = node.inputs[0], node.outputs[0]
    if data is None or data.dtype not in (ir.DataType.FLOAT, ir.DataType.FLOAT16) or not _matters_when_small(result):
        return False
    op = Inserter(shop, node)
    op.metadata[MADE_BY] = "runtime-bug:small-sigmoids"
    wide = data if data.dtype == ir.DataType.FLOAT else op.Cast(data, to=ir.DataType.FLOAT.value)
    made = op.Reciprocal(op.Add(op.Exp(op.Neg(wide)), np.float32(1)))
    replace_node(node, [made if data.dtype == ir.DataType.FLOAT else op.Cast(made, to=data.dtype.value)])
    return True


def _matters_when_small(value: ir.Value) -> bool:
    waiting, seen = [value], {value}
    while waiting:
        for user, place in waiting.pop().uses():
            if _magnifies(user, place):
                return True
            fresh = [result for result in _carried(user, place) if result not in seen]
            seen.update(fresh)
            waiting += fresh
    return False


def _magnifies(user: ir.Node, place: int) -> bool:
    if user.domain:
        return False
    operator = facts_of(user)
    if operator.kind is Kind.COMPARISON:
        return _below(user.inputs[1 - place], _NEAR_ZERO)
    if user.op_type == "Cast":
        return user.attributes["to"].as_int() == ir.DataType.BOOL.value
    if user.op_type == "Pow":
        return place == 0 and _below(user.inputs[1], 1)
    return operator.has(Trait.MAGNIFIES_SMALL) or (user.op_type == "Div" and place == 1)


def _below(value: ir.Value | None, limit: float) -> bool:
    known = known_array(value)
    return known is not None and bool(np.any(np.abs(known) < limit))


def _carried(user: ir.Node, place: int) -> Iterator[ir.Value]:
    """Yield the results that are as inaccurate as the value which a node takes at a place."""
    if user.domain:
        return
    carries = facts_of(user).has(Trait.KEEPS_SMALL)
    if user.op_type == "Cast":
        carries = ir.DataType(user.attributes["to"].as_int()).is_floating_point()
    elif user.op_type in ("Add", "Sum"):
        others = [value for at, value in enumerate(user.inputs) if at != place]
        carries = all(_below(value, _EXACT_FROM) for value in others)
    elif user.op_type == "Div":
        carries = place == 0
    if carries:
        yield user.outputs[0]
