"""Bessel functions in doubles: integrals of periodic functions, for which the trapezoidal rule has all digits, and
asymptotic series where arguments are large.
"""

from __future__ import annotations

import math

import numpy as np
import onnx_ir as ir

from trueport.fidelity import ulps
from trueport.formulas.polynomials import integral, power_sum, weighted
from trueport.formulas.writer import Writer

__all__ = [
    "I_BOUND",
    "I_SCALED_BOUND",
    "J_BOUND",
    "K_BOUND",
    "K_SCALED_BOUND",
    "Y_BOUND",
    "i",
    "i_scaled",
    "j",
    "k_scaled",
    "y",
]

I_BOUND, I_SCALED_BOUND, J_BOUND, K_BOUND, K_SCALED_BOUND, Y_BOUND = (
    ulps(32),
    ulps(8),
    ulps(8),
    ulps(32),
    ulps(8),
    ulps(16),
)
"""Bounds of the functions, in the type of the argument."""

_FAR = 30.0
"""From here on the asymptotic series have all digits."""
_ANGLES = (np.arange(48) + 0.5) * np.pi / 48
"""Nodes from 0 to pi."""
_STEP = 0.3
_STEPS = np.arange(36) * _STEP
"""Nodes from 0 to where exp(-s^2 / 2) vanishes."""
_NEAR = 2.0
"""Below it the functions of the second kind are their series."""


