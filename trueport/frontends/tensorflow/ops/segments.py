"""Sums, products and extremes of rows that belong together."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_TERMS, BITWISE, accumulation
from trueport.formulas.indexing.indices import gathered
from trueport.formulas.indexing.segments import counted, merged, row_count, segments
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.ir.dtypes import numpy_dtype
from trueport.mapping.declare import maps

__all__: list[str] = []

_GRADIENTS = {"sparse_gradient": "used in training only"}


@maps("SegmentSum", domain=TF, error=accumulation(against=AGAINST_TERMS))
def segment_sum(t: Translation, data: ir.Value, segment_ids: ir.Value) -> ir.Value:
    return segments(t, data, segment_ids, _last(t, segment_ids), "add", 0)


@maps("SegmentProd", domain=TF, error=accumulation())
def segment_prod(t: Translation, data: ir.Value, segment_ids: ir.Value) -> ir.Value:
    return segments(t, data, segment_ids, _last(t, segment_ids), "mul", 1)


@maps("SegmentMean", domain=TF, error=accumulation(against=AGAINST_TERMS))
def segment_mean(t: Translation, data: ir.Value, segment_ids: ir.Value) -> ir.Value:
    count = _last(t, segment_ids)
    total = segments(t, data, segment_ids, count, "add", 0)
    return t.op.Div(total, counted(t, segment_ids, count, data))


@maps("SegmentMax", domain=TF, fidelity=BITWISE)
def segment_max(t: Translation, data: ir.Value, segment_ids: ir.Value) -> ir.Value:
    return _extreme(t, data, segment_ids, "max")


@maps("SegmentMin", domain=TF, fidelity=BITWISE)
def segment_min(t: Translation, data: ir.Value, segment_ids: ir.Value) -> ir.Value:
    return _extreme(t, data, segment_ids, "min")


def _extreme(t: Translation, data: ir.Value, rows: ir.Value, how: str) -> ir.Value:
    # Started from one of each segment's own rows: a segment of none is 0, which is no extreme's neutral number.
    some = segments(t, data, rows, _last(t, rows), "none", 0)
    return merged(t, some, t.int64(rows), data, how)


def _last(t: Translation, rows: ir.Value) -> ir.Value:
    known = t.output_shape()
    if known is not None and known[0] is not None:
        return t.op.const(np.array([known[0]], np.int64))
    return row_count(t, t.int64(rows))


@maps("UnsortedSegmentSum", domain=TF, error=accumulation(against=AGAINST_TERMS))
def unsorted_segment_sum(t: Translation, data: ir.Value, segment_ids: ir.Value, num_segments: ir.Value) -> ir.Value:
    return _unsorted(t, data, segment_ids, num_segments, "add", 0)


@maps("UnsortedSegmentProd", domain=TF, error=accumulation())
def unsorted_segment_prod(t: Translation, data: ir.Value, segment_ids: ir.Value, num_segments: ir.Value) -> ir.Value:
    return _unsorted(t, data, segment_ids, num_segments, "mul", 1)


@maps("UnsortedSegmentMax", domain=TF, fidelity=BITWISE)
def unsorted_segment_max(t: Translation, data: ir.Value, segment_ids: ir.Value, num_segments: ir.Value) -> ir.Value:
    return _unsorted(t, data, segment_ids, num_segments, "max", _limits(t, data).min)


@maps("UnsortedSegmentMin", domain=TF, fidelity=BITWISE)
def unsorted_segment_min(t: Translation, data: ir.Value, segment_ids: ir.Value, num_segments: ir.Value) -> ir.Value:
    return _unsorted(t, data, segment_ids, num_segments, "min", _limits(t, data).max)


def _unsorted(t: Translation, data: ir.Value, rows: ir.Value, count: ir.Value, how: str, empty: Any) -> ir.Value:
    return segments(t, data, rows, _vector(t, count), how, empty, drop=True)


def _vector(t: Translation, count: ir.Value) -> ir.Value:
    known = t.static(count)
    wide = t.int64(count)
    return t.op.Reshape(wide, [1]) if known is None else t.op.const(known.reshape(1).astype(np.int64))


def _limits(t: Translation, value: ir.Value) -> Any:
    kind = numpy_dtype(t.dtype(value))
    return ml_dtypes.finfo(kind) if t.dtype(value).is_floating_point() else np.iinfo(kind)


@maps("SparseSegmentSum", domain=TF, error=accumulation(against=AGAINST_TERMS), ignores=_GRADIENTS)
def sparse_segment_sum(t: Translation, data: ir.Value, indices: ir.Value, segment_ids: ir.Value) -> ir.Value:
    return _sparse(t, data, indices, segment_ids, _last(t, segment_ids))


@maps("SparseSegmentMean", domain=TF, error=accumulation(against=AGAINST_TERMS), ignores=_GRADIENTS)
def sparse_segment_mean(t: Translation, data: ir.Value, indices: ir.Value, segment_ids: ir.Value) -> ir.Value:
    count = _last(t, segment_ids)
    return t.op.Div(_sparse(t, data, indices, segment_ids, count), counted(t, segment_ids, count, data))


@maps("SparseSegmentSqrtN", domain=TF, error=accumulation(against=AGAINST_TERMS), ignores=_GRADIENTS)
def sparse_segment_sqrt_n(t: Translation, data: ir.Value, indices: ir.Value, segment_ids: ir.Value) -> ir.Value:
    count = _last(t, segment_ids)
    return t.op.Div(_sparse(t, data, indices, segment_ids, count), t.op.Sqrt(counted(t, segment_ids, count, data)))


@maps("SparseSegmentSumWithNumSegments", domain=TF, error=accumulation(against=AGAINST_TERMS), ignores=_GRADIENTS)
def sparse_segment_sum_of(
    t: Translation, data: ir.Value, indices: ir.Value, segment_ids: ir.Value, num_segments: ir.Value
) -> ir.Value:
    return _sparse(t, data, indices, segment_ids, _vector(t, num_segments))


@maps("SparseSegmentMeanWithNumSegments", domain=TF, error=accumulation(against=AGAINST_TERMS), ignores=_GRADIENTS)
def sparse_segment_mean_of(
    t: Translation, data: ir.Value, indices: ir.Value, segment_ids: ir.Value, num_segments: ir.Value
) -> ir.Value:
    count = _vector(t, num_segments)
    return t.op.Div(_sparse(t, data, indices, segment_ids, count), counted(t, segment_ids, count, data))


@maps("SparseSegmentSqrtNWithNumSegments", domain=TF, error=accumulation(against=AGAINST_TERMS), ignores=_GRADIENTS)
def sparse_segment_sqrt_n_of(
    t: Translation, data: ir.Value, indices: ir.Value, segment_ids: ir.Value, num_segments: ir.Value
) -> ir.Value:
    count = _vector(t, num_segments)
    return t.op.Div(_sparse(t, data, indices, segment_ids, count), t.op.Sqrt(counted(t, segment_ids, count, data)))


def _sparse(t: Translation, data: ir.Value, indices: ir.Value, rows: ir.Value, count: ir.Value) -> ir.Value:
    return segments(t, gathered(t, data, indices, 0), rows, count, "add", 0)
