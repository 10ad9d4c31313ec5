"""Division, remainders, signs and angles: at infinities, NaN and zeros as PyTorch has them, whole numbers as wholes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import ulps
from trueport.formulas.numeric import in_double, is_float, widened
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.shared.numbers import as_float, promoted
from trueport.frontends.torch.shared.plane import angle, hypotenuse, is_minus
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

_D = ir.DataType
Value = ir.Value


@maps_torch("aten::sign", error=ulps(0))
@recorded
def sign(t: TorchTranslation, x: Value) -> Value:
    """PyTorch's sign of what is no number is zero."""
    if t.dtype(x) == _D.BOOL:
        return t.op.Identity(x)
    found: Value = t.op.Sign(x)
    return t.op.Where(t.op.IsNaN(x), t.op.like(0, x), found) if is_float(x) else found


@maps_torch("aten::atan2", error=ulps(4))
@recorded
def atan2(t: TorchTranslation, y: Value, x: Value) -> Value:
    return widened(t, lambda *wide: angle(t, *wide), *(as_float(t, value) for value in promoted(t, y, x)))


@maps_torch("aten::remainder.Tensor", error=ulps(1))
@maps_torch("aten::remainder.Scalar", error=ulps(1))
@maps_torch("aten::remainder.Scalar_Tensor", error=ulps(1))
@recorded
def remainder(t: TorchTranslation, a: Any, b: Any) -> Value:
    first, second = promoted(t, a, b)
    if not is_float(first):
        return t.op.Mod(first, second)
    return widened(t, lambda x, y: _of_divisors_sign(t, t.op.Mod(x, y, fmod=1), y), first, second)


def _of_divisors_sign(t: TorchTranslation, rest: Value, divisor: Value) -> Value:
    return t.op.Where(_turned(t, rest, divisor), t.op.Add(rest, divisor), rest)


def _turned(t: TorchTranslation, rest: Value, divisor: Value) -> Value:
    """Whether a remainder has not the sign of what was divided by."""
    zero = t.op.like(0, rest)
    differ = t.op.Xor(t.op.Less(rest, zero), t.op.Less(divisor, zero))
    return t.op.And(differ, t.op.Not(t.op.Equal(rest, zero)))


@maps_torch("aten::floor_divide", error=ulps(1))
@maps_torch("aten::floor_divide.Scalar", error=ulps(1))
@recorded
def floor_divide(t: TorchTranslation, a: Any, b: Any) -> Value:
    return _divided(t, a, b, "floor")


@maps_torch("aten::div.Tensor_mode", error=ulps(1))
@maps_torch("aten::div.Scalar_mode", error=ulps(1))
@recorded
def divide(t: TorchTranslation, a: Any, b: Any, rounding_mode: str | None = None) -> Value:
    return _divided(t, a, b, rounding_mode)


def _divided(t: TorchTranslation, a: Any, b: Any, mode: str | None) -> Value:
    first, second = promoted(t, a, b)
    if mode is None:
        return t.op.Div(as_float(t, first), as_float(t, second))
    floats: Callable[[TorchTranslation, Value, Value], Value] = _floor_floats if mode == "floor" else _cut_floats
    if is_float(first):
        return widened(t, lambda x, y: floats(t, x, y), first, second)
    return _floor_wholes(t, first, second) if mode == "floor" else _cut_wholes(t, first, second)


def _cut_wholes(t: TorchTranslation, a: Value, b: Value) -> Value:
    return t.op.Div(a, b)


def _floor_wholes(t: TorchTranslation, a: Value, b: Value) -> Value:
    """One less than the cut quotient where a remainder is left and the signs differ: nothing on the way overflows."""
    cut = t.op.Div(a, b)
    rest = t.op.Sub(a, t.op.Mul(cut, b))
    less = t.cast(_turned(t, rest, b), t.dtype(a))
    return t.op.Sub(cut, less)


