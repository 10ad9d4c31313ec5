"""Trigonometric and hyperbolic functions."""

from __future__ import annotations

import functools

import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_ONE, ulps
from trueport.formulas.numeric import is_double, widened
from trueport.formulas.special import circular
from trueport.frontends.tensorflow.context import Translation
from trueport.frontends.tensorflow.nodes import TF
from trueport.mapping.declare import maps

__all__: list[str] = []


# ONNX Runtime reduces doubles to a period with no more digits than they have: zeros come out as rounding errors of one.


@maps("Sin", domain=TF, error=ulps(2, against=AGAINST_ONE))
def sin(t: Translation, x: ir.Value) -> ir.Value:
    return t.op.Sin(x)


@maps("Cos", domain=TF, error=ulps(2, against=AGAINST_ONE))
def cos(t: Translation, x: ir.Value) -> ir.Value:
    return t.op.Cos(x)


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
    return widened(t, functools.partial(_angle, t), y, x)


def _angle(t: Translation, y: ir.Value, x: ir.Value) -> ir.Value:
    """The angle to the axis in the first quadrant, mirrored into the one where the point lies."""
    height, width = t.op.Abs(y), t.op.Abs(x)
    # Both infinite: 45 degrees; both zero: none. Their quotient would be NaN.
    slope = t.op.Where(t.op.Equal(height, width), t.op.Sign(height), t.op.Div(height, width))
    angle = circular.atan(t, slope)
    mirrored = t.op.Where(_is_minus(t, x), t.op.Sub(t.op.like(np.pi, x), angle), angle)
    return t.op.Where(_is_minus(t, y), t.op.Neg(mirrored), mirrored)


def _is_minus(t: Translation, x: ir.Value) -> ir.Value:
    """Whether a number has a sign; that of zero shows in its reciprocal."""
    zero = t.op.like(0, x)
    return t.op.Or(t.op.Less(x, zero), t.op.Less(t.op.Reciprocal(x), zero))


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
