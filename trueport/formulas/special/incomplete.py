"""Incomplete gamma and beta functions, in doubles: series and continued fractions, until all elements stand still."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx_ir as ir

from trueport.fidelity import ulps
from trueport.formulas.iteration import any_of, iterate
from trueport.formulas.numeric import log1p
from trueport.formulas.polynomials import horner
from trueport.formulas.special.gamma import lgamma
from trueport.formulas.writer import Writer

__all__ = ["BETAINC", "IGAMMA", "betainc", "igamma", "igammac"]

BETAINC, IGAMMA = ulps(4096), ulps(1024)
"""Bounds of the functions, in the type of the argument."""

Parts = Callable[[Writer, ir.Value], list[tuple[ir.Value, ir.Value]]]
_SMALLEST_CHANGE = 1e-16
_ROUNDING = 5e-15
"""What the factors of a continued fraction may differ from 1 by when they no longer change anything."""
_TINY = 1e-300
_LARGE = 20
_STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188]
"""Of log gamma(a) in odd powers of 1 / a, enough for doubles above ``_LARGE``."""
_NEAR = 0.1
_LOG_REST = [(-1) ** k / (k + 2) for k in range(14)]
"""Of (d - log(1 + d)) / d^2, enough for doubles below ``_NEAR``."""


def igamma(t: Writer, a: ir.Value, x: ir.Value) -> ir.Value:
    """The lower regularized function."""
    return _incomplete(t, a, x, upper=False)


def igammac(t: Writer, a: ir.Value, x: ir.Value) -> ir.Value:
    """The upper regularized function."""
    return _incomplete(t, a, x, upper=True)


def _incomplete(t: Writer, a: ir.Value, x: ir.Value, *, upper: bool) -> ir.Value:
    """A series for the lower one where x < a + 1, a continued fraction for the upper one elsewhere."""
    zero, one = t.op.like(0, x), t.op.like(1, x)
    unknown = t.op.Or(t.op.IsNaN(a), t.op.IsNaN(x))
    outside = t.op.Or(t.op.Or(t.op.Less(x, zero), t.op.LessOrEqual(a, zero)), unknown)
    below = t.op.Or(t.op.Less(x, t.op.Add(a, one)), outside)
    scale = _scale(t, a, x)
    # Each is given numbers for which it ends at once where the other one is asked.
    series = _gamma_series(t, t.op.Where(below, a, one), t.op.Where(below, x, zero))
    fraction = _gamma_fraction(t, t.op.Where(below, one, a), t.op.Where(below, one, x))
    lower = t.op.Mul(scale, series)
    tail = t.op.Mul(scale, fraction)
    near, far = (t.op.Sub(one, lower), tail) if upper else (lower, t.op.Sub(one, tail))
    found = t.op.Where(below, near, far)
    # Of two infinities TensorFlow makes zero, the lower and the upper part alike.
    full, empty = (a, x) if upper else (x, a)
    found = t.op.Where(t.op.Equal(full, t.op.like(np.inf, x)), one, found)
    found = t.op.Where(t.op.Equal(empty, t.op.like(np.inf, x)), zero, found)
    at_zero = t.op.Equal(x, zero)
    if upper:
        found = t.op.Where(at_zero, one, found)
        return t.op.Where(outside, t.op.like(np.nan, x), found)
    # TensorFlow looks at x first: of nothing the lower part is nothing, whatever a is.
    found = t.op.Where(outside, t.op.like(np.nan, x), found)
    return t.op.Where(at_zero, zero, found)


def _scale(t: Writer, a: ir.Value, x: ir.Value) -> ir.Value:
    """x^a exp(-x) / gamma(a); for large a by Stirling's series and the relative distance, as the logarithms cancel."""
    large = t.op.Greater(a, t.op.like(_LARGE, a))
    few = t.op.Where(large, t.op.like(_LARGE, a), a)
    directly = t.op.Exp(t.op.Sub(t.op.Sub(t.op.Mul(few, t.op.Log(x)), x), lgamma(t, few)))
    distance = t.op.Div(t.op.Sub(x, a), a)
    near = t.op.Less(t.op.Abs(distance), t.op.like(_NEAR, a))
    series = t.op.Mul(t.op.Mul(distance, distance), horner(t, distance, _LOG_REST))
    rest = t.op.Where(near, series, t.op.Sub(distance, t.op.Log(t.op.Div(x, a))))
    inverse = t.op.Reciprocal(a)
    stirling = t.op.Mul(inverse, horner(t, t.op.Mul(inverse, inverse), _STIRLING))
    root = t.op.Sqrt(t.op.Div(a, t.op.like(2 * np.pi, a)))
    made: ir.Value = t.op.Mul(root, t.op.Exp(t.op.Neg(t.op.Add(t.op.Mul(a, rest), stirling))))
    return t.op.Where(large, made, directly)


