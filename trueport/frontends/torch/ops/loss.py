"""Losses: the exporter's cross entropy leaves out the smoothing of labels, and takes no probabilities."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import accumulation
from trueport.formulas.numeric import is_float, widened
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

Value = ir.Value
_NONE, _MEAN, _SUM = 0, 1, 2


@maps_torch("aten::cross_entropy_loss", error=accumulation())
@recorded
def cross_entropy(
    t: TorchTranslation,
    x: Value,
    target: Value,
    weight: Value | None = None,
    reduction: int = _MEAN,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Value:
    def formula(wide: Value) -> Value:
        logs = t.op.LogSoftmax(wide, axis=_classes(t, wide))
        own = None if weight is None else t.cast(weight, t.dtype(wide))
        if is_float(target):
            return _by_shares(t, logs, t.cast(target, t.dtype(wide)), own, reduction, label_smoothing)
        return _by_class(t, logs, target, own, reduction, ignore_index, label_smoothing)

    return widened(t, formula, x)


def _classes(t: TorchTranslation, x: Value) -> int:
    return 0 if t.rank(x) == 1 else 1


def _shaped(t: TorchTranslation, weight: Value, x: Value) -> Value:
    """Weights of classes, to be multiplied with logarithms."""
    shape = [1] * t.rank(x)
    shape[_classes(t, x)] = -1
    return t.op.Reshape(weight, shape)


def _count(t: TorchTranslation, x: Value) -> Value:
    """How many classes there are."""
    axis = _classes(t, x)
    return t.op.Squeeze(t.op.Cast(t.op.Shape(x, start=axis, end=axis + 1), to=t.dtype(x)), [0])


def _by_shares(
    t: TorchTranslation, logs: Value, target: Value, weight: Value | None, reduction: int, smoothing: float
) -> Value:
    """The mean is over what is no class, whatever the weights."""
    if smoothing:
        even = t.op.Div(t.op.like(smoothing, logs), _count(t, logs))
        target = t.op.Add(t.op.Mul(target, t.op.like(1 - smoothing, logs)), even)
    terms = t.op.Mul(logs, target)
    if weight is not None:
        terms = t.op.Mul(terms, _shaped(t, weight, logs))
    each = t.op.Neg(t.op.ReduceSum(terms, [_classes(t, logs)], keepdims=0))
    if reduction == _NONE:
        made: Value = each
    elif reduction == _SUM:
        made = t.op.ReduceSum(each, keepdims=0)
    else:
        made = t.op.ReduceMean(each, keepdims=0)
    return made


def _by_class(
    t: TorchTranslation,
    logs: Value,
    target: Value,
    weight: Value | None,
    reduction: int,
    ignored: int,
    smoothing: float,
) -> Value:
    axis = _classes(t, logs)
    numbers = t.int64(target)
    counts = t.op.Not(t.op.Equal(numbers, np.array(ignored, np.int64)))
    usable = t.op.Where(counts, numbers, t.op.const(np.array(0, np.int64)))
    share = t.op.Cast(counts, to=t.dtype(logs))
    if weight is not None:
        share = t.op.Mul(share, t.op.Gather(weight, usable, axis=0))
    picked = t.op.Squeeze(t.op.GatherElements(logs, t.op.Unsqueeze(usable, [axis]), axis=axis), [axis])
    zero = t.op.like(0, logs)
    each = t.op.Where(counts, t.op.Neg(t.op.Mul(picked, share)), zero)
    if smoothing:
        all_classes = logs if weight is None else t.op.Mul(logs, _shaped(t, weight, logs))
        spread = t.op.Neg(t.op.ReduceSum(all_classes, [axis], keepdims=0))
        even = t.op.Mul(t.op.Where(counts, spread, zero), t.op.Div(t.op.like(smoothing, logs), _count(t, logs)))
        each = t.op.Add(t.op.Mul(each, t.op.like(1 - smoothing, logs)), even)
    if reduction == _NONE:
        return each
    total: Value = t.op.ReduceSum(each, keepdims=0)
    return total if reduction == _SUM else t.op.Div(total, t.op.ReduceSum(share, keepdims=0))


@maps_torch("aten::multilabel_margin_loss", error=accumulation())
@recorded
def multilabel_margin(t: TorchTranslation, x: Value, target: Value, reduction: int = _MEAN) -> Value:
    return widened(t, lambda wide: _margins(t, wide, t.int64(target), reduction), x)


def _margins(t: TorchTranslation, x: Value, target: Value, reduction: int) -> Value:
    """Of each target before the first -1, what other classes come within one of it."""
    rank = t.rank(x)
    last, zero = rank - 1, t.op.const(np.array(0, np.int64))
    ended = t.op.CumSum(t.op.Cast(t.op.Less(target, zero), to=ir.DataType.INT64), np.array(last))
    valid = t.op.Equal(ended, zero)
    usable = t.op.Where(valid, target, zero)
    classes = t.op.Range(0, t.op.Squeeze(t.op.Shape(x, start=last), [0]), 1)
    hits = t.op.And(t.op.Equal(t.op.Unsqueeze(usable, [rank]), classes), t.op.Unsqueeze(valid, [rank]))
    meant = t.op.ReduceMax(t.op.Cast(hits, to=ir.DataType.INT32), [last], keepdims=1)
    others = t.op.Not(t.op.Cast(meant, to=ir.DataType.BOOL))
    own = t.op.Unsqueeze(t.op.GatherElements(x, usable, axis=last), [rank])
    gaps = t.op.Add(t.op.Sub(t.op.like(1, x), own), t.op.Unsqueeze(x, [last]))
    counted = t.op.And(others, t.op.Unsqueeze(valid, [rank]))
    terms = t.op.Where(counted, t.op.Max(gaps, t.op.like(0, x)), t.op.like(0, x))
    size = t.op.Squeeze(t.op.Cast(t.op.Shape(x, start=last), to=t.dtype(x)), [0])
    each = t.op.Div(t.op.ReduceSum(terms, [last, rank], keepdims=0), size)
    if reduction == _NONE or rank == 1:
        made: Value = each
    else:
        made = t.op.ReduceSum(each, keepdims=0) if reduction == _SUM else t.op.ReduceMean(each, keepdims=0)
    return made
