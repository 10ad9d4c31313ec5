"""Trigonometric and hyperbolic functions."""

from __future__ import annotations

import functools

import onnx_ir as ir

from trueport.fidelity import AGAINST_ONE, ulps
from trueport.formulas.numeric import is_double, widened
from trueport.formulas.pairs import angle
from trueport.formulas.special import circular
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []


# ONNX Runtime reduces doubles to a period with no more digits than they have: zeros come out as rounding errors of one.


@maps("Tan", domain=TF, error=ulps(4, against=AGAINST_ONE))
def tan(t: Translation, x: ir.Value) -> ir.Value:
    return t.op.Div(t.op.Sin(x), t.op.Cos(x)) if is_double(x) else t.op.Tan(x)


@maps("Asin", domain=TF, error=ulps(4))
def asin(t: Translation, x: ir.Value) -> ir.Value:
    return circular.asin(t, x) if is_double(x) else t.op.Asin(x)


@maps("Acos", domain=TF, error=ulps(4))
def acos(t: Translation, x: ir.Value) -> ir.Value:
    return circular.acos(t, x) if is_double(x) else t.op.Acos(x)


@maps("Atan", domain=TF, error=ulps(3))
def atan(t: Translation, x: ir.Value) -> ir.Value:
    return circular.atan(t, x)


@maps("Atan2", domain=TF, error=ulps(4))
def atan2(t: Translation, y: ir.Value, x: ir.Value) -> ir.Value:
    return widened(t, functools.partial(angle, t), y, x)


@maps("Sinh", domain=TF, error=ulps(3))
def sinh(t: Translation, x: ir.Value) -> ir.Value:
    return circular.sinh(t, x) if is_double(x) else t.op.Sinh(x)


@maps("Cosh", domain=TF, error=ulps(3))
def cosh(t: Translation, x: ir.Value) -> ir.Value:
    return circular.cosh(t, x) if is_double(x) else t.op.Cosh(x)


@maps("Asinh", domain=TF, error=ulps(4, against=AGAINST_ONE))
def asinh(t: Translation, x: ir.Value) -> ir.Value:
    return circular.asinh(t, x) if is_double(x) else t.op.Asinh(x)


@maps("Acosh", domain=TF, error=ulps(4, against=AGAINST_ONE))
def acosh(t: Translation, x: ir.Value) -> ir.Value:
    return circular.acosh(t, x) if is_double(x) else t.op.Acosh(x)


@maps("Atanh", domain=TF, error=ulps(4, against=AGAINST_ONE))
def atanh(t: Translation, x: ir.Value) -> ir.Value:
    return circular.atanh(t, x) if is_double(x) else t.op.Atanh(x)
