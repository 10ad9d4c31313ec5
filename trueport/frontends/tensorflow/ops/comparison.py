"""Comparisons and logic."""

from __future__ import annotations

import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.frontends.tensorflow.context import Translation
from trueport.frontends.tensorflow.nodes import TF
from trueport.mapping.declare import maps

__all__: list[str] = []

_SHAPES = {"incompatible_shape_error": "shapes that don't fit are an error in ONNX"}


@maps("Equal", domain=TF, fidelity=BITWISE, ignores=_SHAPES)
def equal(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    return t.op.Equal(x, y)


@maps("NotEqual", domain=TF, fidelity=BITWISE, ignores=_SHAPES)
def not_equal(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    return t.op.Not(t.op.Equal(x, y))


@maps("Less", domain=TF, fidelity=BITWISE)
def less(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    return t.op.Less(x, y)


@maps("LessEqual", domain=TF, fidelity=BITWISE)
def less_equal(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    return t.op.LessOrEqual(x, y)


@maps("Greater", domain=TF, fidelity=BITWISE)
def greater(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    return t.op.Greater(x, y)


@maps("GreaterEqual", domain=TF, fidelity=BITWISE)
def greater_equal(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    return t.op.GreaterOrEqual(x, y)


@maps("LogicalAnd", domain=TF, fidelity=BITWISE)
def logical_and(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    return t.op.And(x, y)


@maps("LogicalOr", domain=TF, fidelity=BITWISE)
def logical_or(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    return t.op.Or(x, y)


@maps("LogicalNot", domain=TF, fidelity=BITWISE)
def logical_not(t: Translation, x: ir.Value) -> ir.Value:
    return t.op.Not(x)
