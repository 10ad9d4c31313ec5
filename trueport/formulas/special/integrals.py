"""Exponential, Fresnel's and Dawson's integrals and the dilogarithm, in doubles."""

from __future__ import annotations

import math

import numpy as np
import onnx_ir as ir

from trueport.fidelity import ulps
from trueport.formulas.numeric import expm1
from trueport.formulas.polynomials import integral, power_sum, unit_interval
from trueport.formulas.writer import Writer

__all__ = ["DAWSON", "EXPONENTIAL", "FRESNEL", "SPENCE", "dawson", "exponential", "fresnel", "spence"]

DAWSON, EXPONENTIAL, FRESNEL, SPENCE = ulps(4), ulps(64), ulps(16), ulps(8)
"""Bounds of the functions, in the type of the argument."""


def exponential(t: Writer, x: ir.Value) -> ir.Value:
    """Ei(x) for x >= 0: gamma + log x + the integral of (exp(x u) - 1) / u over u from 0 to 1; a series beyond."""
    far = t.op.like(42, x)
    nodes, weights = unit_interval(40)
    grown = integral(t, x, lambda v: expm1(t, t.op.Mul(v, t.op.like(nodes, x))), weights / nodes)
    near = t.op.Add(t.op.Add(t.op.Log(x), t.op.like(np.euler_gamma, x)), grown)
    series = power_sum(t, t.op.Reciprocal(t.op.Max(x, far)), [float(math.factorial(k)) for k in range(42)])
    distant = t.op.Mul(t.op.Div(t.op.Exp(x), x), series)
    return t.op.Where(t.op.Less(x, far), near, distant)


def fresnel(t: Writer, x: ir.Value, *, sine: bool) -> ir.Value:
    """The integral of sin or cos of pi u^2 / 2 from 0 to x."""
    # Beyond 1e20 it is 1/2 in all digits; infinities would make NaN.
    size, far = t.op.Min(t.op.Abs(x), t.op.like(1e20, x)), t.op.like(5.5, x)
    phase = t.op.Mul(t.op.Mul(size, size), t.op.like(np.pi / 2, x))
    nodes, weights = unit_interval(56)
    wave = t.op.Sin if sine else t.op.Cos
    near = t.op.Mul(size, integral(t, phase, lambda v: wave(t.op.Mul(v, t.op.like(nodes**2, x))), weights))
    distant = t.op.Sub(t.op.like(0.5, x), _fresnel_rest(t, t.op.Max(size, far), sine=sine))
    found = t.op.Where(t.op.Less(size, far), near, distant)
    return t.op.Where(t.op.IsNaN(x), x, t.op.Mul(t.op.Sign(x), found))


def _fresnel_rest(t: Writer, x: ir.Value, *, sine: bool) -> ir.Value:
    """What is left beyond a large x: f cos + g sin for S, g cos - f sin for C."""
    inverse = t.op.Reciprocal(t.op.Mul(t.op.Mul(x, x), t.op.like(np.pi, x)))
    square = t.op.Neg(t.op.Mul(inverse, inverse))
    odds = [math.prod(range(1, 2 * k, 2)) for k in range(26)]
    scale = t.op.Reciprocal(t.op.Mul(x, t.op.like(np.pi, x)))
    f = t.op.Mul(scale, power_sum(t, square, odds[0::2]))
    g = t.op.Mul(t.op.Mul(scale, inverse), power_sum(t, square, odds[1::2]))
    # The phase modulo a turn, while x still has the digits for it.
    turns = t.op.Mod(t.op.Mul(x, t.op.Mul(x, t.op.like(0.25, x))), t.op.like(1, x), fmod=1)
    phase = t.op.Mul(turns, t.op.like(2 * np.pi, x))
    s, c = t.op.Sin(phase), t.op.Cos(phase)
    return t.op.Add(t.op.Mul(f, c), t.op.Mul(g, s)) if sine else t.op.Sub(t.op.Mul(g, c), t.op.Mul(f, s))


def dawson(t: Writer, x: ir.Value) -> ir.Value:
    """x times the integral of exp(-x^2 (1 - u^2)) over u from 0 to 1; a series in 1 / x^2 beyond."""
    size, far = t.op.Abs(x), t.op.like(6.5, x)
    nodes, weights = unit_interval(56)
    # Where the series is asked for, infinities must not meet here.
    square = t.op.Mul(t.op.Min(size, far), t.op.Min(size, far))
    mean = integral(t, square, lambda v: t.op.Exp(t.op.Mul(v, t.op.like(nodes**2 - 1, x))), weights)
    near = t.op.Mul(size, mean)
    inverse = t.op.Reciprocal(t.op.Max(size, far))
    odds = [math.prod(range(1, 2 * k, 2)) / 2**k for k in range(30)]
    distant = t.op.Mul(t.op.Mul(inverse, t.op.like(0.5, x)), power_sum(t, t.op.Mul(inverse, inverse), odds))
    found = t.op.Where(t.op.Less(size, far), near, distant)
    return t.op.Where(t.op.IsNaN(x), x, t.op.Mul(t.op.Sign(x), found))


def spence(t: Writer, x: ir.Value) -> ir.Value:
    """The dilogarithm of 1 - x: brought to between 1/2 and 1, then a series in the logarithm."""
    one, half = t.op.like(1, x), t.op.like(0.5, x)
    large = t.op.Greater(x, one)
    inverse = t.op.Where(large, t.op.Reciprocal(x), x)
    small = t.op.Less(inverse, half)
    middle = t.op.Where(small, t.op.Sub(one, inverse), inverse)
    u = t.op.Neg(t.op.Log(middle))
    bernoulli = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510]
    terms = [1.0, *(b / math.factorial(2 * k + 1) for k, b in enumerate(bernoulli, start=1))]
    square = t.op.Mul(u, u)
    series = t.op.Sub(t.op.Mul(u, power_sum(t, square, terms)), t.op.Mul(square, t.op.like(0.25, x)))
    product = t.op.Where(t.op.Equal(inverse, t.op.like(0, x)), inverse, t.op.Mul(t.op.Log(inverse), u))
    reflected = t.op.Sub(t.op.Add(t.op.like(np.pi**2 / 6, x), product), series)
    inside = t.op.Where(small, reflected, series)
    logarithm = t.op.Log(x)
    outside = t.op.Neg(t.op.Add(t.op.Mul(t.op.Mul(logarithm, logarithm), half), inside))
    found = t.op.Where(large, outside, inside)
    return t.op.Where(t.op.Less(x, t.op.like(0, x)), t.op.like(np.nan, x), found)
