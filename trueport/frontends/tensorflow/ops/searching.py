"""Finding: what differs, what is missing, where a number belongs among sorted ones."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.formulas.indexing.indices import integer_of, only, within
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Unique", domain=TF, fidelity=BITWISE)
def unique(t: Translation, x: ir.Value) -> tuple[ir.Value, ...]:
    return _unique(t, x, None)[:2]


@maps("UniqueWithCounts", domain=TF, fidelity=BITWISE)
def unique_with_counts(t: Translation, x: ir.Value) -> tuple[ir.Value, ...]:
    return _unique(t, x, None)


@maps("UniqueV2", domain=TF, fidelity=BITWISE)
def unique_v2(t: Translation, x: ir.Value, axis: ir.Value) -> tuple[ir.Value, ...]:
    return _unique(t, x, _axis(t, axis))[:2]


@maps("UniqueWithCountsV2", domain=TF, fidelity=BITWISE)
def unique_with_counts_v2(t: Translation, x: ir.Value, axis: ir.Value) -> tuple[ir.Value, ...]:
    return _unique(t, x, _axis(t, axis))


def _axis(t: Translation, axis: ir.Value) -> int | None:
    return integer_of(t, axis, "axis") if t.need(axis, "axis").size else None


def _unique(t: Translation, x: ir.Value, axis: int | None) -> tuple[ir.Value, ...]:
    """Values in the order in which they come first, where each stands, how often it comes."""
    values, _, places, counts = t.op.several(4).Unique(x, axis=axis, sorted=0)
    index = t.output_type(1)
    return values, t.cast(places, index), t.cast(counts, index)


@maps("ListDiff", domain=TF, fidelity=BITWISE)
def list_diff(t: Translation, x: ir.Value, y: ir.Value) -> tuple[ir.Value, ir.Value]:
    same = t.op.Equal(t.op.Unsqueeze(x, [1]), t.op.Unsqueeze(y, [0]))
    lone = t.op.Equal(t.op.ReduceSum(t.op.Cast(same, to=ir.DataType.INT64), [1], keepdims=0), 0)
    places = t.op.Squeeze(t.op.NonZero(lone), [0])
    return only(t, x, lone), t.cast(places, t.output_type(1))


@maps("LowerBound", domain=TF, fidelity=BITWISE)
def lower_bound(t: Translation, sorted_inputs: ir.Value, values: ir.Value) -> ir.Value:
    before = t.op.Less(t.op.Unsqueeze(sorted_inputs, [1]), t.op.Unsqueeze(values, [2]))
    return _count(t, before, t.output_type())


@maps("UpperBound", domain=TF, fidelity=BITWISE)
def upper_bound(t: Translation, sorted_inputs: ir.Value, values: ir.Value) -> ir.Value:
    # Not "at most", which is false for NaN: TensorFlow puts it behind all.
    after = t.op.Less(t.op.Unsqueeze(values, [2]), t.op.Unsqueeze(sorted_inputs, [1]))
    return _count(t, t.op.Not(after), t.output_type())


@maps("Bucketize", domain=TF, fidelity=BITWISE)
def bucketize(t: Translation, input: ir.Value, *, boundaries: list[float]) -> ir.Value:
    # C++ compares integers with the boundaries' floats as floats.
    numbers = input if t.dtype(input).is_floating_point() else t.op.Cast(input, to=ir.DataType.FLOAT)
    limits = t.op.like(np.array(boundaries, np.float32), numbers)
    return _count(t, t.op.Not(t.op.Less(t.op.Unsqueeze(numbers, [-1]), limits)), t.output_type())


def _count(t: Translation, truth: ir.Value, dtype: ir.DataType) -> ir.Value:
    """How many are true along the last axis."""
    return t.op.ReduceSum(t.op.Cast(truth, to=dtype), [t.rank(truth) - 1], keepdims=0)


@maps("NthElement", domain=TF, fidelity=BITWISE)
def nth_element(t: Translation, input: ir.Value, n: ir.Value, *, reverse: bool) -> ir.Value:
    place = t.int64(n)
    known = t.static(n)
    count = t.op.Reshape(t.op.Add(place, 1), [1]) if known is None else t.op.const(np.array([int(known) + 1], np.int64))
    values, _ = t.op.several(2).TopK(input, count, largest=int(reverse))
    return t.op.Gather(values, place, axis=-1)


@maps("InTopK", domain=TF, fidelity=BITWISE)
def in_top_k(t: Translation, predictions: ir.Value, targets: ir.Value, *, k: int) -> ir.Value:
    return _in_top(t, predictions, targets, t.op.const(np.int64(k)))


@maps("InTopKV2", domain=TF, fidelity=BITWISE)
def in_top_k_v2(t: Translation, predictions: ir.Value, targets: ir.Value, k: ir.Value) -> ir.Value:
    return _in_top(t, predictions, targets, t.int64(k))


def _in_top(t: Translation, predictions: ir.Value, targets: ir.Value, k: ir.Value) -> ir.Value:
    """False too for a target that is no class, and where any prediction is not finite."""
    places = t.int64(targets)
    valid = within(t, places, t.op.Shape(predictions, start=1))
    own = t.op.GatherElements(predictions, t.op.Unsqueeze(t.op.Where(valid, places, 0), [1]), axis=1)
    better = _count(t, t.op.Greater(predictions, own), ir.DataType.INT64)
    endless = t.op.Not(t.op.Less(t.op.Abs(predictions), t.op.like(np.inf, predictions)))
    finite = t.op.Equal(_count(t, endless, ir.DataType.INT64), 0)
    return t.op.And(t.op.And(valid, finite), t.op.Less(better, k))
