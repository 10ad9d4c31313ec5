"""How often numbers come: dense counts, sparse counts, histograms."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_TERMS, BITWISE, accumulation
from trueport.formulas.indexing.indices import joined, limited, only, positions, shaped, size_of
from trueport.formulas.indexing.segments import filled, merged, row_count, row_numbers
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Bincount", domain=TF, error=accumulation(against=AGAINST_TERMS))
def bincount(t: Translation, arr: ir.Value, size: ir.Value, weights: ir.Value) -> ir.Value:
    return _bins(t, t.op.Reshape(t.int64(arr), [-1]), size, weights)


@maps("DenseBincount", domain=TF, error=accumulation(against=AGAINST_TERMS))
def dense_bincount(
    t: Translation, input: ir.Value, size: ir.Value, weights: ir.Value, *, binary_output: bool
) -> ir.Value:
    bins = _vector(t, size)
    wide = joined(t, [*(size_of(t, input, 0) for _ in range(t.rank(input) - 1)), t.op.Add(bins, 1)])
    place = t.op.Min(t.int64(input), bins)
    updates, how = _weighted(t, place, weights, binary_output)
    found = t.op.ScatterElements(filled(t, 0, t.output_type(), wide), place, updates, axis=-1, reduction=how)
    return t.op.Slice(found, [0], bins, [-1])


@maps("RaggedBincount", domain=TF, error=accumulation(against=AGAINST_TERMS))
def ragged_bincount(
    t: Translation, splits: ir.Value, values: ir.Value, size: ir.Value, weights: ir.Value, *, binary_output: bool
) -> ir.Value:
    rows = row_numbers(t, splits, size_of(t, values, 0))
    count = t.op.Sub(size_of(t, splits, 0), 1)
    return _bins(t, t.int64(values), size, weights, rows, count, binary=binary_output)


@maps("SparseBincount", domain=TF, error=accumulation(against=AGAINST_TERMS))
def sparse_bincount(
    t: Translation,
    indices: ir.Value,
    values: ir.Value,
    dense_shape: ir.Value,
    size: ir.Value,
    weights: ir.Value,
    *,
    binary_output: bool,
) -> ir.Value:
    if t.dims(dense_shape)[0] == 1:
        return _bins(t, t.int64(values), size, weights, binary=binary_output)
    rows, count = t.op.Gather(indices, 0, axis=1), t.op.Slice(dense_shape, [0], [1], [0])
    return _bins(t, t.int64(values), size, weights, rows, count, binary=binary_output)


def _bins(
    t: Translation,
    values: ir.Value,
    size: ir.Value,
    weights: ir.Value,
    rows: ir.Value | None = None,
    count: ir.Value | None = None,
    *,
    binary: bool = False,
) -> ir.Value:
    """The weights of equal values added up, in rows where there are; values from ``size`` on go to a bin cut off."""
    bins = _vector(t, size)
    wide = t.op.Add(bins, 1)
    place = t.op.Min(values, bins)
    total = wide
    if rows is not None and count is not None:
        place = t.op.Add(t.op.Mul(rows, wide), place)
        total = t.op.Mul(count, wide)
    start = filled(t, 0, t.output_type(), total)
    updates, how = _weighted(t, place, weights, binary)
    found = merged(t, start, place, updates, how)
    if rows is None:
        return t.op.Slice(found, [0], bins, [0])
    table = t.op.Reshape(found, joined(t, [t.op.const(np.array([-1], np.int64)), wide]))
    return t.op.Slice(table, [0], bins, [1])


def _weighted(t: Translation, places: ir.Value, weights: ir.Value, binary: bool) -> tuple[ir.Value, str]:
    """What is put at each place, and how."""
    if binary or 0 in t.dims(weights):
        return filled(t, 1, t.dtype(weights), t.op.Shape(places)), "none" if binary else "add"
    same = t.rank(weights) == t.rank(places)
    return weights if same else shaped(t, weights, t.op.Shape(places)), "add"


def _vector(t: Translation, size: ir.Value) -> ir.Value:
    known = limited(t, size)
    return t.op.Reshape(t.int64(size), [1]) if known is None else t.op.const(known.reshape(1).astype(np.int64))


def _dense_rows(t: Translation, table: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The row of each element of a matrix, and how many rows there are."""
    count = size_of(t, table, 0)
    rows = t.op.Expand(t.op.Unsqueeze(positions(t, count), [1]), t.op.Shape(table))
    return t.op.Reshape(rows, [-1]), count


