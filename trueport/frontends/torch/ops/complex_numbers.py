"""Operators on complex numbers that the exporter has for real ones alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import ulps
from trueport.frontends.torch.pairs import joined, parts
from trueport.frontends.torch.recording import TorchTranslation, recorded
from trueport.frontends.torch.registry import maps_torch

__all__: list[str] = []

Value = ir.Value


@maps_torch("aten::exp", error=ulps(4), complex_operands=True)
@recorded
def exp(t: TorchTranslation, x: Value) -> Value:
    real, imaginary = parts(t, x)
    size = t.op.Exp(real)
    return joined(t, t.op.Mul(size, t.op.Cos(imaginary)), t.op.Mul(size, t.op.Sin(imaginary)))


@maps_torch("aten::pow.Tensor_Scalar", error=ulps(8), complex_operands=True)
@recorded
def power(t: TorchTranslation, x: Value, exponent: Any) -> Value:
    if isinstance(exponent, ir.Value) or exponent != int(exponent) or not 1 <= exponent <= 8:
        raise t.fail(
            "raises complex numbers to a power other than 1 to 8",
            "write it as torch.polar(z.abs() ** p, z.angle() * p)",
        )
    real, imaginary = base = parts(t, x)
    for _ in range(int(exponent) - 1):
        real, imaginary = _product(t, (real, imaginary), base)
    return joined(t, real, imaginary)


def _product(t: TorchTranslation, a: tuple[Value, Value], b: tuple[Value, Value]) -> tuple[Value, Value]:
    return (
        t.op.Sub(t.op.Mul(a[0], b[0]), t.op.Mul(a[1], b[1])),
        t.op.Add(t.op.Mul(a[0], b[1]), t.op.Mul(a[1], b[0])),
    )


@maps_torch("aten::select.int", complex_operands=True)
@recorded
def select(t: TorchTranslation, x: Value, dim: int, index: int) -> Value:
    made: Value = t.op.Gather(x, np.array(index), axis=dim % (t.rank(x) - 1))
    return made


@maps_torch("aten::unsqueeze", complex_operands=True)
@recorded
def unsqueeze(t: TorchTranslation, x: Value, dim: int) -> Value:
    made: Value = t.op.Unsqueeze(x, [dim % t.rank(x)])
    return made


@maps_torch("aten::expand", complex_operands=True)
@recorded
def expand(t: TorchTranslation, x: Value, size: Sequence[Any], implicit: bool = False) -> Value:
    """-1 keeps a dim, which broadcasting with 1 does, too."""
    sizes = [t.op.Reshape(s, [1]) if isinstance(s, ir.Value) else t.op.const(np.array([abs(s)])) for s in size]
    made: Value = t.op.Expand(x, t.op.Concat(*sizes, t.op.const(np.array([2])), axis=0))
    return made


@maps_torch("aten::mm", complex_operands=True, error=ulps(64))
@maps_torch("aten::bmm", complex_operands=True, error=ulps(64))
@recorded
def product(t: TorchTranslation, a: Value, b: Value) -> Value:
    (ar, ai), (br, bi) = parts(t, a), parts(t, b)
    return joined(
        t,
        t.op.Sub(t.op.MatMul(ar, br), t.op.MatMul(ai, bi)),
        t.op.Add(t.op.MatMul(ar, bi), t.op.MatMul(ai, br)),
    )


@maps_torch("aten::_conj_physical", error=ulps(0), complex_operands=True)
@maps_torch("aten::conj_physical", error=ulps(0), complex_operands=True)
@recorded
def conjugate(t: TorchTranslation, x: Value) -> Value:
    real, imaginary = parts(t, x)
    return joined(t, real, t.op.Neg(imaginary))


@maps_torch("aten::sym_size.int", complex_operands=True)
@recorded
def size(t: TorchTranslation, x: Value, dim: int) -> Value:
    axis = dim % (t.rank(x) - 1)
    made: Value = t.op.Squeeze(t.op.Shape(x, start=axis, end=axis + 1), [0])
    return made
