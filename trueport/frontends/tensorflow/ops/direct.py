"""Operators that ONNX has with the same inputs and no attributes, under the same name or another: a row each."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from trueport.fidelity import AGAINST_ONE, BITWISE, ulps
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import OpMapping, declared_by, maps

__all__ = ["ROWS"]


def _row(operator: str, in_onnx: str, **promise: Any) -> OpMapping:
    @maps(operator, domain=TF, **promise)
    def translate(t: Translation, *inputs: ir.Value) -> ir.Value:
        return getattr(t.op, in_onnx)(*inputs)  # type: ignore[no-any-return]

    return declared_by(translate)[0]


_BITS = {"fidelity": BITWISE}
_EXACT = {"error": ulps(0)}

ROWS: tuple[OpMapping, ...] = (
    _row("BitwiseAnd", "BitwiseAnd", **_BITS),
    _row("BitwiseOr", "BitwiseOr", **_BITS),
    _row("BitwiseXor", "BitwiseXor", **_BITS),
    _row("Invert", "BitwiseNot", **_BITS),
    _row("Greater", "Greater", **_BITS),
    _row("GreaterEqual", "GreaterOrEqual", **_BITS),
    _row("IsInf", "IsInf", **_BITS),
    _row("IsNan", "IsNaN", **_BITS),
    _row("Less", "Less", **_BITS),
    _row("LessEqual", "LessOrEqual", **_BITS),
    _row("LogicalAnd", "And", **_BITS),
    _row("LogicalNot", "Not", **_BITS),
    _row("LogicalOr", "Or", **_BITS),
    _row("Abs", "Abs", **_EXACT),
    _row("Ceil", "Ceil", **_EXACT),
    _row("Div", "Div", **_EXACT),
    _row("Floor", "Floor", **_EXACT),
    _row("Maximum", "Max", **_EXACT),
    _row("Minimum", "Min", **_EXACT),
    _row("Neg", "Neg", **_EXACT),
    _row("RealDiv", "Div", **_EXACT),
    _row("Rint", "Round", **_EXACT),
    _row("Sqrt", "Sqrt", **_EXACT),
    _row("Sub", "Sub", **_EXACT),
    _row("BiasAddV1", "Add", error=ulps(1)),
    _row("Exp", "Exp", error=ulps(1)),
    _row("Inv", "Reciprocal", error=ulps(1)),
    _row("Reciprocal", "Reciprocal", error=ulps(1)),
    _row("Tanh", "Tanh", error=ulps(4)),
    _row("Cos", "Cos", error=ulps(2, against=AGAINST_ONE)),
    _row("Log", "Log", error=ulps(2, against=AGAINST_ONE)),
    _row("Sigmoid", "Sigmoid", error=ulps(6, against=AGAINST_ONE)),
    _row("Sin", "Sin", error=ulps(2, against=AGAINST_ONE)),
)