Sparse = tuple[ir.Value, ir.Value, ir.Value]


@maps("DenseCountSparseOutput", domain=TF, error=accumulation(against=AGAINST_TERMS))
def dense_count(
    t: Translation, values: ir.Value, weights: ir.Value, *, minlength: int, maxlength: int, binary_output: bool
) -> Sparse:
    limits = (minlength, maxlength)
    if t.rank(values) == 1:
        return _sparse_counts(t, t.int64(values), weights, limits, binary=binary_output)
    rows, count = _dense_rows(t, values)
    flat = t.op.Reshape(t.int64(values), [-1])
    return _sparse_counts(t, flat, weights, limits, rows, count, binary=binary_output)


@maps("SparseCountSparseOutput", domain=TF, error=accumulation(against=AGAINST_TERMS))
def sparse_count(
    t: Translation,
    indices: ir.Value,
    values: ir.Value,
    dense_shape: ir.Value,
    weights: ir.Value,
    *,
    minlength: int,
    maxlength: int,
    binary_output: bool,
) -> Sparse:
    limits = (minlength, maxlength)
    if t.dims(dense_shape)[0] == 1:
        return _sparse_counts(t, t.int64(values), weights, limits, binary=binary_output)
    rows, count = t.op.Gather(indices, 0, axis=1), t.op.Slice(dense_shape, [0], [1], [0])
    return _sparse_counts(t, t.int64(values), weights, limits, rows, count, binary=binary_output)


@maps("RaggedCountSparseOutput", domain=TF, error=accumulation(against=AGAINST_TERMS))
def ragged_count(
    t: Translation,
    splits: ir.Value,
    values: ir.Value,
    weights: ir.Value,
    *,
    minlength: int,
    maxlength: int,
    binary_output: bool,
) -> Sparse:
    rows = row_numbers(t, splits, size_of(t, values, 0))
    count = t.op.Sub(size_of(t, splits, 0), 1)
    return _sparse_counts(t, t.int64(values), weights, (minlength, maxlength), rows, count, binary=binary_output)


def _sparse_counts(
    t: Translation,
    values: ir.Value,
    weights: ir.Value,
    limits: tuple[int, int],
    rows: ir.Value | None = None,
    count: ir.Value | None = None,
    *,
    binary: bool,
) -> Sparse:
    """Only the counts that are not 0, sorted by row and value."""
    added, how = _weighted(t, values, weights, binary)
    least, most = limits
    if most >= 0:
        keep = t.op.Less(values, most)
        values, added = only(t, values, keep), only(t, added, keep)
        rows = None if rows is None else only(t, rows, keep)
        width: ir.Value = t.op.const(np.array([most], np.int64))
    else:
        width = t.op.Max(row_count(t, values), t.op.const(np.array([max(least, 0)], np.int64)))
    place = values if rows is None else t.op.Add(t.op.Mul(rows, width), values)
    keys, _, inverse, _ = t.op.several(4).Unique(place, sorted=1)
    found = merged(t, filled(t, 0, t.dtype(weights), t.op.Shape(keys)), inverse, added, how)
    made = t.cast(found, t.output_type(1))
    if rows is None or count is None:
        return t.op.Unsqueeze(keys, [1]), made, width
    pair = (t.op.Unsqueeze(part, [1]) for part in (t.op.Div(keys, width), t.op.Mod(keys, width)))
    return t.op.Concat(*pair, axis=1), made, joined(t, [count, width])


@maps("HistogramFixedWidth", domain=TF, fidelity=BITWISE)
def histogram_fixed_width(t: Translation, values: ir.Value, value_range: ir.Value, nbins: ir.Value) -> ir.Value:
    double = ir.DataType.DOUBLE
    low, high = t.op.Gather(value_range, 0), t.op.Gather(value_range, 1)
    bins = _vector(t, nbins)
    step = t.op.Div(t.cast(t.op.Sub(high, low), double), t.cast(bins, double))
    above = t.cast(t.op.Sub(t.op.Max(values, low), low), double)
    place = t.op.Min(t.op.Div(above, step), t.cast(t.op.Sub(bins, 1), double))
    numbers = t.op.Reshape(t.op.Cast(place, to=ir.DataType.INT64), [-1])
    ones = filled(t, 1, t.output_type(), t.op.Shape(numbers))
    return merged(t, filled(t, 0, t.output_type(), bins), numbers, ones, "add")
