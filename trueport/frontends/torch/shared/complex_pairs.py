"""Complex numbers as the exporter carries them: pairs of reals in a last axis."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx_ir as ir

from trueport.formulas.numeric import in_double, is_double
from trueport.frontends.torch.shared.plane import hypotenuse
from trueport.frontends.torch.translate.recording import TorchTranslation

__all__ = ["bilinear", "constant", "joined", "magnitude", "parts", "quotient", "times"]

Value = ir.Value
Pair = tuple[Value, Value]


def parts(t: TorchTranslation, value: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The real and the imaginary ones."""
    axis = t.rank(value) - 1
    real, imaginary = (t.op.Gather(value, np.array(index), axis=axis) for index in (0, 1))
    return real, imaginary


def joined(t: TorchTranslation, real: ir.Value, imaginary: ir.Value) -> ir.Value:
    """Both parts as one value."""
    last = [t.rank(real)]
    return t.op.Concat(t.op.Unsqueeze(real, last), t.op.Unsqueeze(imaginary, last), axis=last[0])


def constant(t: TorchTranslation, number: complex, like: Value) -> Value:
    """One complex number beside others."""
    return t.op.like(np.array([complex(number).real, complex(number).imag]), like)


def bilinear(t: TorchTranslation, product: Callable[[Value, Value], Value], a: Pair, b: Pair) -> Pair:
    """A product of reals, carried over to complex numbers."""
    return (
        t.op.Sub(product(a[0], b[0]), product(a[1], b[1])),
        t.op.Add(product(a[0], b[1]), product(a[1], b[0])),
    )


def times(t: TorchTranslation, value: Value, number: complex) -> Value:
    """Complex numbers by one that is known."""
    if number == 1:
        return value
    if not complex(number).imag:
        return t.op.Mul(value, t.op.like(complex(number).real, value))
    real, imaginary = parts(t, value)
    factor = (t.op.like(complex(number).real, value), t.op.like(complex(number).imag, value))
    return joined(t, *bilinear(t, t.op.Mul, (real, imaginary), factor))


def magnitude(t: TorchTranslation, value: Value) -> Value:
    """|z| without overflow: in doubles, of which the squares hold those of all floats, or scaled."""
    real, imaginary = parts(t, value)
    if is_double(value):
        return hypotenuse(t, real, imaginary)
    found = in_double(t, lambda a, b: t.op.Sqrt(t.op.Add(t.op.Mul(a, a), t.op.Mul(b, b))), real, imaginary)
    endless = t.op.Or(t.op.IsInf(real), t.op.IsInf(imaginary))
    return t.op.Where(endless, t.op.like(np.inf, real), found)


def quotient(t: TorchTranslation, a: Pair, b: Pair) -> Pair:
    """a / b by the ratio of b's parts, as PyTorch has it; of floats in doubles, which hold every step's result."""
    dtype = t.dtype(b[0])
    a, b = ((t.cast(z[0], ir.DataType.DOUBLE), t.cast(z[1], ir.DataType.DOUBLE)) for z in (a, b))
    steep = t.op.Less(t.op.Abs(b[0]), t.op.Abs(b[1]))
    large, small = t.op.Where(steep, b[1], b[0]), t.op.Where(steep, b[0], b[1])
    zero = t.op.like(0, large)
    none = t.op.And(t.op.Equal(large, zero), t.op.Equal(small, zero))
    ratio = t.op.Div(small, t.op.Where(none, t.op.like(1, large), large))
    divisor = t.op.Where(none, zero, t.op.Add(large, t.op.Mul(small, ratio)))
    by_ratio = [t.op.Where(none, zero, t.op.Mul(part, ratio)) for part in a]
    real = t.op.Where(steep, t.op.Add(a[1], by_ratio[0]), t.op.Add(a[0], by_ratio[1]))
    imaginary = t.op.Where(steep, t.op.Sub(by_ratio[1], a[0]), t.op.Sub(a[1], by_ratio[0]))
    return t.cast(t.op.Div(real, divisor), dtype), t.cast(t.op.Div(imaginary, divisor), dtype)
