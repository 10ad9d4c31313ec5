"""Bags of embeddings: rows of a table, looked up and made one for each bag."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import accumulation
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

_D = ir.DataType
Value = ir.Value
_SUM, _MEAN, _MAX = 0, 1, 2


@maps_torch("aten::_embedding_bag", error=accumulation())
@maps_torch("aten::_embedding_bag_forward_only", error=accumulation())
@maps_torch("aten::embedding_bag.padding_idx", error=accumulation())
@maps_torch("aten::embedding_bag", error=accumulation())
@recorded
def embedding_bag(
    t: TorchTranslation,
    weight: Value,
    indices: Value,
    offsets: Value,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    per_sample_weights: Value | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Value, ...]:
    """What lies where, the sizes of the bags, and (of the largest, never asked for in inference) nothing."""
    places, starts = t.int64(indices), t.int64(offsets)
    if include_last_offset:
        starts = t.op.Slice(starts, [0], [-1], [0])
    numbers = t.op.Range(0, t.op.Squeeze(t.op.Shape(places), [0]), 1)
    begun = t.op.LessOrEqual(t.op.Unsqueeze(starts, [0]), t.op.Unsqueeze(numbers, [1]))
    bags = t.op.Sub(t.op.ReduceSum(t.op.Cast(begun, to=_D.INT64), [1], keepdims=1), 1)
    kept = _kept(t, places, weight, padding_idx)
    rows = t.op.Gather(weight, places, axis=0)
    if per_sample_weights is not None:
        rows = t.op.Mul(rows, t.op.Unsqueeze(per_sample_weights, [1]))
    count = t.op.Shape(starts)
    shape = t.op.Concat(count, t.op.Shape(weight, start=1), axis=0)
    sizes = t.op.ScatterND(_filled(t, 0, weight, t.op.Concat(count, [1], axis=0)), bags, kept, reduction="add")
    merged = _merged(t, mode, rows, kept, bags, shape, sizes)
    whole = t.op.Cast(t.op.Squeeze(sizes, [1]), to=_D.INT64)
    return merged, t.op.Squeeze(bags, [1]), whole, t.op.Identity(whole)


def _kept(t: TorchTranslation, places: Value, weight: Value, padding: int | None) -> Value:
    """[rows, 1]: one for a row that counts, zero for padding."""
    ones = t.op.Equal(places, places) if padding is None or padding < 0 else t.op.Not(t.op.Equal(places, padding))
    return t.op.Unsqueeze(t.op.Cast(ones, to=t.dtype(weight)), [1])


def _filled(t: TorchTranslation, number: Any, like: Value, shape: Value) -> Value:
    return t.op.Expand(t.op.like(number, like), shape)


def _merged(t: TorchTranslation, mode: int, rows: Value, kept: Value, bags: Value, shape: Value, sizes: Value) -> Value:
    """A bag without rows is zero."""
    zero = t.op.like(0, rows)
    if mode == _MAX:
        usable = t.op.Where(t.op.Equal(kept, zero), t.op.like(-np.inf, rows), rows)
        most = t.op.ScatterND(_filled(t, -np.inf, rows, shape), bags, usable, reduction="max")
        return t.op.Where(t.op.Equal(sizes, zero), zero, most)
    total: Value = t.op.ScatterND(_filled(t, 0, rows, shape), bags, t.op.Mul(rows, kept), reduction="add")
    return t.op.Div(total, t.op.Max(sizes, t.op.like(1, rows))) if mode == _MEAN else total
