"""Circular and hyperbolic functions from others, for doubles: ONNX has them, runtimes do not in that precision."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.formulas.numeric import expm1, is_double, log1p
from trueport.formulas.polynomials import horner
from trueport.formulas.writer import Writer

__all__ = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh"]

_ATAN = [(-1) ** k / (2 * k + 1) for k in range(12)]
"""Of the series in the square, which after two bisections is at most 0.04."""


def atan(t: Writer, x: ir.Value) -> ir.Value:
    """The operator; for doubles the series, of a quarter of the angle."""
    if not is_double(x):
        return t.op.Atan(x)
    one, size = t.op.like(1, x), t.op.Abs(x)
    steep = t.op.Greater(size, one)
    slope = t.op.Where(steep, t.op.Reciprocal(size), size)
    for _ in range(2):
        root = t.op.Sqrt(t.op.Add(one, t.op.Mul(slope, slope)))
        slope = t.op.Div(slope, t.op.Add(one, root))
    series = t.op.Mul(slope, horner(t, t.op.Mul(slope, slope), _ATAN))
    angle = t.op.Mul(series, t.op.like(4, x))
    turned = t.op.Where(steep, t.op.Sub(t.op.like(np.pi / 2, x), angle), angle)
    return _signed(t, turned, x)


def asin(t: Writer, x: ir.Value) -> ir.Value:
    """By the tangent of the angle."""
    one = t.op.like(1, x)
    cosine = t.op.Sqrt(t.op.Mul(t.op.Sub(one, x), t.op.Add(one, x)))
    return atan(t, t.op.Div(x, cosine))


def acos(t: Writer, x: ir.Value) -> ir.Value:
    """By the tangent of half the angle."""
    one = t.op.like(1, x)
    tangent = t.op.Sqrt(t.op.Div(t.op.Sub(one, x), t.op.Add(one, x)))
    return t.op.Mul(atan(t, tangent), t.op.like(2, x))


def sinh(t: Writer, x: ir.Value) -> ir.Value:
    """(e + e / (e + 1)) / 2, where e = exp(x) - 1 is exact for small x."""
    half, one = t.op.like(0.5, x), t.op.like(1, x)
    grown = expm1(t, t.op.Abs(x))
    # The quotient of two infinities is what the second term becomes: 1.
    second = t.op.Sub(one, t.op.Reciprocal(t.op.Add(grown, one)))
    quotient = t.op.Where(t.op.Less(grown, one), t.op.Div(grown, t.op.Add(grown, one)), second)
    return _signed(t, t.op.Mul(half, t.op.Add(grown, quotient)), x)


def cosh(t: Writer, x: ir.Value) -> ir.Value:
    """The mean of exp(x) and its reciprocal."""
    grown = t.op.Exp(t.op.Abs(x))
    return t.op.Mul(t.op.Add(grown, t.op.Reciprocal(grown)), t.op.like(0.5, x))


def asinh(t: Writer, x: ir.Value) -> ir.Value:
    """log(x + sqrt(x^2 + 1)), without cancellation at zero and without overflow."""
    one, size = t.op.like(1, x), t.op.Abs(x)
    square = t.op.Mul(size, size)
    small = log1p(t, t.op.Add(size, t.op.Div(square, t.op.Add(one, t.op.Sqrt(t.op.Add(square, one))))))
    large = t.op.Add(t.op.Log(size), t.op.like(np.log(2), x))
    return _signed(t, t.op.Where(t.op.Less(size, t.op.like(1e10, x)), small, large), x)


def acosh(t: Writer, x: ir.Value) -> ir.Value:
    """log(x + sqrt(x^2 - 1)), without cancellation at one and without overflow."""
    above = t.op.Sub(x, t.op.like(1, x))
    root = t.op.Mul(t.op.Sqrt(above), t.op.Sqrt(t.op.Add(x, t.op.like(1, x))))
    small = log1p(t, t.op.Add(above, root))
    large = t.op.Add(t.op.Log(x), t.op.like(np.log(2), x))
    return t.op.Where(t.op.Greater(x, t.op.like(1e10, x)), large, small)


def atanh(t: Writer, x: ir.Value) -> ir.Value:
    """log(1 + 2x / (1 - x)) / 2, of the magnitude."""
    size = t.op.Abs(x)
    ratio = t.op.Div(t.op.Mul(size, t.op.like(2, x)), t.op.Sub(t.op.like(1, x), size))
    return _signed(t, t.op.Mul(log1p(t, ratio), t.op.like(0.5, x)), x)


def _signed(t: Writer, size: ir.Value, x: ir.Value) -> ir.Value:
    """A size with the sign of x; zeros keep theirs."""
    return t.op.Where(t.op.Equal(x, t.op.like(0, x)), x, t.op.Mul(size, t.op.Sign(x)))
