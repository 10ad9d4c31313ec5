"""The logarithm of the gamma function, its derivatives and Hurwitz's zeta function, in doubles."""

from __future__ import annotations

import math

import numpy as np
import onnx_ir as ir

from trueport.fidelity import ulps
from trueport.formulas.iteration import any_of, iterate
from trueport.formulas.numeric import log1p
from trueport.formulas.polynomials import horner, integral, power_sum
from trueport.formulas.writer import Writer

__all__ = ["DIGAMMA", "LGAMMA", "POLYGAMMA", "ZETA", "digamma", "lgamma", "polygamma", "zeta"]

DIGAMMA, LGAMMA, POLYGAMMA, ZETA = ulps(32), ulps(16), ulps(64), ulps(16)
"""Bounds of the functions, in the type of the argument."""

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
"""Those of the even indices from 2 on."""
_SHIFT = 10
"""From this number on asymptotic series have all digits of a double; smaller ones are moved there by recurrence."""
_LARGEST_EXPONENT = 1e10
_LOWEST = -1e6
"""Zeta functions are summed up from their argument on: from this far below zero they are not."""


def lgamma(t: Writer, x: ir.Value) -> ir.Value:
    """log |gamma(x)|: for negative numbers by reflection."""
    negative = t.op.Less(x, t.op.like(0, x))
    found = _positive_lgamma(t, t.op.Where(negative, t.op.Sub(t.op.like(1, x), x), x))
    sine = t.op.Abs(t.op.Sin(_turned(t, x)))
    reflected = t.op.Sub(t.op.Log(t.op.Div(t.op.like(np.pi, x), sine)), found)
    # So far below zero all doubles are whole numbers, where it is infinite.
    ended = t.op.Where(t.op.Less(x, t.op.like(-(2.0**52), x)), t.op.like(np.inf, x), reflected)
    return t.op.Where(negative, ended, found)


def _turned(t: Writer, x: ir.Value) -> ir.Value:
    """pi times the distance to the nearest whole number."""
    return t.op.Mul(t.op.Sub(x, t.op.Round(x)), t.op.like(np.pi, x))


def _positive_lgamma(t: Writer, x: ir.Value) -> ir.Value:
    """Stirling's series; around its roots at 1 and 2, where that cancels, the series around 2."""
    small = t.op.Less(x, t.op.like(_SHIFT, x))
    moved = t.op.Where(small, t.op.Add(x, t.op.like(_SHIFT, x)), x)
    steps = integral(t, x, lambda v: t.op.Log(t.op.Add(v, t.op.like(np.arange(_SHIFT), x))), np.ones(_SHIFT))
    stirling = t.op.Sub(_stirling(t, moved), t.op.Where(small, steps, t.op.like(0, x)))
    first = t.op.Less(x, t.op.like(1.5, x))
    distance = t.op.Sub(x, t.op.Where(first, t.op.like(1, x), t.op.like(2, x)))
    series = power_sum(t, distance, _AROUND_TWO)
    around = t.op.Where(first, t.op.Sub(series, log1p(t, distance)), series)
    rooted = t.op.LessOrEqual(t.op.Abs(t.op.Sub(x, t.op.like(1.5, x))), t.op.like(1, x))
    return t.op.Where(rooted, around, stirling)


def _stirling(t: Writer, x: ir.Value) -> ir.Value:
    coefficients = [number / (2 * k * (2 * k - 1)) for k, number in enumerate(_BERNOULLI, start=1)]
    inverse = t.op.Reciprocal(x)
    series = t.op.Mul(horner(t, t.op.Mul(inverse, inverse), coefficients), inverse)
    # (x - 1/2) log x - x, in a form in which infinities don't meet.
    grown = t.op.Mul(t.op.Sub(x, t.op.like(0.5, x)), t.op.Sub(t.op.Log(x), t.op.like(1, x)))
    return t.op.Add(grown, t.op.Add(series, t.op.like(math.log(2 * math.pi) / 2 - 0.5, x)))


def digamma(t: Writer, x: ir.Value) -> ir.Value:
    """The derivative of log gamma: moved up by recurrence, negative numbers by reflection; no value at its poles."""
    zero, one = t.op.like(0, x), t.op.like(1, x)
    negative = t.op.Less(x, zero)
    positive = t.op.Where(negative, t.op.Sub(one, x), x)
    steps = integral(
        t, positive, lambda v: t.op.Reciprocal(t.op.Add(v, t.op.like(np.arange(_SHIFT), x))), np.ones(_SHIFT)
    )
    moved = t.op.Add(positive, t.op.like(_SHIFT, x))
    inverse = t.op.Reciprocal(moved)
    square = t.op.Mul(inverse, inverse)
    series = t.op.Mul(square, horner(t, square, [b / (2 * k) for k, b in enumerate(_BERNOULLI, start=1)]))
    rest = t.op.Add(series, t.op.Mul(inverse, t.op.like(0.5, x)))
    found = t.op.Sub(t.op.Sub(t.op.Log(moved), rest), steps)
    turned = _turned(t, x)
    cotangent = t.op.Div(t.op.Mul(t.op.Cos(turned), t.op.like(np.pi, x)), t.op.Sin(turned))
    both = t.op.Where(negative, t.op.Sub(found, cotangent), found)
    pole = t.op.And(t.op.LessOrEqual(x, zero), t.op.Equal(x, t.op.Floor(x)))
    return t.op.Where(pole, t.op.like(np.nan, x), both)


