"""Rows of one segment made one: by their lengths or their ends."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import accumulation
from trueport.frontends.torch.recording import TorchTranslation, recorded
from trueport.frontends.torch.registry import maps_torch

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
        raise t.fail("segments along an inner axis, or given by offsets", "give lengths along the first axis")
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
    if reduce != "mean":
        made: Value = merged
        return made
    over = t.op.Cast(counts, to=t.dtype(data))
    column = t.op.Reshape(over, [-1] + [1] * (t.rank(data) - 1))
    none = t.op.Equal(column, t.op.like(0, data))
    empty = t.op.like(np.nan if initial is None else initial, data)
    made = t.op.Where(none, empty, t.op.Div(merged, t.op.Where(none, t.op.like(1, data), column)))
    return made
