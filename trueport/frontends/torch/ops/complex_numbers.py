"""Operators on complex numbers that the exporter has for real ones alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir

from trueport.fidelity import ulps
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.shared.complex_pairs import bilinear, constant, joined, magnitude, parts, quotient, times
from trueport.frontends.torch.shared.plane import angle
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

Value = ir.Value


@maps_torch("aten::exp", error=ulps(4), complex_operands=True)
@recorded
def exp(t: TorchTranslation, x: Value) -> Value:
    real, imaginary = parts(t, x)
    size = t.op.Exp(real)
    return joined(t, t.op.Mul(size, t.op.Cos(imaginary)), t.op.Mul(size, t.op.Sin(imaginary)))


@maps_torch("aten::add.Tensor", error=ulps(1), complex_operands=True)
@recorded
def add(t: TorchTranslation, a: Value, b: Value | complex, alpha: complex = 1) -> Value:
    return t.op.Add(a, times(t, _operand(t, b, a), alpha))


@maps_torch("aten::sub.Tensor", error=ulps(1), complex_operands=True)
@recorded
def sub(t: TorchTranslation, a: Value, b: Value | complex, alpha: complex = 1) -> Value:
    return t.op.Sub(a, times(t, _operand(t, b, a), alpha))


@maps_torch("aten::abs", error=ulps(2), complex_operands=True)
@recorded
def absolute(t: TorchTranslation, x: Value) -> Value:
    return magnitude(t, x)


@maps_torch("aten::angle", error=ulps(4), complex_operands=True)
@recorded
def phase(t: TorchTranslation, x: Value) -> Value:
    real, imaginary = parts(t, x)
    return angle(t, imaginary, real)


@maps_torch("aten::div.Tensor", error=ulps(8), complex_operands=True)
@recorded
def div(t: TorchTranslation, a: Value, b: Value | complex) -> Value:
    return joined(t, *quotient(t, parts(t, a), parts(t, _operand(t, b, a))))


def _operand(t: TorchTranslation, value: Value | complex, other: Value) -> Value:
    """A second operand, which the exporter may pass as a number of Python's."""
    return value if isinstance(value, ir.Value) else constant(t, value, other)


@maps_torch("aten::reciprocal", error=ulps(8), complex_operands=True)
@recorded
def reciprocal(t: TorchTranslation, x: Value) -> Value:
    real, imaginary = parts(t, x)
    return joined(t, *quotient(t, (t.op.like(1, real), t.op.like(0, real)), (real, imaginary)))


@maps_torch("aten::isnan", complex_operands=True)
@recorded
def isnan(t: TorchTranslation, x: Value) -> Value:
    return t.op.Or(*(t.op.IsNaN(part) for part in parts(t, x)))


@maps_torch("aten::isinf", complex_operands=True)
@recorded
def isinf(t: TorchTranslation, x: Value) -> Value:
    return t.op.Or(*(t.op.IsInf(part) for part in parts(t, x)))


@maps_torch("aten::isfinite", complex_operands=True)
@recorded
def isfinite(t: TorchTranslation, x: Value) -> Value:
    return t.op.And(*(t.op.Equal(t.op.Sub(part, part), t.op.like(0, part)) for part in parts(t, x)))


@maps_torch("aten::eq.Tensor", complex_operands=True)
@maps_torch("aten::eq.Scalar", complex_operands=True)
@recorded
def eq(t: TorchTranslation, a: Value, b: Value | complex) -> Value:
    return _equal(t, a, _operand(t, b, a))


@maps_torch("aten::ne.Tensor", complex_operands=True)
@maps_torch("aten::ne.Scalar", complex_operands=True)
@recorded
def ne(t: TorchTranslation, a: Value, b: Value | complex) -> Value:
    return t.op.Not(_equal(t, a, _operand(t, b, a)))


def _equal(t: TorchTranslation, a: Value, b: Value) -> Value:
    return t.op.And(*(t.op.Equal(x, y) for x, y in zip(parts(t, a), parts(t, b), strict=True)))


@maps_torch("aten::mm", complex_operands=True, error=ulps(64))
@maps_torch("aten::bmm", complex_operands=True, error=ulps(64))
@recorded
def product(t: TorchTranslation, a: Value, b: Value) -> Value:
    return joined(t, *bilinear(t, t.op.MatMul, parts(t, a), parts(t, b)))


@maps_torch("aten::dot", complex_operands=True, error=ulps(64))
@recorded
def dot(t: TorchTranslation, a: Value, b: Value) -> Value:
    return joined(t, *bilinear(t, t.op.MatMul, parts(t, a), parts(t, b)))


@maps_torch("aten::einsum", complex_operands=True, error=ulps(64))
@recorded
def einsum(t: TorchTranslation, equation: str, tensors: Sequence[Value], path: Any = None) -> Value:
    if len(tensors) > 2:
        raise t.fail(f"contracts {len(tensors)} complex tensors at once", "contract two at a time")

    def contract(*operands: Value) -> Value:
        return t.op.Einsum(*operands, equation=equation.replace(" ", ""))

    pairs = [parts(t, tensor) for tensor in tensors]
    if len(pairs) == 1:
        return joined(t, *(contract(part) for part in pairs[0]))
    return joined(t, *bilinear(t, contract, *pairs))


@maps_torch("aten::_conj_physical", error=ulps(0), complex_operands=True)
@maps_torch("aten::conj_physical", error=ulps(0), complex_operands=True)
@recorded
def conjugate(t: TorchTranslation, x: Value) -> Value:
    real, imaginary = parts(t, x)
    return joined(t, real, t.op.Neg(imaginary))
