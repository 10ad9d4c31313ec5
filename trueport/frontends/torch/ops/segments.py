"""Rows of one segment made one: by their lengths or their ends."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import accumulation
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

_D = ir.DataType
Value = ir.Value
_STARTS = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf}
_MERGES = {"sum": "add", "mean": "add", "prod": "mul", "max": "max", "min": "min"}


@maps_torch("aten::segment_reduce", error=accumulation())
@recorded
def segment_reduce(
    t: TorchTranslation,
    data: Value,
    reduce: str,
    *,
    lengths: Value | None = None,
    indices: Value | None = None,
    offsets: Value | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Value:
    if axis != 0 or lengths is None or t.rank(lengths) != 1:
        raise t.fail(
            "takes segments along an inner axis, or by their offsets",
            "give lengths along the first axis: torch.diff(offsets)",
        )
    counts = t.int64(lengths)
    ends = t.op.CumSum(counts, np.array(0))
    rows = t.op.Range(0, t.op.Squeeze(t.op.Shape(data, end=1), [0]), 1)
    # The segment of a row: how many end at it or before.
    passed = t.op.LessOrEqual(t.op.Unsqueeze(ends, [0]), t.op.Unsqueeze(rows, [1]))
    segment = t.op.ReduceSum(t.op.Cast(passed, to=_D.INT64), [1], keepdims=1)
    shape = t.op.Concat(t.op.Shape(counts), t.op.Shape(data, start=1), axis=0)
    # What is merged into is what was asked for as a start, or what changes nothing.
    start = t.op.Expand(t.op.like(_STARTS[reduce] if initial is None else initial, data), shape)
    merged = t.op.ScatterND(start, segment, data, reduction=_MERGES[reduce])
    return _divided(t, merged, counts, initial) if reduce == "mean" else merged


def _divided(t: TorchTranslation, merged: Value, counts: Value, initial: float | None) -> Value:
    """Sums over the counts; a segment without rows has the start, or no number."""
    over = t.op.Cast(counts, to=t.dtype(merged))
    column = t.op.Reshape(over, [-1] + [1] * (t.rank(merged) - 1))
    none = t.op.Equal(column, t.op.like(0, merged))
    empty = t.op.like(np.nan if initial is None else initial, merged)
    return t.op.Where(none, empty, t.op.Div(merged, t.op.Where(none, t.op.like(1, merged), column)))


@maps_torch("aten::bincount", error=accumulation())
@recorded
def bincount(t: TorchTranslation, x: Value, weights: Value | None = None, minlength: int = 0) -> Value:
    """As many as the largest number asks for; a sum of weights is a double unless they are float32."""
    numbers = t.int64(x)
    largest = t.op.ReduceMax(t.op.Concat(numbers, [-1], axis=0), [0], keepdims=1)
    count = t.op.Max(t.op.Add(largest, 1), minlength)
    if weights is None:
        terms = t.op.Expand(t.op.const(np.array(1, np.int64)), t.op.Shape(numbers))
    else:
        terms = weights if t.dtype(weights) == _D.FLOAT else t.cast(weights, _D.DOUBLE)
    start = t.op.Expand(t.op.like(0, terms), count)
    return t.op.ScatterND(start, t.op.Unsqueeze(numbers, [1]), terms, reduction="add")
