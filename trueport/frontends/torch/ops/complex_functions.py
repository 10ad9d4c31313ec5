"""Roots, logarithms, powers and norms of complex numbers, on PyTorch's branches, at any magnitude."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_ONE, accumulation, ulps
from trueport.formulas.numeric import log1p
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.shared.complex_pairs import bilinear, joined, magnitude, parts, quotient
from trueport.frontends.torch.shared.plane import angle, hypotenuse, is_minus
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

Value = ir.Value
Pair = tuple[Value, Value]
_MOST_FACTORS = 8


@maps_torch("aten::sqrt", error=ulps(8), complex_operands=True)
@recorded
def sqrt(t: TorchTranslation, x: Value) -> Value:
    return joined(t, *_root(t, parts(t, x)))


def _root(t: TorchTranslation, z: Pair) -> Pair:
    """The root with a real part that is not negative: the longer leg by a sum, the other one by division."""
    half, quarter, zero = (t.op.like(number, z[0]) for number in (0.5, 0.25, 0))
    size = hypotenuse(t, t.op.Mul(z[0], quarter), t.op.Mul(z[1], quarter))
    # Of quarters, whose sum does not overflow.
    total = t.op.Add(t.op.Mul(t.op.Abs(z[0]), quarter), size)
    longer = t.op.Mul(t.op.Sqrt(total), t.op.like(np.sqrt(2), total))
    none = t.op.Equal(longer, zero)
    ratio = t.op.Div(t.op.Abs(z[1]), t.op.Where(none, t.op.like(1, longer), longer))
    shorter = t.op.Mul(ratio, half)
    # An infinite imaginary part makes both infinite, whatever the real one is.
    longer, shorter = (t.op.Where(t.op.IsInf(z[1]), t.op.like(np.inf, leg), leg) for leg in (longer, shorter))
    left = t.op.Less(z[0], zero)
    real, size = t.op.Where(left, shorter, longer), t.op.Where(left, longer, shorter)
    return real, t.op.Where(is_minus(t, z[1]), t.op.Neg(size), size)


@maps_torch("aten::log", error=ulps(8, against=AGAINST_ONE), complex_operands=True)
@recorded
def log(t: TorchTranslation, x: Value) -> Value:
    return joined(t, *_logarithm(t, parts(t, x)))


@maps_torch("aten::log2", error=ulps(8, against=AGAINST_ONE), complex_operands=True)
@recorded
def log2(t: TorchTranslation, x: Value) -> Value:
    return joined(t, *(t.op.Div(part, t.op.like(np.log(2), part)) for part in _logarithm(t, parts(t, x))))


@maps_torch("aten::log10", error=ulps(8, against=AGAINST_ONE), complex_operands=True)
@recorded
def log10(t: TorchTranslation, x: Value) -> Value:
    return joined(t, *(t.op.Div(part, t.op.like(np.log(10), part)) for part in _logarithm(t, parts(t, x))))


def _logarithm(t: TorchTranslation, z: Pair) -> Pair:
    """log |z| from its longer leg, and the angle."""
    wide, narrow = (choose(t.op.Abs(z[0]), t.op.Abs(z[1])) for choose in (t.op.Max, t.op.Min))
    # Of two zeros or infinities the longer leg alone counts.
    share = t.op.Where(t.op.Equal(wide, narrow), t.op.Sign(wide), t.op.Div(narrow, wide))
    rest = t.op.Mul(log1p(t, t.op.Mul(share, share)), t.op.like(0.5, wide))
    size = t.op.Add(t.op.Log(wide), rest)
    endless = t.op.Or(t.op.IsInf(z[0]), t.op.IsInf(z[1]))
    return t.op.Where(endless, t.op.like(np.inf, wide), size), angle(t, z[1], z[0])


@maps_torch("aten::pow.Tensor_Scalar", error=ulps(64), complex_operands=True)
@recorded
def power(t: TorchTranslation, x: Value, exponent: complex) -> Value:
    base, number = parts(t, x), complex(exponent)
    if number == 0.5:
        return joined(t, *_root(t, base))
    count = int(abs(number.real))
    if number.imag or count != abs(number.real) or not 0 < count <= _MOST_FACTORS:
        known = (t.op.like(number.real, base[0]), t.op.like(number.imag, base[0]))
        return joined(t, *_raised(t, base, known))
    result = base
    for _ in range(count - 1):
        result = bilinear(t, t.op.Mul, result, base)
    if number.real < 0:
        result = quotient(t, (t.op.like(1, base[0]), t.op.like(0, base[0])), result)
    return joined(t, *result)


def _raised(t: TorchTranslation, base: Pair, exponent: Pair) -> Pair:
    """exp(exponent log base); zero where the base is, but one to the power of zero."""
    zero = t.op.like(0, base[0])
    inner = bilinear(t, t.op.Mul, _logarithm(t, base), exponent)
    size = t.op.Exp(inner[0])
    real, imaginary = t.op.Mul(size, t.op.Cos(inner[1])), t.op.Mul(size, t.op.Sin(inner[1]))
    none = t.op.And(*(t.op.Equal(part, zero) for part in base))
    unit = t.op.And(*(t.op.Equal(part, zero) for part in exponent))
    real = t.op.Where(unit, t.op.like(1, zero), t.op.Where(none, zero, real))
    return real, t.op.Where(t.op.Or(unit, none), zero, imaginary)


@maps_torch("aten::linalg_vector_norm", error=accumulation(4), complex_operands=True)
@recorded
def vector_norm(
    t: TorchTranslation,
    x: Value,
    ord: float = 2,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> Value:
    kinds = {1: "ReduceL1", 2: "ReduceL2", np.inf: "ReduceMax", -np.inf: "ReduceMin"}
    if ord not in kinds:
        raise t.fail(f"takes a norm of order {ord} of complex numbers", "take it of z.abs()")
    size = magnitude(t, x)
    axes = [axis % t.rank(size) for axis in dim] if dim else list(range(t.rank(size)))
    largest = t.op.ReduceMax(size, axes)
    # Scaled by the largest, so that no square overflows or vanishes.
    plain = t.op.Or(t.op.Equal(largest, t.op.like(0, size)), t.op.IsInf(largest))
    scale = t.op.Where(plain, t.op.like(1, size), largest)
    found = t.op.Mul(t.op.add(kinds[ord], [t.op.Div(size, scale), axes], {"keepdims": 1}), scale)
    return found if keepdim else t.op.Squeeze(found, axes)
