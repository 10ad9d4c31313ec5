"""Airy's function: its series around zero, integrals beyond, asymptotic series far out; in doubles, for float32."""

from __future__ import annotations

import math

import numpy as np
import onnx_ir as ir

from trueport.fidelity import ulps
from trueport.frontends.tensorflow.numeric import in_double
from trueport.frontends.tensorflow.polynomials import integral, power_sum
from trueport.frontends.torch.numbers import as_float
from trueport.frontends.torch.recording import TorchTranslation, recorded
from trueport.frontends.torch.registry import maps_torch

__all__: list[str] = []

Value = ir.Value
_NEAR, _FAR, _LOW = 2.0, 20.0, -8.0
"""Between the first and the last the series around zero holds, between the first two the integral."""
_AT_ZERO = 3 ** (-2 / 3) / math.gamma(2 / 3)
_SLOPE = 3 ** (-1 / 3) / math.gamma(1 / 3)
_STEP = 0.05
_ANGLES = np.arange(100) * _STEP
"""Nodes of the trapezoidal rule for the Bessel function of order 1/3."""


def _asymptotic(count: int) -> list[float]:
    """Coefficients of 1 / zeta^k."""
    made = [1.0]
    for k in range(1, count):
        made.append(made[-1] * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216 * k * (2 * k - 1)))
    return made


@maps_torch("aten::special_airy_ai", error=ulps(64))
@recorded
def airy_ai(t: TorchTranslation, x: Value) -> Value:
    value = as_float(t, x)
    if t.dtype(value) == ir.DataType.DOUBLE:
        raise t.fail("its series have fewer digits than a double", "call it on float32")
    return in_double(t, lambda wide: _airy(t, wide), value)


def _airy(t: TorchTranslation, x: Value) -> Value:
    far = t.op.Where(t.op.Greater(x, t.op.like(_FAR, x)), _far_right(t, x), _right(t, x))
    middle = t.op.Where(t.op.Less(x, t.op.like(_LOW, x)), _far_left(t, x), _around_zero(t, x))
    found = t.op.Where(t.op.Greater(x, t.op.like(_NEAR, x)), far, middle)
    made: Value = t.op.Where(t.op.IsInf(x), t.op.like(np.nan, x), found)
    return made


def _around_zero(t: TorchTranslation, x: Value) -> Value:
    bounded = t.op.Min(t.op.Max(x, t.op.like(_LOW, x)), t.op.like(_NEAR, x))
    even, odd = [_AT_ZERO], [-_SLOPE]
    for k in range(1, 40):
        even.append(even[-1] / ((3 * k) * (3 * k - 1)))
        odd.append(odd[-1] / ((3 * k) * (3 * k + 1)))
    cube = t.op.Mul(t.op.Mul(bounded, bounded), bounded)
    made: Value = t.op.Add(power_sum(t, cube, even), t.op.Mul(bounded, power_sum(t, cube, odd)))
    return made


def _zeta(t: TorchTranslation, size: Value) -> Value:
    made: Value = t.op.Mul(t.op.Mul(size, t.op.Sqrt(size)), t.op.like(2 / 3, size))
    return made


def _right(t: TorchTranslation, x: Value) -> Value:
    """sqrt(x / 3) / pi times the modified Bessel function of order 1/3 at zeta."""
    bounded = t.op.Min(t.op.Max(x, t.op.like(_NEAR, x)), t.op.like(_FAR, x))
    zeta = _zeta(t, bounded)
    weights = _STEP * np.cosh(_ANGLES / 3) * np.where(_ANGLES == 0, 0.5, 1.0)
    falls = t.op.like(1 - np.cosh(_ANGLES), x)
    scaled = integral(t, zeta, lambda v: t.op.Exp(t.op.Mul(v, falls)), weights)
    root = t.op.Sqrt(t.op.Div(bounded, t.op.like(3 * np.pi**2, x)))
    made: Value = t.op.Mul(t.op.Mul(root, scaled), t.op.Exp(t.op.Neg(zeta)))
    return made


def _lead(t: TorchTranslation, size: Value) -> Value:
    """1 / (sqrt(pi) x^(1/4))"""
    made: Value = t.op.Reciprocal(t.op.Mul(t.op.Sqrt(t.op.Sqrt(size)), t.op.like(np.sqrt(np.pi), size)))
    return made


def _far_right(t: TorchTranslation, x: Value) -> Value:
    bounded = t.op.Min(t.op.Max(x, t.op.like(_FAR, x)), t.op.like(1e6, x))
    zeta = _zeta(t, bounded)
    series = power_sum(t, t.op.Neg(t.op.Reciprocal(zeta)), _asymptotic(16))
    half = t.op.Mul(_lead(t, bounded), t.op.like(0.5, x))
    made: Value = t.op.Mul(t.op.Mul(half, series), t.op.Exp(t.op.Neg(zeta)))
    return made


def _far_left(t: TorchTranslation, x: Value) -> Value:
    """A wave of phase zeta - pi / 4."""
    size = t.op.Max(t.op.Neg(x), t.op.like(-_LOW, x))
    zeta = _zeta(t, size)
    numbers = _asymptotic(20)
    inverse = t.op.Reciprocal(t.op.Mul(zeta, zeta))
    even = power_sum(t, inverse, [(-1) ** k * u for k, u in enumerate(numbers[::2])])
    odd = t.op.Div(power_sum(t, inverse, [(-1) ** k * u for k, u in enumerate(numbers[1::2])]), zeta)
    phase = t.op.Sub(zeta, t.op.like(np.pi / 4, x))
    wave = t.op.Add(t.op.Mul(t.op.Cos(phase), even), t.op.Mul(t.op.Sin(phase), odd))
    made: Value = t.op.Mul(_lead(t, size), wave)
    return made
