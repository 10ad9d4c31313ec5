"""Logarithms of sums of exponentials, and functions near their zeros: in forms that neither overflow nor cancel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_ONE, accumulation, ulps
from trueport.formulas.linear.matrices import transposed
from trueport.formulas.numeric import expm1 as stable_expm1
from trueport.formulas.numeric import in_double, is_float, log1p, widened
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.shared.numbers import as_float, promoted
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

_D = ir.DataType
Value = ir.Value


@maps_torch("aten::logaddexp", error=ulps(4, AGAINST_ONE))
@recorded
def logaddexp(t: TorchTranslation, a: Value, b: Value) -> Value:
    return _of_floats(t, lambda x, y: _log_add(t, x, y, 1.0), a, b)


@maps_torch("aten::logaddexp2", error=ulps(4, AGAINST_ONE))
@recorded
def logaddexp2(t: TorchTranslation, a: Value, b: Value) -> Value:
    return _of_floats(t, lambda x, y: _log_add(t, x, y, np.log(2.0)), a, b)


def _of_floats(t: TorchTranslation, formula: Callable[..., Value], *values: Any) -> Value:
    return in_double(t, formula, *(as_float(t, value) for value in promoted(t, *values)))


def _log_add(t: TorchTranslation, a: Value, b: Value, base: float) -> Value:
    """max(a, b) + log1p(exp(-|a - b|)), where ``base`` is the natural logarithm of the base."""
    larger = t.op.Max(a, b)
    # Equal infinities have no difference: then the larger one is the result.
    apart = t.op.Mul(t.op.Neg(t.op.Abs(t.op.Sub(a, b))), t.op.like(base, a))
    rest = t.op.Div(log1p(t, t.op.Exp(apart)), t.op.like(base, a))
    return t.op.Where(t.op.IsInf(larger), larger, t.op.Add(larger, rest))


@maps_torch("aten::logsumexp", error=accumulation(against=AGAINST_ONE))
@recorded
def logsumexp(t: TorchTranslation, x: Value, dim: Sequence[int], keepdim: bool = False) -> Value:
    value = as_float(t, x)
    rank = t.rank(value)
    if rank == 0:
        return t.op.Identity(value)
    axes = [axis % rank for axis in ([dim] if isinstance(dim, int) else dim)] or list(range(rank))
    return widened(t, lambda wide: _log_sum(t, wide, axes, keepdim), value)


def _log_sum(t: TorchTranslation, x: Value, axes: Sequence[int], keepdim: bool) -> Value:
    """ONNX Runtime's kernel may drop a NaN beside an infinity."""
    found = t.op.ReduceLogSumExp(x, list(axes), keepdims=int(keepdim))
    odd = t.op.ReduceSum(t.op.Cast(t.op.IsNaN(x), to=_D.INT32), list(axes), keepdims=int(keepdim))
    return t.op.Where(t.op.Cast(odd, to=_D.BOOL), t.op.like(np.nan, x), found)


@maps_torch("aten::logcumsumexp", error=accumulation(against=AGAINST_ONE))
@recorded
def logcumsumexp(t: TorchTranslation, x: Value, dim: int) -> Value:
    """The log-sum-exp of each prefix, relative to that prefix's own maximum."""
    rank = t.rank(x)
    if rank == 0:
        return t.op.Identity(x)
    axis = dim % rank
    order = [*(a for a in range(rank) if a != axis), axis]

    def formula(wide: Value) -> Value:
        last = transposed(t, wide, order)
        positions = t.op.Range(0, t.op.Squeeze(t.op.Shape(wide, start=axis, end=axis + 1), [0]), 1)
        before = t.op.LessOrEqual(t.op.Unsqueeze(positions, [0]), t.op.Unsqueeze(positions, [1]))
        prefixes = t.op.Where(before, t.op.Unsqueeze(last, [rank - 1]), t.op.like(-np.inf, wide))
        return transposed(t, _log_sum(t, prefixes, [rank], False), [int(place) for place in np.argsort(order)])

    return widened(t, formula, x)


@maps_torch("aten::softmax.int", error=accumulation())
@recorded
def softmax(t: TorchTranslation, x: Value, dim: int, dtype: int = -1) -> Value:
    return _shares(t, "Softmax", x, dim, dtype)


@maps_torch("aten::log_softmax.int", error=accumulation(against=AGAINST_ONE))
@recorded
def log_softmax(t: TorchTranslation, x: Value, dim: int, dtype: int = -1) -> Value:
    return _shares(t, "LogSoftmax", x, dim, dtype)


