"""Arithmetic and functions of complex tensors."""

from __future__ import annotations

import math
from typing import Any

import onnx_ir as ir

from trueport.fidelity import AGAINST_TERMS, accumulation, ulps
from trueport.formulas import numeric
from trueport.formulas.numeric import is_double
from trueport.formulas.pairs import (
    add,
    bilinear,
    by_part,
    conjugate,
    divide,
    exponential,
    from_real,
    inverse_root,
    logarithm,
    modulus,
    multiply,
    square_root,
    subtract,
    times_i,
)
from trueport.formulas.special import circular
from trueport.frontends.tensorflow.source.nodes import COMPLEX
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.frontends.tensorflow.translate.values import Pair
from trueport.mapping.declare import maps

__all__: list[str] = []

_GRADIENTS = {"grad_a": "used in training only", "grad_b": "used in training only"}
_BATCH_GRADIENTS = {"grad_x": "used in training only", "grad_y": "used in training only"}
_FLAT = 20.0
"""From here on tanh is 1 in every float type."""


def _one(t: Translation, z: Pair) -> Pair:
    return Pair(t.op.like(1, z.real), t.op.like(0, z.real))


def _zero_where(t: Translation, condition: ir.Value, z: Pair) -> Pair:
    return Pair(*(t.op.Where(condition, t.op.like(0, part), part) for part in z))


def _sinh(t: Translation, x: ir.Value) -> ir.Value:
    return circular.sinh(t, x) if is_double(x) else t.op.Sinh(x)


def _cosh(t: Translation, x: ir.Value) -> ir.Value:
    return circular.cosh(t, x) if is_double(x) else t.op.Cosh(x)


def _chosen(t: Translation, condition: ir.Value, x: Pair, y: Pair) -> Pair:
    return Pair(*(t.op.Where(condition, one, other) for one, other in zip(x, y, strict=True)))


def _is_zero(t: Translation, z: Pair) -> ir.Value:
    return t.op.And(*(t.op.Equal(part, t.op.like(0, part)) for part in z))


@maps("Mul", domain=COMPLEX, error=ulps(4))
def mul(t: Translation, x: Pair, y: Pair) -> Pair:
    return multiply(t, x, y)


@maps("MulNoNan", domain=COMPLEX, error=ulps(4))
def mul_no_nan(t: Translation, x: Pair, y: Pair) -> Pair:
    return _zero_where(t, _is_zero(t, y), multiply(t, x, y))


@maps("RealDiv", domain=COMPLEX, error=ulps(8))
@maps("Div", domain=COMPLEX, error=ulps(8))
def div(t: Translation, x: Pair, y: Pair) -> Pair:
    return divide(t, x, y)


@maps("DivNoNan", domain=COMPLEX, error=ulps(8))
def div_no_nan(t: Translation, x: Pair, y: Pair) -> Pair:
    return _zero_where(t, _is_zero(t, y), divide(t, x, y))


@maps("Xdivy", domain=COMPLEX, error=ulps(8))
def xdivy(t: Translation, x: Pair, y: Pair) -> Pair:
    return _zero_where(t, _is_zero(t, x), divide(t, x, y))


@maps("Square", domain=COMPLEX, error=ulps(4))
def square(t: Translation, x: Pair) -> Pair:
    return multiply(t, x, x)


@maps("SquaredDifference", domain=COMPLEX, error=ulps(4))
def squared_difference(t: Translation, x: Pair, y: Pair) -> Pair:
    # TensorFlow multiplies by the conjugate: the square of the distance.
    gap = subtract(t, x, y)
    return multiply(t, gap, conjugate(t, gap))


@maps("Reciprocal", domain=COMPLEX, error=ulps(8))
@maps("Inv", domain=COMPLEX, error=ulps(8))
def reciprocal(t: Translation, x: Pair) -> Pair:
    return divide(t, _one(t, x), x)


@maps("Sign", domain=COMPLEX, error=ulps(8))
def sign(t: Translation, x: Pair) -> Pair:
    size = modulus(t, x)
    return _zero_where(t, _is_zero(t, x), Pair(t.op.Div(x.real, size), t.op.Div(x.imag, size)))


@maps("Exp", domain=COMPLEX, error=ulps(8))
def exp(t: Translation, x: Pair) -> Pair:
    return exponential(t, x)


@maps("Expm1", domain=COMPLEX, error=ulps(8))
def expm1(t: Translation, x: Pair) -> Pair:
    """exp(x) - 1 = expm1(a) cos(b) - 2 sin(b / 2)^2 + i exp(a) sin(b), where nothing cancels near zero."""
    half = t.op.Sin(t.op.Mul(x.imag, t.op.like(0.5, x.imag)))
    less = t.op.Mul(t.op.like(2, x.imag), t.op.Mul(half, half))
    real = t.op.Sub(t.op.Mul(numeric.expm1(t, x.real), t.op.Cos(x.imag)), less)
    return Pair(real, t.op.Mul(t.op.Exp(x.real), t.op.Sin(x.imag)))


@maps("Log", domain=COMPLEX, error=ulps(8))
def log(t: Translation, x: Pair) -> Pair:
    return logarithm(t, x)


@maps("Log1p", domain=COMPLEX, error=ulps(8))
def log1p(t: Translation, x: Pair) -> Pair:
    # As TensorFlow: what rounding took from 1 + x is put right by what it left of it.
    more = add(t, x, _one(t, x))
    made = multiply(t, x, divide(t, logarithm(t, more), subtract(t, more, _one(t, x))))
    found = _chosen(t, _is_zero(t, subtract(t, more, _one(t, x))), x, made)
    # At -1 the logarithm is infinite: the real part of a product with it would be NaN, as its imaginary part is.
    return Pair(t.op.Where(_is_zero(t, more), logarithm(t, more).real, found.real), found.imag)


