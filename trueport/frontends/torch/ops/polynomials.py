"""Orthogonal polynomials: their recurrences, in doubles, as far as the largest degree that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import ulps
from trueport.formulas.numeric import in_double
from trueport.formulas.repeating import repeated
from trueport.formulas.writer import Writer
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.shared.numbers import as_float, promoted
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

Value = ir.Value
_SUM = ulps(256)
"""Doubles lose digits from degree to degree."""


@dataclass(frozen=True)
class _Family:
    """p(0) = 1, p(1) = slope x + offset, and p(k + 1) from p(k) and p(k - 1)."""

    slope: float
    offset: float
    step: Callable[[Writer, Value, Value, Value, Value], Value]
    """from the builder, k, x, p(k) and p(k - 1)"""
    shifted: bool = False
    """of 2 x - 1"""


def _chebyshev(t: Writer, k: Value, x: Value, p: Value, before: Value) -> Value:
    return t.op.Sub(t.op.Mul(t.op.Mul(t.op.like(2, x), x), p), before)


def _hermite(t: Writer, k: Value, x: Value, p: Value, before: Value) -> Value:
    return t.op.Mul(t.op.like(2, x), t.op.Sub(t.op.Mul(x, p), t.op.Mul(k, before)))


def _hermite_e(t: Writer, k: Value, x: Value, p: Value, before: Value) -> Value:
    return t.op.Sub(t.op.Mul(x, p), t.op.Mul(k, before))


def _laguerre(t: Writer, k: Value, x: Value, p: Value, before: Value) -> Value:
    one = t.op.like(1, x)
    lead = t.op.Sub(t.op.Add(t.op.Add(k, k), one), x)
    return t.op.Div(t.op.Sub(t.op.Mul(lead, p), t.op.Mul(k, before)), t.op.Add(k, one))


def _legendre(t: Writer, k: Value, x: Value, p: Value, before: Value) -> Value:
    one = t.op.like(1, x)
    lead = t.op.Mul(t.op.Add(t.op.Add(k, k), one), x)
    return t.op.Div(t.op.Sub(t.op.Mul(lead, p), t.op.Mul(k, before)), t.op.Add(k, one))


def _polynomial(t: TorchTranslation, family: _Family, x: Any, n: Any) -> Value:
    """Zero for degrees below zero; a degree that is no whole number is cut."""
    value, degree = (as_float(t, operand) for operand in promoted(t, x, n))
    return in_double(
        t, lambda wide, high: _recurrence(t, family, wide, t.op.Cast(high, to=ir.DataType.INT64)), value, degree
    )


def _recurrence(t: TorchTranslation, family: _Family, x: Value, degree: Value) -> Value:
    if family.shifted:
        x = t.op.Sub(t.op.Add(x, x), t.op.like(1, x))
    x = t.op.Add(x, t.op.Mul(t.op.Cast(degree, to=ir.DataType.DOUBLE), t.op.like(0, x)))  # of the joint shape
    one = t.op.like(1, x)
    first = t.op.Add(t.op.Mul(x, t.op.like(0, x)), one)
    second = t.op.Add(t.op.Mul(x, t.op.like(family.slope, x)), t.op.like(family.offset, x))
    most = t.op.Max(t.op.Sub(t.op.ReduceMax(degree, keepdims=0), 1), 0)

    def step(b: Writer, number: Value, values: list[Value]) -> list[Value]:
        k = b.op.Add(number, 1)
        following = family.step(b, b.op.Cast(k, to=ir.DataType.DOUBLE), x, values[0], values[1])
        on = b.op.Less(k, degree)
        return [b.op.Where(on, following, values[0]), b.op.Where(on, values[0], values[1])]

    last = repeated(t, most, [second, first], step)[0]
    found = t.op.Where(t.op.Less(degree, 1), first, last)
    return t.op.Where(t.op.Less(degree, 0), t.op.like(np.float64(0), x), found)


def _chebyshev_family(kind: str, *, shifted: bool) -> _Family:
    slope, offset = {"t": (1.0, 0.0), "u": (2.0, 0.0), "v": (2.0, -1.0), "w": (2.0, 1.0)}[kind]
    return _Family(slope, offset, _chebyshev, shifted)


@maps_torch("aten::special_chebyshev_polynomial_t", error=_SUM)
@maps_torch("aten::special_chebyshev_polynomial_t.n_scalar", error=_SUM)
@maps_torch("aten::special_chebyshev_polynomial_t.x_scalar", error=_SUM)
@recorded
def chebyshev_polynomial_t(t: TorchTranslation, x: Any, n: Any) -> Value:
    return _polynomial(t, _chebyshev_family("t", shifted=False), x, n)


@maps_torch("aten::special_chebyshev_polynomial_u", error=_SUM)
@maps_torch("aten::special_chebyshev_polynomial_u.n_scalar", error=_SUM)
@maps_torch("aten::special_chebyshev_polynomial_u.x_scalar", error=_SUM)
@recorded
def chebyshev_polynomial_u(t: TorchTranslation, x: Any, n: Any) -> Value:
    return _polynomial(t, _chebyshev_family("u", shifted=False), x, n)


@maps_torch("aten::special_chebyshev_polynomial_v", error=_SUM)
@maps_torch("aten::special_chebyshev_polynomial_v.n_scalar", error=_SUM)
@maps_torch("aten::special_chebyshev_polynomial_v.x_scalar", error=_SUM)
@recorded
def chebyshev_polynomial_v(t: TorchTranslation, x: Any, n: Any) -> Value:
    return _polynomial(t, _chebyshev_family("v", shifted=False), x, n)


@maps_torch("aten::special_chebyshev_polynomial_w", error=_SUM)
@maps_torch("aten::special_chebyshev_polynomial_w.n_scalar", error=_SUM)
@maps_torch("aten::special_chebyshev_polynomial_w.x_scalar", error=_SUM)
@recorded
def chebyshev_polynomial_w(t: TorchTranslation, x: Any, n: Any) -> Value:
    return _polynomial(t, _chebyshev_family("w", shifted=False), x, n)


@maps_torch("aten::special_shifted_chebyshev_polynomial_t", error=_SUM)
@maps_torch("aten::special_shifted_chebyshev_polynomial_t.n_scalar", error=_SUM)
@maps_torch("aten::special_shifted_chebyshev_polynomial_t.x_scalar", error=_SUM)
@recorded
def shifted_chebyshev_polynomial_t(t: TorchTranslation, x: Any, n: Any) -> Value:
    return _polynomial(t, _chebyshev_family("t", shifted=True), x, n)


@maps_torch("aten::special_shifted_chebyshev_polynomial_u", error=_SUM)
@maps_torch("aten::special_shifted_chebyshev_polynomial_u.n_scalar", error=_SUM)
@maps_torch("aten::special_shifted_chebyshev_polynomial_u.x_scalar", error=_SUM)
@recorded
def shifted_chebyshev_polynomial_u(t: TorchTranslation, x: Any, n: Any) -> Value:
    return _polynomial(t, _chebyshev_family("u", shifted=True), x, n)


@maps_torch("aten::special_shifted_chebyshev_polynomial_v", error=_SUM)
@maps_torch("aten::special_shifted_chebyshev_polynomial_v.n_scalar", error=_SUM)
@maps_torch("aten::special_shifted_chebyshev_polynomial_v.x_scalar", error=_SUM)
@recorded
def shifted_chebyshev_polynomial_v(t: TorchTranslation, x: Any, n: Any) -> Value:
    return _polynomial(t, _chebyshev_family("v", shifted=True), x, n)


@maps_torch("aten::special_shifted_chebyshev_polynomial_w", error=_SUM)
@maps_torch("aten::special_shifted_chebyshev_polynomial_w.n_scalar", error=_SUM)
@maps_torch("aten::special_shifted_chebyshev_polynomial_w.x_scalar", error=_SUM)
@recorded
def shifted_chebyshev_polynomial_w(t: TorchTranslation, x: Any, n: Any) -> Value:
    return _polynomial(t, _chebyshev_family("w", shifted=True), x, n)


@maps_torch("aten::special_hermite_polynomial_h", error=_SUM)
@maps_torch("aten::special_hermite_polynomial_h.n_scalar", error=_SUM)
@maps_torch("aten::special_hermite_polynomial_h.x_scalar", error=_SUM)
@recorded
def hermite_polynomial_h(t: TorchTranslation, x: Any, n: Any) -> Value:
    return _polynomial(t, _Family(2.0, 0.0, _hermite), x, n)


@maps_torch("aten::special_hermite_polynomial_he", error=_SUM)
@maps_torch("aten::special_hermite_polynomial_he.n_scalar", error=_SUM)
@maps_torch("aten::special_hermite_polynomial_he.x_scalar", error=_SUM)
@recorded
def hermite_polynomial_he(t: TorchTranslation, x: Any, n: Any) -> Value:
    return _polynomial(t, _Family(1.0, 0.0, _hermite_e), x, n)


@maps_torch("aten::special_laguerre_polynomial_l", error=_SUM)
@maps_torch("aten::special_laguerre_polynomial_l.n_scalar", error=_SUM)
@maps_torch("aten::special_laguerre_polynomial_l.x_scalar", error=_SUM)
@recorded
def laguerre_polynomial_l(t: TorchTranslation, x: Any, n: Any) -> Value:
    return _polynomial(t, _Family(-1.0, 1.0, _laguerre), x, n)


@maps_torch("aten::special_legendre_polynomial_p", error=_SUM)
@maps_torch("aten::special_legendre_polynomial_p.n_scalar", error=_SUM)
@maps_torch("aten::special_legendre_polynomial_p.x_scalar", error=_SUM)
@recorded
def legendre_polynomial_p(t: TorchTranslation, x: Any, n: Any) -> Value:
    return _polynomial(t, _Family(1.0, 0.0, _legendre), x, n)
