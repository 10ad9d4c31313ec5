"""Arithmetic of complex numbers held as their real and imaginary parts, as the frameworks' CPU kernels do it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import onnx_ir as ir

from trueport.formulas.special import circular
from trueport.formulas.writer import Writer
from trueport.ir.dtypes import numpy_dtype

__all__ = [
    "Pair",
    "add",
    "angle",
    "bilinear",
    "by_part",
    "conjugate",
    "constant",
    "divide",
    "exponential",
    "from_real",
    "inverse_root",
    "is_real",
    "logarithm",
    "modulus",
    "multiply",
    "part_of",
    "scaled",
    "square_root",
    "subtract",
    "times_i",
]

_REAL = "real"
"""Marks an imaginary part that is zero because a real tensor was cast."""


class Pair(NamedTuple):
    """A complex tensor."""

    real: ir.Value
    imag: ir.Value


def part_of(value: Any, index: int) -> Any:
    """The real (0) or imaginary (1) part of whatever stands for an input; what is not complex is the same in both."""
    if isinstance(value, Pair):
        return value[index]
    return tuple(part_of(item, index) for item in value) if isinstance(value, tuple) else value


def by_part(compute: Callable[..., Any], *inputs: Any) -> Any:
    """A linear function of complex values: the same of their real parts, and of their imaginary parts."""
    real, imag = (compute(*(part_of(value, index) for value in inputs)) for index in (0, 1))
    if isinstance(real, (tuple, list)):
        return tuple(Pair(r, i) for r, i in zip(real, imag, strict=True))
    return Pair(real, imag)


def bilinear(t: Writer, compute: Callable[[Any, Any], ir.Value], x: Pair, y: Pair) -> Pair:
    """A product of any kind, from the four of its parts."""
    return Pair(
        t.op.Sub(compute(x.real, y.real), compute(x.imag, y.imag)),
        t.op.Add(compute(x.real, y.imag), compute(x.imag, y.real)),
    )


def constant(t: Writer, array: Any) -> Pair:
    """A complex array as two constants."""
    found = np.asarray(array)
    return Pair(t.op.const(np.ascontiguousarray(found.real)), t.op.const(np.ascontiguousarray(found.imag)))


def from_real(t: Writer, value: ir.Value) -> Pair:
    """A real tensor as a complex one."""
    zero = ir.tensor(np.zeros(1, numpy_dtype(t.dtype(value))))
    zeros = t.op.ConstantOfShape(t.op.Shape(value), value=zero)
    zeros.meta[_REAL] = True
    return Pair(value, zeros)


def is_real(z: Pair) -> bool:
    """Whether it was made by ``from_real``."""
    return bool(z.imag.meta.get(_REAL))


def add(t: Writer, x: Pair, y: Pair) -> Pair:
    return Pair(t.op.Add(x.real, y.real), t.op.Add(x.imag, y.imag))


def subtract(t: Writer, x: Pair, y: Pair) -> Pair:
    return Pair(t.op.Sub(x.real, y.real), t.op.Sub(x.imag, y.imag))


def scaled(t: Writer, z: Pair, factor: ir.Value) -> Pair:
    """Both parts times a real number."""
    return Pair(t.op.Mul(z.real, factor), t.op.Mul(z.imag, factor))


def conjugate(t: Writer, z: Pair) -> Pair:
    return Pair(z.real, t.op.Neg(z.imag))


def times_i(t: Writer, z: Pair, sign: int = 1) -> Pair:
    """z · i, or z · -i."""
    return Pair(t.op.Neg(z.imag), z.real) if sign > 0 else Pair(z.imag, t.op.Neg(z.real))


def multiply(t: Writer, x: Pair, y: Pair) -> Pair:
    return bilinear(t, t.op.Mul, x, y)


def divide(t: Writer, x: Pair, y: Pair) -> Pair:
    """The divisor is scaled first: its square must not leave the numbers there are."""
    size = t.op.Max(t.op.Abs(y.real), t.op.Abs(y.imag))
    unit = Pair(t.op.Div(y.real, size), t.op.Div(y.imag, size))
    norm = t.op.Add(t.op.Mul(unit.real, unit.real), t.op.Mul(unit.imag, unit.imag))
    top = multiply(t, x, conjugate(t, unit))
    return Pair(*(t.op.Div(t.op.Div(part, norm), size) for part in top))


def modulus(t: Writer, z: Pair) -> ir.Value:
    """The length; squares neither overflow nor vanish, and an infinite part wins over NaN."""
    if t.dtype(z.real) == ir.DataType.FLOAT:
        wide = [t.op.Cast(part, to=ir.DataType.DOUBLE) for part in z]
        length = t.op.Cast(t.op.Sqrt(t.op.Add(*(t.op.Mul(part, part) for part in wide))), to=ir.DataType.FLOAT)
    else:
        sizes = [t.op.Abs(part) for part in z]
        large, small = t.op.Max(*sizes), t.op.Min(*sizes)
        ratio = t.op.Div(small, large)
        length = t.op.Mul(large, t.op.Sqrt(t.op.Add(t.op.Mul(ratio, ratio), t.op.like(1, large))))
        length = t.op.Where(t.op.Equal(large, t.op.like(0, large)), large, length)
    return t.op.Where(t.op.Or(*(t.op.IsInf(part) for part in z)), t.op.like(math.inf, length), length)


def angle(t: Writer, y: ir.Value, x: ir.Value) -> ir.Value:
    """atan2, with the signs of zeros and infinities in all directions."""
    height, width = t.op.Abs(y), t.op.Abs(x)
    # Of equal lengths the ratio is 1, of two zeros 0.
    slope = t.op.Where(t.op.Equal(height, width), t.op.Sign(height), t.op.Div(height, width))
    turn = circular.atan(t, slope)
    turn = t.op.Where(_negative(t, x), t.op.Sub(t.op.like(math.pi, turn), turn), turn)
    return t.op.Where(_negative(t, y), t.op.Neg(turn), turn)


def _negative(t: Writer, x: ir.Value) -> ir.Value:
    """Below zero, or -0."""
    zero = t.op.like(0, x)
    return t.op.Or(t.op.Less(x, zero), t.op.Less(t.op.Reciprocal(x), zero))


def exponential(t: Writer, z: Pair) -> Pair:
    size = t.op.Exp(z.real)
    return Pair(t.op.Mul(size, t.op.Cos(z.imag)), t.op.Mul(size, t.op.Sin(z.imag)))


def logarithm(t: Writer, z: Pair) -> Pair:
    return Pair(t.op.Log(modulus(t, z)), angle(t, z.imag, z.real))


def square_root(t: Writer, z: Pair) -> Pair:
    """The root with a real part that is not negative."""
    real, size = _root_parts(t, z, modulus(t, z))
    return Pair(real, t.op.Where(_negative(t, z.imag), t.op.Neg(size), size))


def inverse_root(t: Writer, z: Pair) -> Pair:
    """1 / sqrt(z); TensorFlow takes an imaginary part of -0 as 0 here, and gives (inf, NaN) for zero."""
    length = modulus(t, z)
    real, size = (t.op.Div(part, length) for part in _root_parts(t, z, length))
    zero = t.op.like(0, length)
    real = t.op.Where(t.op.Equal(length, zero), t.op.like(math.inf, real), real)
    imag = t.op.Where(t.op.Less(z.imag, zero), size, t.op.Neg(size))
    ended = t.op.IsInf(length)
    return Pair(t.op.Where(ended, zero, real), t.op.Where(ended, zero, imag))


def _root_parts(t: Writer, z: Pair, length: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The real part of the root, and the size of its imaginary part."""
    half = t.op.like(0.5, z.real)
    long = t.op.Sqrt(t.op.Add(t.op.Mul(t.op.Abs(z.real), half), t.op.Mul(length, half)))
    zero = t.op.like(0, long)
    short = t.op.Where(t.op.Equal(long, zero), zero, t.op.Div(t.op.Mul(t.op.Abs(z.imag), half), long))
    left = t.op.Less(z.real, zero)
    return t.op.Where(left, short, long), t.op.Where(left, long, short)