@maps("Sqrt", domain=COMPLEX, error=ulps(8))
def sqrt(t: Translation, x: Pair) -> Pair:
    return square_root(t, x)


@maps("Rsqrt", domain=COMPLEX, error=ulps(16))
def rsqrt(t: Translation, x: Pair) -> Pair:
    return inverse_root(t, x)


@maps("Pow", domain=COMPLEX, error=ulps(64))
def pow_(t: Translation, x: Pair, y: Pair) -> Pair:
    made = exponential(t, multiply(t, y, logarithm(t, x)))
    # Of zero: zero, no number, or infinite, by the sign of the exponent's real part.
    zero, nan, inf = (t.op.like(number, y.real) for number in (0, math.nan, math.inf))
    falls, grows = t.op.Greater(y.real, zero), t.op.Less(y.real, zero)
    imag = t.op.Where(falls, zero, nan)
    real = t.op.Where(grows, inf, imag)
    none = _is_zero(t, x)
    return Pair(t.op.Where(none, real, made.real), t.op.Where(none, imag, made.imag))


def _times(t: Translation, wave: ir.Value, size: ir.Value) -> ir.Value:
    """A product that is zero where the wave is, also where the size is infinite."""
    return t.op.Where(t.op.Equal(wave, t.op.like(0, wave)), wave, t.op.Mul(wave, size))


@maps("Sin", domain=COMPLEX, error=ulps(8))
def sin(t: Translation, x: Pair) -> Pair:
    return Pair(
        _times(t, t.op.Sin(x.real), _cosh(t, x.imag)),
        _times(t, t.op.Cos(x.real), _sinh(t, x.imag)),
    )


@maps("Cos", domain=COMPLEX, error=ulps(8))
def cos(t: Translation, x: Pair) -> Pair:
    return Pair(
        _times(t, t.op.Cos(x.real), _cosh(t, x.imag)),
        t.op.Neg(_times(t, t.op.Sin(x.real), _sinh(t, x.imag))),
    )


@maps("Sinh", domain=COMPLEX, error=ulps(8))
def sinh(t: Translation, x: Pair) -> Pair:
    return times_i(t, sin(t, times_i(t, x)), -1)


@maps("Cosh", domain=COMPLEX, error=ulps(8))
def cosh(t: Translation, x: Pair) -> Pair:
    return cos(t, times_i(t, x))


@maps("Tanh", domain=COMPLEX, error=ulps(16))
def tanh(t: Translation, x: Pair) -> Pair:
    a = t.op.Clip(x.real, t.op.like(-_FLAT, x.real), t.op.like(_FLAT, x.real))
    high, wide, up, across = _sinh(t, a), _cosh(t, a), t.op.Sin(x.imag), t.op.Cos(x.imag)
    norm = t.op.Add(t.op.Mul(high, high), t.op.Mul(across, across))
    return Pair(t.op.Div(t.op.Mul(high, wide), norm), t.op.Div(t.op.Mul(up, across), norm))


@maps("Tan", domain=COMPLEX, error=ulps(16))
def tan(t: Translation, x: Pair) -> Pair:
    return times_i(t, tanh(t, times_i(t, x)), -1)


@maps("Sigmoid", domain=COMPLEX, error=ulps(16))
def sigmoid(t: Translation, x: Pair) -> Pair:
    """exp(z) / (1 + exp(z)) on the left, 1 / (1 + exp(-z)) on the right: no exponential overflows."""
    left = t.op.Less(x.real, t.op.like(0, x.real))
    decayed = exponential(t, _chosen(t, left, x, by_part(t.op.Neg, x)))
    return divide(t, _chosen(t, left, decayed, _one(t, x)), add(t, decayed, _one(t, x)))


@maps("MatMul", domain=COMPLEX, error=accumulation(4, against=AGAINST_TERMS), ignores=_GRADIENTS)
def mat_mul(t: Translation, a: Pair, b: Pair, *, transpose_a: bool, transpose_b: bool) -> Pair:
    return bilinear(t, t.redo, a, b)


@maps("BatchMatMul", domain=COMPLEX, error=accumulation(4, against=AGAINST_TERMS), ignores=_BATCH_GRADIENTS)
@maps("BatchMatMulV2", domain=COMPLEX, error=accumulation(4, against=AGAINST_TERMS), ignores=_BATCH_GRADIENTS)
@maps("BatchMatMulV3", domain=COMPLEX, error=accumulation(4, against=AGAINST_TERMS), ignores=_BATCH_GRADIENTS)
def batch_mat_mul(t: Translation, x: Pair, y: Pair, *, adj_x: bool, adj_y: bool) -> Pair:
    left = conjugate(t, x) if adj_x else x
    right = conjugate(t, y) if adj_y else y
    return bilinear(t, t.redo, left, right)


@maps("Einsum", domain=COMPLEX, error=accumulation(4, against=AGAINST_TERMS))
def einsum(t: Translation, inputs: tuple[Pair, ...], *, equation: str) -> Any:
    if len(inputs) == 1:
        return by_part(t.redo, inputs)
    return bilinear(t, lambda x, y: t.redo((x, y)), *inputs)


@maps("EuclideanNorm", domain=COMPLEX, error=accumulation())
def euclidean_norm(t: Translation, input: Pair, reduction_indices: ir.Value, *, keep_dims: bool) -> Pair:
    return from_real(t, t.redo(modulus(t, input), reduction_indices))