def _shares(t: TorchTranslation, operator: str, x: Value, dim: int, dtype: int) -> Value:
    """In the type that is asked for: the cast comes first."""
    value = as_float(t, x) if dtype in (None, -1) else t.cast(x, _D(dtype))
    rank = t.rank(value)
    row = value if rank else t.op.Unsqueeze(value, [0])
    made: Value = t.op.add(operator, [row], {"axis": dim % max(rank, 1)})
    return made if rank else t.op.Squeeze(made, [0])


@maps_torch("aten::expm1", error=ulps(6))
@maps_torch("aten::special_expm1", error=ulps(6))
@recorded
def expm1(t: TorchTranslation, x: Value) -> Value:
    return widened(t, lambda wide: stable_expm1(t, wide), as_float(t, x))


@maps_torch("aten::logit", error=ulps(4, AGAINST_ONE))
@recorded
def logit(t: TorchTranslation, x: Value, eps: float | None = None) -> Value:
    return widened(t, lambda wide: _logit(t, wide, eps), as_float(t, x))


def _logit(t: TorchTranslation, x: Value, eps: float | None) -> Value:
    """NaN stays NaN beside the bounds, too."""
    one = t.op.like(1, x)
    if eps is not None:
        low, high = t.op.like(eps, x), t.op.Sub(one, t.op.like(eps, x))
        x = t.op.Where(t.op.Less(x, low), low, t.op.Where(t.op.Greater(x, high), high, x))
    return t.op.Log(t.op.Div(x, t.op.Sub(one, x)))


@maps_torch("aten::xlogy.Tensor", error=ulps(4, AGAINST_ONE))
@maps_torch("aten::xlogy.Scalar_Self", error=ulps(4, AGAINST_ONE))
@maps_torch("aten::xlogy.Scalar_Other", error=ulps(4, AGAINST_ONE))
@recorded
def xlogy(t: TorchTranslation, x: Any, y: Any) -> Value:
    first, second = (as_float(t, value) for value in promoted(t, x, y))
    return widened(t, lambda a, b: _times_log(t, a, b), first, second)


def _times_log(t: TorchTranslation, x: Value, y: Value) -> Value:
    """Zero times any logarithm is zero, unless the operand is NaN."""
    zero = t.op.like(0, x)
    none = t.op.And(t.op.Equal(x, zero), t.op.Not(t.op.IsNaN(y)))
    return t.op.Where(none, zero, t.op.Mul(x, t.op.Log(y)))


@maps_torch("aten::std.correction", error=accumulation())
@recorded
def std(
    t: TorchTranslation,
    x: Value,
    dim: Sequence[int] | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> Value:
    return _deviation(t, x, dim, correction, keepdim)


@maps_torch("aten::var.correction", error=accumulation(2))
@recorded
def var(
    t: TorchTranslation,
    x: Value,
    dim: Sequence[int] | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> Value:
    axes = _axes(t, x, dim)
    return widened(t, lambda wide: _variance(t, wide, axes, correction, keepdim), x)


@maps_torch("aten::std_mean.correction", error=accumulation())
@recorded
def std_mean(
    t: TorchTranslation,
    x: Value,
    dim: Sequence[int] | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> tuple[Value, Value]:
    axes = _axes(t, x, dim)
    mean: Value = widened(t, lambda wide: t.op.ReduceMean(wide, axes, keepdims=int(keepdim)), x)
    return _deviation(t, x, dim, correction, keepdim), mean


def _axes(t: TorchTranslation, x: Value, dim: Sequence[int] | None) -> list[int]:
    rank = t.rank(x)
    return [axis % rank for axis in dim] if dim else list(range(rank))


def _deviation(
    t: TorchTranslation, x: Value, dim: Sequence[int] | None, correction: float | None, keepdim: bool
) -> Value:
    """In doubles, as PyTorch sums them: the square of a float32 may overflow or vanish though its root does not."""
    assert is_float(x), "PyTorch refuses integers, and complex numbers have translations of their own"
    axes = _axes(t, x, dim)
    return in_double(t, lambda wide: t.op.Sqrt(_variance(t, wide, axes, correction, keepdim)), x)


def _variance(t: TorchTranslation, x: Value, axes: Sequence[int], correction: float | None, keepdim: bool) -> Value:
    """By a count, which may be 0: of nothing it is NaN, and ONNX's ReduceMean leaves that open."""
    apart = t.op.Sub(x, t.op.ReduceMean(x, axes, keepdims=1))
    total = t.op.ReduceSum(t.op.Mul(apart, apart), axes, keepdims=int(keepdim))
    shape = t.op.Gather(t.op.Shape(x), t.op.const(np.array(axes, np.int64)), axis=0)
    count = t.op.Cast(t.op.ReduceProd(shape, [0], keepdims=0), to=t.dtype(x))
    less = t.op.Sub(count, t.op.like(1 if correction is None else correction, x))
    return t.op.Div(total, t.op.Max(less, t.op.like(0, x)))
