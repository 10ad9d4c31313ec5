"""The error function, its complement and their inverses, in doubles."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import ulps
from trueport.formulas.polynomials import integral, unit_interval
from trueport.formulas.writer import Writer

__all__ = ["ERF", "ERFC", "INVERSE", "erf", "erf_inverse", "erfc", "erfc_inverse", "normal_quantile"]

ERF, ERFC, INVERSE = ulps(3), ulps(8), ulps(8)
"""Bounds of the functions, of their complements and of the inverses, in the type of the argument."""

_STEP = 0.16
_TURNS = np.arange(1, 40) * _STEP
"""Nodes of the trapezoidal rule up to where exp(-t^2) vanishes; its error falls with exp(-2 pi x / step)."""
_WINITZKI = 0.147


def erf(t: Writer, x: ir.Value) -> ir.Value:
    """The integral near zero, what is left of the complement beyond; exact for small x and for large ones."""
    size = t.op.Abs(x)
    far = t.op.Sub(t.op.like(1, x), _tail(t, t.op.Max(size, t.op.like(1, x))))
    return t.op.Where(t.op.Less(size, t.op.like(1, x)), _near(t, x), t.op.Mul(t.op.Sign(x), far))


def erfc(t: Writer, x: ir.Value) -> ir.Value:
    """1 - erf(x), exact for large x."""
    one, size = t.op.like(1, x), t.op.Abs(x)
    tail = _tail(t, t.op.Max(size, one))
    far = t.op.Where(t.op.Less(x, t.op.like(0, x)), t.op.Sub(t.op.like(2, x), tail), tail)
    return t.op.Where(t.op.Less(size, one), t.op.Sub(one, _near(t, x)), far)


def _near(t: Writer, x: ir.Value) -> ir.Value:
    """2 x / sqrt(pi) times the integral of exp(-(x u)^2) over u from 0 to 1, for |x| < 1."""
    nodes, weights = unit_interval(14)
    square = t.op.Neg(t.op.Mul(x, x))
    mean = integral(t, square, lambda v: t.op.Exp(t.op.Mul(v, t.op.like(nodes**2, x))), weights)
    return t.op.Mul(t.op.Mul(x, mean), t.op.like(2 / np.sqrt(np.pi), x))


def _tail(t: Writer, x: ir.Value) -> ir.Value:
    """erfc(x) for x >= 1: exp(-x^2) x / pi times the integral of exp(-t^2) / (x^2 + t^2) over all t."""
    # Beyond 30 it is zero in any precision; infinities would make NaN.
    bounded = t.op.Min(x, t.op.like(30, x))
    square = t.op.Mul(bounded, bounded)
    weights = 2 * _STEP / np.pi * np.exp(-(_TURNS**2))
    shape = integral(t, square, lambda v: t.op.Reciprocal(t.op.Add(v, t.op.like(_TURNS**2, x))), weights)
    middle = t.op.Div(t.op.like(_STEP / np.pi, x), square)
    return t.op.Mul(t.op.Exp(t.op.Neg(square)), t.op.Mul(bounded, t.op.Add(middle, shape)))


def erfc_inverse(t: Writer, complement: ir.Value, value: ir.Value) -> ir.Value:
    """The y >= 0 with erfc(y) = complement, which is 1 - value: three steps of Halley's from Winitzki's estimate."""
    one = t.op.like(1, value)
    logarithm = t.op.Log(t.op.Mul(complement, t.op.Add(one, value)))
    half = t.op.Add(t.op.Mul(logarithm, t.op.like(0.5, value)), t.op.like(2 / (np.pi * _WINITZKI), value))
    inner = t.op.Sqrt(t.op.Sub(t.op.Mul(half, half), t.op.Div(logarithm, t.op.like(_WINITZKI, value))))
    estimate = t.op.Sqrt(t.op.Sub(inner, half))
    for _ in range(3):
        near = t.op.Sub(_near(t, t.op.Min(estimate, one)), value)
        far = t.op.Sub(complement, _tail(t, t.op.Max(estimate, one)))
        miss = t.op.Where(t.op.Less(estimate, one), near, far)
        slope = t.op.Mul(t.op.Exp(t.op.Mul(estimate, estimate)), t.op.like(np.sqrt(np.pi) / 2, value))
        newton = t.op.Mul(miss, slope)
        estimate = t.op.Sub(estimate, t.op.Div(newton, t.op.Add(one, t.op.Mul(estimate, newton))))
    return estimate


def erf_inverse(t: Writer, x: ir.Value) -> ir.Value:
    """The y with erf(y) = x; NaN beyond one."""
    size = t.op.Abs(x)
    found = erfc_inverse(t, t.op.Sub(t.op.like(1, x), size), size)
    # At the ends the steps are infinite; near zero, where they would divide what is rounded, it is a line.
    ended = t.op.Where(t.op.Equal(size, t.op.like(1, x)), t.op.like(np.inf, x), found)
    line = t.op.Mul(size, t.op.like(np.sqrt(np.pi) / 2, x))
    inside = t.op.Where(t.op.Less(size, t.op.like(1e-8, x)), line, ended)
    known = t.op.Where(t.op.LessOrEqual(size, t.op.like(1, x)), inside, t.op.like(np.nan, x))
    return t.op.Mul(t.op.Sign(x), known)


def normal_quantile(t: Writer, x: ir.Value) -> ir.Value:
    """The number that a normal variable is below with probability x; NaN where x is none."""
    one, two = t.op.like(1, x), t.op.like(2, x)
    upper = t.op.Greater(x, t.op.like(0.5, x))
    complement = t.op.Mul(t.op.Where(upper, t.op.Sub(one, x), x), two)
    found = erfc_inverse(t, complement, t.op.Sub(one, complement))
    ended = t.op.Where(t.op.Equal(complement, t.op.like(0, x)), t.op.like(np.inf, x), found)
    inside = t.op.Where(t.op.GreaterOrEqual(complement, t.op.like(0, x)), ended, t.op.like(np.nan, x))
    sign = t.op.Where(upper, t.op.like(np.sqrt(2), x), t.op.like(-np.sqrt(2), x))
    return t.op.Mul(sign, inside)
