"""Rows that meet: values that are added, multiplied or compared into the rows that their numbers name.

ONNX's ScatterND says the same in fewer nodes, but ONNX Runtime runs it on many threads that overwrite each other
where rows meet; its ScatterElements is safe.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.formulas.indexing.indices import joined, never_negative, shaped, size_of
from trueport.formulas.writer import Writer
from trueport.ir.dtypes import numpy_dtype

__all__ = ["HALVES", "counted", "filled", "linear", "merged", "row_count", "row_numbers", "segments"]

HALVES = {ir.DataType.FLOAT16, ir.DataType.BFLOAT16}
"""ONNX Runtime's scatters take these types, but don't add, multiply or compare in them."""


def filled(t: Writer, number: Any, dtype: ir.DataType, shape: ir.Value) -> ir.Value:
    """A tensor of one number."""
    return t.op.Expand(t.op.const(np.array(number, numpy_dtype(dtype))), shape)


def merged(t: Writer, start: ir.Value, rows: ir.Value, updates: ir.Value, how: str = "none") -> ir.Value:
    """``start`` with each row of ``updates`` worked into the row that ``rows``, a vector, names for it."""
    if t.dtype(start) in HALVES and how != "none":
        wide = ir.DataType.FLOAT
        found = merged(t, t.op.Cast(start, to=wide), rows, t.op.Cast(updates, to=wide), how)
        return t.cast(found, t.dtype(start))
    inner = t.rank(updates) - 1
    where = rows if not inner else t.op.Expand(t.op.Unsqueeze(rows, list(range(1, 1 + inner))), t.op.Shape(updates))
    return t.op.ScatterElements(start, where, updates, axis=0, reduction=how)


def linear(t: Writer, indices: ir.Value, dims: ir.Value) -> ir.Value:
    """Rows of indices (…, k) as numbers in the order of memory, for the first k of ``dims``."""
    depth = t.dims(indices)[-1]
    if depth is None:
        raise t.fail("the length of an index is not known", "give the indices' last dim a fixed size")
    known = t.static(dims)
    total: ir.Value
    if depth == 1:
        total = t.op.Squeeze(indices, [-1])
    elif known is not None:
        strides = np.cumprod([1, *known[depth - 1 : 0 : -1]])[::-1].astype(np.int64)
        total = t.op.ReduceSum(t.op.Mul(indices, strides), [t.rank(indices) - 1], keepdims=0)
    else:
        total = t.op.Gather(indices, 0, axis=-1)
        for place in range(1, depth):
            total = t.op.Add(t.op.Mul(total, t.op.Gather(dims, place)), t.op.Gather(indices, place, axis=-1))
    return total


def row_count(t: Writer, rows: ir.Value) -> ir.Value:
    """One more than the largest row number, as a vector of one: none at all make 0."""
    largest = t.op.ReduceMax(t.op.Concat(t.op.const(np.array([-1], np.int64)), rows, axis=0), [0], keepdims=1)
    return t.op.Add(largest, 1)


def row_numbers(t: Writer, splits: ir.Value, count: ir.Value) -> ir.Value:
    """The row of each of ``count`` values (a vector of one) that are cut at ``splits``."""
    ends = t.op.Slice(t.int64(splits), [1], [np.iinfo(np.int64).max], [0])
    marks = filled(t, 0, ir.DataType.INT64, t.op.Add(count, 1))
    steps = merged(t, marks, ends, filled(t, 1, ir.DataType.INT64, t.op.Shape(ends)), "add")
    return t.op.Slice(t.op.CumSum(steps, np.int64(0)), [0], count, [0])


def segments(
    t: Writer, data: ir.Value, rows: ir.Value, count: ir.Value, how: str, empty: Any, *, drop: bool = False
) -> ir.Value:
    """``count`` (a vector of one) rows of ``data`` brought together; ``drop``: negative row numbers belong to none."""
    own = t.rank(rows)
    inner = [size_of(t, data, axis) for axis in range(own, t.rank(data))]
    numbers, values = t.int64(rows), data
    if own != 1:
        numbers = t.op.Reshape(numbers, [-1])
        values = shaped(t, data, joined(t, [size_of(t, numbers, 0), *inner]))
    dropping = drop and not never_negative(t, rows)
    made = count
    if dropping:  # into one row more, which is cut off
        numbers = t.op.Where(t.op.Less(numbers, 0), count, numbers)
        made = t.op.Add(count, 1)
    found = merged(t, filled(t, empty, t.dtype(data), joined(t, [made, *inner])), numbers, values, how)
    return t.op.Slice(found, [0], count, [0]) if dropping else found


def counted(t: Writer, rows: ir.Value, count: ir.Value, like: ir.Value) -> ir.Value:
    """How many values each row brings together, as a column that divides them; 1 where there is none."""
    ones = filled(t, 1, t.dtype(like), t.op.Shape(rows))
    found = t.op.Max(segments(t, ones, rows, count, "add", 0), t.op.like(1, like))
    inner = t.rank(like) - t.rank(rows)
    return t.op.Unsqueeze(found, list(range(1, 1 + inner))) if inner else found