def _hankel(order: int, count: int) -> list[float]:
    """Coefficients of 1 / x^k in the asymptotic series."""
    made = [1.0]
    for k in range(1, count):
        made.append(made[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    return made


def i_scaled(t: Writer, x: ir.Value, order: int) -> ir.Value:
    """exp(-|x|) times the modified function of the first kind, of order 0 or 1."""
    size, far = t.op.Abs(x), t.op.like(_FAR, x)
    weights = np.cos(order * _ANGLES) / len(_ANGLES)
    near = integral(t, size, lambda v: t.op.Exp(t.op.Mul(v, t.op.like(np.cos(_ANGLES) - 1, x))), weights)
    if order:
        # The values nearly cancel for small x; there it is x / 2.
        near = t.op.Where(t.op.Less(size, t.op.like(1, x)), _small_i1(t, size), near)
    series = power_sum(t, t.op.Reciprocal(t.op.Max(size, far)), _alternating(_hankel(order, 24)))
    root = t.op.Sqrt(t.op.Mul(size, t.op.like(2 * np.pi, x)))
    found = t.op.Where(t.op.Less(size, far), near, t.op.Div(series, root))
    return t.op.Mul(found, t.op.Sign(x)) if order else found


def _alternating(numbers: list[float]) -> list[float]:
    return [(-1) ** k * number for k, number in enumerate(numbers)]


def _small_i1(t: Writer, x: ir.Value) -> ir.Value:
    coefficients = [1 / (2 * 4**k * math.factorial(k) * math.factorial(k + 1)) for k in range(12)]
    return t.op.Mul(t.op.Exp(t.op.Neg(x)), t.op.Mul(x, power_sum(t, t.op.Mul(x, x), coefficients)))


def k_scaled(t: Writer, x: ir.Value, order: int) -> ir.Value:
    """exp(x) times the modified function of the second kind, of order 0 or 1; infinite from zero down."""
    near = t.op.Mul(t.op.Exp(x), _small_k(t, x, order))
    bounded = t.op.Max(x, t.op.like(_NEAR, x))
    scale = t.op.Reciprocal(t.op.Sqrt(bounded))
    weights = _STEP * np.where(_STEPS == 0, 0.5, 1.0)
    finite = t.op.Min(bounded, t.op.like(1e100, x))
    far = t.op.Mul(scale, integral(t, finite, lambda v: _falling(t, v, order), weights))
    found = t.op.Where(t.op.Less(x, t.op.like(_NEAR, x)), near, far)
    return t.op.Where(t.op.LessOrEqual(x, t.op.like(0, x)), t.op.like(np.inf, x), found)


def _falling(t: Writer, x: ir.Value, order: int) -> ir.Value:
    """exp(-x (cosh u - 1)) cosh(order u) at u = s / sqrt(x): near exp(-s^2 / 2), whatever x."""
    tangent = t.op.Tanh(t.op.Div(t.op.like(_STEPS / 2, x), t.op.Sqrt(x)))
    square = t.op.Mul(tangent, tangent)
    raised = t.op.Div(t.op.Mul(square, t.op.like(2, x)), t.op.Sub(t.op.like(1, x), square))
    fallen = t.op.Exp(t.op.Neg(t.op.Mul(x, raised)))
    return t.op.Mul(fallen, t.op.Add(raised, t.op.like(1, x))) if order else fallen


def _small_k(t: Writer, x: ir.Value, order: int) -> ir.Value:
    """The series around zero: a logarithm times the function of the first kind, and what is left."""
    first, second = [], []
    for k in range(18):
        harmonic = -np.euler_gamma + sum(1 / n for n in range(1, k + 1))
        term = 1 / (4**k * math.factorial(k) * math.factorial(k + order))
        first.append(term)
        second.append(term * (harmonic + (0.5 / (k + 1) if order else 0.0)))
    square = t.op.Mul(x, x)
    logarithm = t.op.Log(t.op.Mul(x, t.op.like(0.5, x)))
    left = t.op.Sub(power_sum(t, square, second), t.op.Mul(logarithm, power_sum(t, square, first)))
    if not order:
        return left
    return t.op.Sub(t.op.Reciprocal(x), t.op.Mul(t.op.Mul(x, t.op.like(0.5, x)), left))


def j(t: Writer, x: ir.Value, order: int) -> ir.Value:
    """The function of the first kind, of order 0 or 1."""
    size, far = t.op.Abs(x), t.op.like(_FAR, x)
    sines = t.op.like(np.sin(_ANGLES), x)
    weights = (np.sin(_ANGLES) if order else np.ones_like(_ANGLES)) / len(_ANGLES)
    wave = t.op.Sin if order else t.op.Cos
    near = integral(t, size, lambda v: wave(t.op.Mul(v, sines)), weights)
    cosine, sine = _waves(t, t.op.Max(size, far), order)
    found = t.op.Where(t.op.Less(size, far), near, t.op.Sub(cosine, sine))
    kept = t.op.Where(t.op.IsNaN(x), x, found)
    return t.op.Mul(kept, t.op.Sign(x)) if order else kept


def _waves(t: Writer, x: ir.Value, order: int) -> tuple[ir.Value, ir.Value]:
    """P cos(w) sqrt(2 / pi x) and Q sin(w) sqrt(2 / pi x), with w = x - (1/4 + order / 2) pi."""
    p, q = _phases(t, x, order)
    sine, cosine = t.op.Sin(x), t.op.Cos(x)
    scale = t.op.Reciprocal(t.op.Sqrt(t.op.Mul(x, t.op.like(np.pi, x))))
    plus, minus = t.op.Add(sine, cosine), t.op.Sub(sine, cosine)
    along, across = (minus, t.op.Neg(plus)) if order else (plus, minus)
    return t.op.Mul(scale, t.op.Mul(p, along)), t.op.Mul(scale, t.op.Mul(q, across))


def _phases(t: Writer, x: ir.Value, order: int) -> tuple[ir.Value, ir.Value]:
    numbers = _hankel(order, 24)
    inverse = t.op.Reciprocal(x)
    square = t.op.Neg(t.op.Mul(inverse, inverse))
    return power_sum(t, square, numbers[0::2]), t.op.Mul(inverse, power_sum(t, square, numbers[1::2]))


def y(t: Writer, x: ir.Value, order: int) -> ir.Value:
    """The function of the second kind, of order 0 or 1; minus infinity from zero down."""
    far = t.op.like(_FAR, x)
    p, q = _phases(t, t.op.Max(x, far), order)
    sine, cosine = t.op.Sin(x), t.op.Cos(x)
    scale = t.op.Reciprocal(t.op.Sqrt(t.op.Mul(x, t.op.like(np.pi, x))))
    plus, minus = t.op.Add(sine, cosine), t.op.Sub(sine, cosine)
    across, along = (t.op.Neg(plus), minus) if order else (minus, plus)
    distant = t.op.Mul(scale, t.op.Add(t.op.Mul(p, across), t.op.Mul(q, along)))
    found = t.op.Where(t.op.Less(x, far), _middle_y(t, x, order), distant)
    return t.op.Where(t.op.LessOrEqual(x, t.op.like(0, x)), t.op.like(-np.inf, x), found)


def _middle_y(t: Writer, x: ir.Value, order: int) -> ir.Value:
    """4 / pi^2 times the integral of cos(x cos u) (gamma + log(2 x sin^2 u)) from 0 to pi / 2; its derivative for 1."""
    angles, weights = _double_exponential()
    cosines = np.cos(angles)
    scaled = 4 / np.pi**2 * weights * (-cosines if order else np.ones_like(angles))
    wave = t.op.Sin if order else t.op.Cos
    moved = t.op.Unsqueeze(x, [-1])
    values = wave(t.op.Mul(moved, t.op.like(cosines, x)))
    plain = weighted(t, values, scaled)
    logs = weighted(t, values, scaled * (np.euler_gamma + 2 * np.log(np.sin(angles))))
    total = t.op.Add(logs, t.op.Mul(plain, t.op.Log(t.op.Mul(x, t.op.like(2, x)))))
    if not order:
        return total
    falling = t.op.Div(t.op.Mul(j(t, x, 0), t.op.like(2 / np.pi, x)), x)
    return t.op.Neg(t.op.Add(total, falling))


def _double_exponential() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights from 0 to pi / 2 that crowd at the ends, where a logarithm has its pole."""
    steps = np.arange(-110, 111) / 32
    inner = np.pi / 2 * np.sinh(steps)
    nodes = np.pi / 2 / (1 + np.exp(-2 * inner))
    weights = np.pi / 4 * (np.pi / 2 * np.cosh(steps)) / np.cosh(inner) ** 2 / 32
    return nodes, weights


def i(t: Writer, x: ir.Value, order: int) -> ir.Value:
    """The modified function of the first kind, not scaled."""
    return t.op.Mul(i_scaled(t, x, order), t.op.Exp(t.op.Abs(x)))