def _cut_floats(t: TorchTranslation, a: Value, b: Value) -> Value:
    whole = t.op.Div(a, b)
    return t.op.Where(t.op.Less(whole, t.op.like(0, whole)), t.op.Ceil(whole), t.op.Floor(whole))


def _floor_floats(t: TorchTranslation, a: Value, b: Value) -> Value:
    """As Python divides: from the exact remainder, not from a quotient that may be rounded up."""
    zero, one = t.op.like(0, a), t.op.like(1, a)
    plain = t.op.Div(a, b)
    rest = t.op.Mod(a, b, fmod=1)
    exact = t.op.Div(t.op.Sub(a, rest), b)
    lower = t.op.Where(_turned(t, rest, b), t.op.Sub(exact, one), exact)
    floor = t.op.Floor(lower)
    near = t.op.Where(t.op.Greater(t.op.Sub(lower, floor), t.op.like(0.5, a)), t.op.Add(floor, one), floor)
    found = t.op.Where(t.op.Equal(lower, zero), t.op.Mul(plain, zero), near)
    return t.op.Where(t.op.Equal(b, zero), plain, found)


@maps_torch("aten::pow.Tensor_Scalar", error=ulps(4))
@recorded
def power(t: TorchTranslation, x: Value, exponent: Any) -> Value:
    """Roots and small powers as PyTorch's kernel takes them: a root of minus infinity is no number."""
    base, _ = promoted(t, x, exponent)
    if not is_float(base) and exponent in range(1, 9):
        return _whole_power(t, base, exponent)
    if isinstance(exponent, ir.Value) or not is_float(base) or exponent not in _POWERS:
        return t.op.Pow(*promoted(t, x, exponent))
    return widened(t, lambda wide: _POWERS[exponent](t, wide), base)


def _whole_power(t: TorchTranslation, x: Value, exponent: int) -> Value:
    """Products of integers, which wrap around as PyTorch's do; ONNX has no powers of 8 and 16 bits."""
    wide = t.cast(x, _D.INT64)
    made = wide
    for _ in range(exponent - 1):
        made = t.op.Mul(made, wide)
    return t.cast(made, t.dtype(x))


def _square(t: TorchTranslation, x: Value) -> Value:
    return t.op.Mul(x, x)


_POWERS: dict[float, Callable[[TorchTranslation, Value], Value]] = {
    0.5: lambda t, x: t.op.Sqrt(x),
    2.0: _square,
    3.0: lambda t, x: t.op.Mul(_square(t, x), x),
    -0.5: lambda t, x: t.op.Reciprocal(t.op.Sqrt(x)),
    -1.0: lambda t, x: t.op.Reciprocal(x),
    -2.0: lambda t, x: t.op.Reciprocal(_square(t, x)),
}


@maps_torch("aten::clamp", error=ulps(0))
@recorded
def clamp(t: TorchTranslation, x: Value, min: Any = None, max: Any = None) -> Value:
    """NaN stays NaN, and a bound that is NaN makes all so; a Clip with one bound cuts infinities off."""
    given = [bound for bound in (min, max) if bound is not None]
    value, *bounds = promoted(t, x, *given)
    low, high = (None if bound is None else bounds.pop(0) for bound in (min, max))
    if len(given) == 2 and all(bound == bound for bound in given):
        return t.op.Clip(value, low, high)
    made: Value = value if low is None else t.op.Max(value, low)
    return made if high is None else t.op.Min(made, high)


@maps_torch("aten::clamp_min", error=ulps(0))
@maps_torch("aten::clamp_min.Tensor", error=ulps(0))
@recorded
def clamp_min(t: TorchTranslation, x: Value, min: Any) -> Value:
    """By Max and not by Clip: a Clip without a second bound cuts infinities off at the largest finite number."""
    return t.op.Max(*promoted(t, x, min))


