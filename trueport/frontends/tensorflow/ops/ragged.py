"""Ragged tensors, which are their values and the splits between rows."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE, accumulation
from trueport.formulas.indexing.indices import joined, only, positions, size_of
from trueport.formulas.indexing.partitions import (
    Level,
    coordinates,
    level_of_rows,
    level_of_splits,
    longest,
    ranges,
    splits_of,
)
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.ir.dtypes import FLOATS
from trueport.mapping.declare import maps

__all__: list[str] = []

_END = np.iinfo(np.int64).max


@maps("RaggedRange", domain=TF, error=accumulation())
def ragged_range(
    t: Translation, starts: ir.Value, limits: ir.Value, deltas: ir.Value, *, Tsplits: ir.DataType
) -> tuple[ir.Value, ir.Value]:
    bounds = [value if t.rank(value) else t.op.Reshape(value, [1]) for value in (starts, limits, deltas)]
    shape = t.op.Max(*(size_of(t, value, 0) for value in bounds))
    start, limit, delta = (t.op.Expand(value, shape) for value in bounds)
    splits = splits_of(t, _steps(t, start, limit, delta))
    level = level_of_splits(t, splits)
    first, step = (t.op.Gather(value, level.rows, axis=0) for value in (start, delta))
    values = t.op.Add(first, t.op.Mul(t.cast(level.places, t.dtype(starts)), step))
    return t.cast(splits, Tsplits), values


def _steps(t: Translation, start: ir.Value, limit: ir.Value, delta: ir.Value) -> ir.Value:
    """How many numbers there are before the limit: none when the step leads away from it."""
    if t.dtype(start) in FLOATS:
        count = t.cast(t.op.Ceil(t.op.Div(t.op.Sub(limit, start), delta)), ir.DataType.INT64)
    else:
        step = t.int64(delta)
        distance = t.op.Sub(t.int64(limit), t.int64(start))
        # Rounded up: one less than a step's size is added, away from zero, and ONNX rounds towards zero.
        count = t.op.Div(t.op.Add(distance, t.op.Sub(step, t.op.Sign(step))), step)
    return t.op.Max(count, np.array(0, np.int64))


@maps("RaggedGather", domain=TF, fidelity=BITWISE)
def ragged_gather(
    t: Translation,
    params_nested_splits: tuple[ir.Value, ...],
    params_dense_values: ir.Value,
    indices: ir.Value,
    *,
    PARAMS_RAGGED_RANK: int,
    OUTPUT_RAGGED_RANK: int,
) -> list[ir.Value]:
    kind = t.dtype(params_nested_splits[0])
    found = [_uniform(t, indices, axis) for axis in range(t.rank(indices) - 1)]
    rows = t.op.Reshape(t.int64(indices), [-1])
    for splits in params_nested_splits:
        cuts = t.int64(splits)
        begins = t.op.Gather(t.op.Slice(cuts, [0], [-1], [0]), rows, axis=0)
        ends = t.op.Gather(t.op.Slice(cuts, [1], [_END], [0]), rows, axis=0)
        rows, made = ranges(t, begins, t.op.Sub(ends, begins))
        found.append(made)
    return [*(t.cast(splits, kind) for splits in found), t.op.Gather(params_dense_values, rows, axis=0)]


def _uniform(t: Translation, value: ir.Value, axis: int) -> ir.Value:
    """Splits of rows that are all as long as the next dim."""
    outer = t.op.ReduceProd(t.op.Shape(value, start=0, end=axis + 1), [0], keepdims=1)
    return t.op.Mul(positions(t, t.op.Add(outer, 1)), size_of(t, value, axis + 1))


@maps("RaggedTensorToSparse", domain=TF, fidelity=BITWISE)
def ragged_tensor_to_sparse(
    t: Translation, rt_nested_splits: tuple[ir.Value, ...], rt_dense_values: ir.Value, *, RAGGED_RANK: int
) -> tuple[ir.Value, ir.Value, ir.Value]:
    levels = [level_of_splits(t, splits) for splits in rt_nested_splits]
    columns, values = coordinates(t, levels), rt_dense_values
    inner = [size_of(t, values, axis) for axis in range(1, t.rank(values))]
    if inner:
        everywhere = t.op.NonZero(t.op.Expand(np.array(True), t.op.Shape(values)))
        first, *rest = (t.op.Gather(everywhere, axis, axis=0) for axis in range(t.rank(values)))
        columns = [*(t.op.Gather(column, first, axis=0) for column in columns), *rest]
        values = t.op.Reshape(values, [-1])
    indices = t.op.Concat(*(t.op.Unsqueeze(column, [1]) for column in columns), axis=1)
    return indices, values, joined(t, [*_sizes(t, levels), *inner])


def _sizes(t: Translation, levels: list[Level]) -> list[ir.Value]:
    """The dims of the box that holds all values, each a vector of one."""
    return [t.op.Shape(levels[0].lengths), *(longest(t, level) for level in levels)]


@maps("RaggedTensorToTensor", domain=TF, fidelity=BITWISE)
def ragged_tensor_to_tensor(
    t: Translation,
    shape: ir.Value,
    values: ir.Value,
    default_value: ir.Value,
    row_partition_tensors: tuple[ir.Value, ...],
    *,
    row_partition_types: list[str],
) -> ir.Value:
    levels = _levels(t, row_partition_tensors, row_partition_types)
    columns = coordinates(t, levels)
    wanted = t.static(shape)
    if wanted is None and t.rank(shape) != 0:
        raise t.fail(
            "the shape to fill is computed while the model runs; which dims are open must be known",
            "make it a constant",
        )
    asked = [] if wanted is None or wanted.ndim == 0 else [int(dim) for dim in wanted]
    fixed = {axis: dim for axis, dim in enumerate(asked[: len(columns)]) if dim >= 0}
    sizes = _sizes(t, levels)
    for axis, dim in fixed.items():
        sizes[axis] = t.op.const(np.array([dim], np.int64))
    if fixed:
        # Values outside the shape are left out.
        inside = [t.op.Less(columns[axis], sizes[axis]) for axis in fixed]
        mask = inside[0]
        for other in inside[1:]:
            mask = t.op.And(mask, other)
        columns, values = [only(t, column, mask) for column in columns], only(t, values, mask)
    inner = [size_of(t, values, axis) for axis in range(1, t.rank(values))]
    start = t.op.Expand(default_value, joined(t, [*sizes, *inner]))
    return t.op.ScatterND(start, t.op.Concat(*(t.op.Unsqueeze(c, [1]) for c in columns), axis=1), values)


def _levels(t: Translation, tensors: tuple[ir.Value, ...], kinds: list[str]) -> list[Level]:
    """Each level by its splits, or by the row of each value: then the first tensor says how many rows there are."""
    found: list[Level] = []
    count = None
    for tensor, kind in zip(tensors, kinds, strict=True):
        if kind == "ROW_SPLITS":
            found.append(level_of_splits(t, tensor))
        elif kind == "FIRST_DIM_SIZE":
            count = t.op.Reshape(t.int64(tensor), [1])
        else:
            rows = t.op.Shape(found[-1].rows) if found else count
            assert kind == "VALUE_ROWIDS" and rows is not None, "TensorFlow traces no other kind, and none without"
            found.append(level_of_rows(t, tensor, rows))
    return found


@maps("RaggedFillEmptyRows", domain=TF, fidelity=BITWISE)
def ragged_fill_empty_rows(
    t: Translation, value_rowids: ir.Value, values: ir.Value, nrows: ir.Value, default_value: ir.Value
) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value]:
    level = level_of_rows(t, value_rowids, t.op.Reshape(t.int64(nrows), [1]))
    empty = t.op.Equal(level.lengths, np.array(0, np.int64))
    added = t.op.CumSum(t.int64(empty), np.int64(0))
    moved = t.op.Add(positions(t, size_of(t, value_rowids, 0)), t.op.Gather(added, level.rows, axis=0))
    splits = splits_of(t, t.op.Max(level.lengths, np.array(1, np.int64)))
    rows = level_of_splits(t, splits).rows
    filled = t.op.Expand(default_value, t.op.Shape(rows))
    return rows, t.op.ScatterElements(filled, moved, values, axis=0), empty, moved