def zeta(t: Writer, x: ir.Value, q: ir.Value) -> ir.Value:
    """The sum of 1 / (q + k)^x over all k: the first ten, or until q + k is positive, then Euler's and Maclaurin's."""
    one = t.op.like(1, x)
    nothing = t.op.Mul(t.op.Add(x, q), t.op.like(0, x))
    start = t.op.Where(t.op.Less(q, t.op.like(_LOWEST, q)), t.op.like(np.nan, q), q)
    up = t.op.Max(t.op.Ceil(t.op.Neg(start)), t.op.like(0, q))
    count = t.op.Add(up, t.op.like(_SHIFT, q))
    exponent = t.op.Neg(x)

    def step(body: Writer, turn: ir.Value, total: ir.Value) -> list[ir.Value]:
        op, place = body.op, body.cast(turn, body.dtype(q))
        term = op.Where(op.Less(place, count), op.Pow(op.Add(start, place), exponent), op.like(0, q))
        return [any_of(body, op.Less(op.Add(place, op.like(1, q)), count)), op.Add(total, term)]

    summed = iterate(t, [t.op.Where(t.op.IsNaN(nothing), t.op.like(0, x), nothing)], step)[0]
    end = t.op.Add(start, count)
    power = t.op.Pow(end, exponent)
    total = t.op.Add(summed, t.op.Div(t.op.Pow(end, t.op.Sub(one, x)), t.op.Sub(x, one)))
    # For larger exponents the power is zero, which no correction may make NaN.
    corrections = _maclaurin(t, t.op.Min(x, t.op.like(_LARGEST_EXPONENT, x)), end)
    total = t.op.Add(total, t.op.Mul(power, t.op.Add(t.op.like(0.5, x), corrections)))
    pole = t.op.And(t.op.LessOrEqual(q, t.op.like(0, q)), t.op.Equal(q, t.op.Floor(q)))
    # At a pole the terms of an even power are positive on both sides.
    even = t.op.Equal(_parity(t, x), t.op.like(0, x))
    at_pole = t.op.Where(even, t.op.like(np.inf, x), t.op.like(np.nan, x))
    ended = t.op.Where(t.op.Equal(x, one), t.op.like(np.inf, x), t.op.Where(pole, at_pole, total))
    return t.op.Where(t.op.Less(x, one), t.op.like(np.nan, x), ended)


def _parity(t: Writer, x: ir.Value) -> ir.Value:
    """0 for even numbers, 1 for odd ones; all from 2^53 on are even, and so is infinity to TensorFlow."""
    return t.op.Mod(t.op.Min(x, t.op.like(2.0**53, x)), t.op.like(2, x), fmod=1)


def _maclaurin(t: Writer, x: ir.Value, end: ir.Value) -> ir.Value:
    """The sum of B(2k) / (2k)! x (x + 1) ... (x + 2k - 2) / end^(2k - 1)."""
    inverse = t.op.Reciprocal(end)
    factor = t.op.Mul(x, inverse)
    total = t.op.Mul(factor, t.op.like(_BERNOULLI[0] / 2, x))
    for k, number in enumerate(_BERNOULLI[1:], start=2):
        for added in (2 * k - 3, 2 * k - 2):
            factor = t.op.Mul(factor, t.op.Mul(t.op.Add(x, t.op.like(added, x)), inverse))
        total = t.op.Add(total, t.op.Mul(factor, t.op.like(number / math.factorial(2 * k), x)))
    return total


def polygamma(t: Writer, a: ir.Value, x: ir.Value) -> ir.Value:
    """Derivative a of the digamma function: (-1)^(a + 1) a! zeta(a + 1, x)."""
    zero, one, two = (t.op.like(number, a) for number in (0, 1, 2))
    order = t.op.Add(a, one)
    factorial = t.op.Exp(lgamma(t, order))
    sign = t.op.Sub(one, t.op.Mul(_parity(t, order), two))
    found = t.op.Mul(t.op.Mul(sign, factorial), zeta(t, order, x))
    invalid = t.op.Or(t.op.Less(a, zero), t.op.Not(t.op.Equal(a, t.op.Floor(a))))
    valid = t.op.Where(invalid, t.op.like(np.nan, a), found)
    return t.op.Where(t.op.Equal(a, zero), digamma(t, x), valid)


def _zeta_less_one(k: int) -> float:
    """The sum of n^-k over all n from 2 on."""
    end = 400
    tail = end ** (1 - k) / (k - 1) + end**-k / 2 + k * end ** (-k - 1) / 12
    return math.fsum([*(n**-k for n in range(2, end)), tail, -k * (k + 1) * (k + 2) * end ** (-k - 3) / 720])


_AROUND_TWO = [0.0, 1 - np.euler_gamma, *((-1) ** k * _zeta_less_one(k) / k for k in range(2, 30))]
"""Coefficients of log gamma(2 + z)."""