def _gamma_series(t: Writer, a: ir.Value, x: ir.Value) -> ir.Value:
    first = t.op.Reciprocal(t.op.Add(a, t.op.Mul(x, t.op.like(0, x))))

    def step(body: Writer, turn: ir.Value, total: ir.Value, term: ir.Value) -> list[ir.Value]:
        op = body.op
        divisor = op.Add(a, op.Add(body.cast(turn, body.dtype(a)), op.like(1, a)))
        smaller = op.Mul(term, op.Div(x, divisor))
        counts = op.Greater(op.Abs(smaller), op.Mul(op.Abs(total), op.like(_SMALLEST_CHANGE, a)))
        return [any_of(body, counts), op.Add(total, smaller), smaller]

    return iterate(t, [first, first], step)[0]


def _gamma_fraction(t: Writer, a: ir.Value, x: ir.Value) -> ir.Value:
    start = t.op.Sub(t.op.Add(x, t.op.like(1, x)), a)

    def parts(body: Writer, turn: ir.Value) -> list[tuple[ir.Value, ir.Value]]:
        op = body.op
        count = op.Add(body.cast(turn, body.dtype(x)), op.like(1, x))
        return [(op.Mul(count, op.Sub(a, count)), op.Add(start, op.Mul(count, op.like(2, x))))]

    return _continued(t, t.op.Reciprocal(start), 1 / _TINY, parts)


def _continued(t: Writer, first: ir.Value, quotient: float, parts: Parts) -> ir.Value:
    """A continued fraction by Lentz's method; ``parts`` gives the numerators and denominators of a turn."""

    def step(body: Writer, turn: ir.Value, value: ir.Value, up: ir.Value, down: ir.Value) -> list[ir.Value]:
        op = body.op
        for numerator, denominator in parts(body, turn):
            down = op.Reciprocal(_not_zero(body, op.Add(denominator, op.Mul(numerator, down))))
            up = _not_zero(body, op.Add(denominator, op.Div(numerator, up)))
            change = op.Mul(up, down)
            value = op.Mul(value, change)
        moves = op.Greater(op.Abs(op.Sub(change, op.like(1, value))), op.like(_ROUNDING, value))
        return [any_of(body, moves), value, up, down]

    nothing = t.op.Mul(first, t.op.like(0, first))
    return iterate(t, [first, t.op.Add(nothing, t.op.like(quotient, first)), first], step)[0]


def _not_zero(t: Writer, x: ir.Value) -> ir.Value:
    return t.op.Where(t.op.Less(t.op.Abs(x), t.op.like(_TINY, x)), t.op.like(_TINY, x), x)


def betainc(t: Writer, a: ir.Value, b: ir.Value, x: ir.Value) -> ir.Value:
    """The regularized function: a continued fraction, of the complement where that one is the shorter."""
    op, one, zero = t.op, t.op.like(1, x), t.op.like(0, x)
    # Broadcast, and out of the way of poles where the answer is known without it.
    inside = op.And(op.And(op.Greater(a, zero), op.Greater(b, zero)), op.And(op.Greater(x, zero), op.Less(x, one)))
    first, second, at = op.Where(inside, a, one), op.Where(inside, b, one), op.Where(inside, x, op.like(0.5, x))
    whole = op.Add(first, second)
    scale = op.Sub(lgamma(t, whole), op.Add(lgamma(t, first), lgamma(t, second)))
    powers = op.Add(op.Mul(first, op.Log(at)), op.Mul(second, log1p(t, op.Neg(at))))
    front = op.Exp(op.Add(scale, powers))
    turned = op.Greater(at, op.Div(op.Add(first, one), op.Add(whole, op.like(2, x))))
    p, q = op.Where(turned, second, first), op.Where(turned, first, second)
    fraction = op.Div(_beta_fraction(t, p, q, op.Where(turned, op.Sub(one, at), at)), p)
    part = op.Mul(front, fraction)
    found = op.Where(turned, op.Sub(one, part), part)
    ends = op.And(op.And(op.Greater(a, zero), op.Greater(b, zero)), op.Or(op.Equal(x, zero), op.Equal(x, one)))
    return op.Where(inside, found, op.Where(ends, x, op.like(np.nan, x)))


def _beta_fraction(t: Writer, a: ir.Value, b: ir.Value, x: ir.Value) -> ir.Value:
    one = t.op.like(1, x)
    both = t.op.Add(a, b)
    first = t.op.Sub(one, t.op.Div(t.op.Mul(both, x), t.op.Add(a, one)))

    def parts(body: Writer, turn: ir.Value) -> list[tuple[ir.Value, ir.Value]]:
        op = body.op
        count = op.Add(body.cast(turn, body.dtype(x)), one)
        place = op.Add(a, op.Add(count, count))
        even = op.Mul(op.Mul(count, op.Sub(b, count)), op.Div(x, op.Mul(op.Sub(place, one), place)))
        grown = op.Mul(op.Add(a, count), op.Add(both, count))
        odd = op.Mul(op.Neg(grown), op.Div(x, op.Mul(place, op.Add(place, one))))
        return [(even, one), (odd, one)]

    return _continued(t, t.op.Reciprocal(_not_zero(t, first)), 1.0, parts)