@maps_torch("aten::clamp_max", error=ulps(0))
@maps_torch("aten::clamp_max.Tensor", error=ulps(0))
@recorded
def clamp_max(t: TorchTranslation, x: Value, max: Any) -> Value:
    return t.op.Min(*promoted(t, x, max))


@maps_torch("aten::neg", error=ulps(0))
@recorded
def neg(t: TorchTranslation, x: Value) -> Value:
    """ONNX negates no unsigned integers: two's complement is the inverted bits and one.

    Not a difference from zero, which TensorFlow rewrites to a negation that has no kernel for them.
    """
    unsigned = t.dtype(x) == _D.UINT8
    return t.op.Add(t.op.BitwiseNot(x), t.op.like(1, x)) if unsigned else t.op.Neg(x)


@maps_torch("aten::fmax", error=ulps(0))
@recorded
def fmax(t: TorchTranslation, a: Value, b: Value) -> Value:
    return _but_nan(t, "Max", a, b)


@maps_torch("aten::fmin", error=ulps(0))
@recorded
def fmin(t: TorchTranslation, a: Value, b: Value) -> Value:
    return _but_nan(t, "Min", a, b)


def _but_nan(t: TorchTranslation, operator: str, a: Value, b: Value) -> Value:
    """The extreme of two numbers; NaN only where both are."""
    first, second = promoted(t, a, b)
    made: Value = t.op.add(operator, [first, second], {})
    if not is_float(first):
        return made
    return t.op.Where(t.op.IsNaN(first), second, t.op.Where(t.op.IsNaN(second), first, made))


@maps_torch("aten::heaviside", error=ulps(0))
@recorded
def heaviside(t: TorchTranslation, x: Value, values: Value) -> Value:
    """PyTorch's step of NaN is zero."""
    zero = t.op.like(0, x)
    step = t.op.Where(t.op.Greater(x, zero), t.op.like(1, x), zero)
    return t.op.Where(t.op.Equal(x, zero), values, step)


@maps_torch("aten::signbit", error=ulps(0))
@recorded
def signbit(t: TorchTranslation, x: Value) -> Value:
    return is_minus(t, x) if is_float(x) else t.op.Less(t.cast(x, _D.INT64), t.op.const(np.int64(0)))


@maps_torch("aten::copysign.Tensor", error=ulps(0))
@maps_torch("aten::copysign.Scalar", error=ulps(0))
@recorded
def copysign(t: TorchTranslation, x: Value, other: Any) -> Value:
    size, sign = (as_float(t, value) for value in promoted(t, x, other))
    size = t.op.Abs(size)
    return t.op.Where(is_minus(t, sign), t.op.Neg(size), size)


@maps_torch("aten::hypot", error=ulps(2))
@recorded
def hypot(t: TorchTranslation, a: Value, b: Value) -> Value:
    first, second = (as_float(t, value) for value in promoted(t, a, b))
    return in_double(t, lambda x, y: hypotenuse(t, x, y), first, second)


@maps_torch("aten::ceil", error=ulps(0))
@recorded
def ceil(t: TorchTranslation, x: Value) -> Value:
    return t.op.Ceil(x) if is_float(x) else t.op.Identity(x)


@maps_torch("aten::floor", error=ulps(0))
@recorded
def floor(t: TorchTranslation, x: Value) -> Value:
    return t.op.Floor(x) if is_float(x) else t.op.Identity(x)


@maps_torch("aten::trunc", error=ulps(0))
@maps_torch("aten::fix", error=ulps(0))
@recorded
def trunc(t: TorchTranslation, x: Value) -> Value:
    if not is_float(x):
        return t.op.Identity(x)
    return t.op.Where(t.op.Less(x, t.op.like(0, x)), t.op.Ceil(x), t.op.Floor(x))


@maps_torch("aten::round", error=ulps(0))
@recorded
def round_(t: TorchTranslation, x: Value) -> Value:
    return t.op.Round(x) if is_float(x) else t.op.Identity(x)
