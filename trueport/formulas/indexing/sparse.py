"""Sparse tensors as their parts: rows of indices, a value for each, the dense shape."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from trueport.formulas.indexing.indices import joined, only, shaped, size_of, within
from trueport.formulas.indexing.segments import linear, merged
from trueport.formulas.writer import Writer

__all__ = ["Sparse", "added", "cut", "dim", "order_of", "rank_of", "stretched", "union", "unraveled"]

Sparse = tuple[ir.Value, ir.Value, ir.Value]


def rank_of(t: Writer, indices: ir.Value, shape: ir.Value) -> int:
    """The number of dims, which must be known."""
    for found in (t.dims(shape)[0], t.dims(indices)[-1]):
        if found is not None:
            return found
    raise t.fail("a sparse tensor's rank is not known", "give its shape a fixed length")


def dim(t: Writer, shape: ir.Value, axis: int) -> ir.Value:
    """One dim of a shape, as a vector of one."""
    known = t.static(shape)
    if known is not None:
        return t.op.const(known[[axis]].astype(np.int64))
    return t.op.Gather(shape, [axis])


def order_of(t: Writer, keys: ir.Value) -> ir.Value:
    """The places of a vector's elements from the smallest on; equal ones as they come."""
    _, places = t.op.several(2).TopK(keys, size_of(t, keys, 0), axis=0, largest=0)
    return places


def unraveled(t: Writer, keys: ir.Value, dims: Sequence[ir.Value]) -> ir.Value:
    """Numbers in the order of memory as rows of indices: the opposite of ``linear``."""
    columns = []
    rest = keys
    for size in reversed(dims[1:]):
        columns.append(t.op.Unsqueeze(t.op.Mod(rest, size), [1]))
        rest = t.op.Div(rest, size)
    columns.append(t.op.Unsqueeze(rest, [1]))
    return t.op.Concat(*reversed(columns), axis=1) if len(columns) > 1 else columns[0]


def cut(t: Writer, indices: ir.Value, values: ir.Value, start: ir.Value, size: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The elements in a box, counted from its corner."""
    moved = t.op.Sub(indices, start)
    inside = t.op.Cast(within(t, moved, size), to=ir.DataType.INT32)
    keep = t.op.Cast(t.op.ReduceMin(inside, [1], keepdims=0), to=ir.DataType.BOOL)
    return only(t, moved, keep), only(t, values, keep)


def stretched(t: Writer, dense: ir.Value, shape: ir.Value) -> ir.Value:
    """A dense tensor broadcast to a sparse one's shape."""
    known = t.static(shape)
    if known is not None and list(known) == list(t.dims(dense)):
        return dense
    return t.op.Expand(dense, shape)


def added(t: Writer, dense: ir.Value, indices: ir.Value, values: ir.Value) -> ir.Value:
    """A dense tensor and a sparse one, whose indices may come more than once."""
    shape = joined(t, [size_of(t, dense, axis) for axis in range(t.rank(dense))])
    found = merged(t, t.op.Reshape(dense, [-1]), linear(t, indices, shape), values, "add")
    return shaped(t, found, shape)


def union(
    t: Writer, first: ir.Value, second: ir.Value, shape: ir.Value
) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value]:
    """The rows of indices of both, once each and in order; where those of each went; how often each row comes."""
    rows = t.op.Concat(first, second, axis=0)
    _, origins, places, counts = t.op.several(4).Unique(linear(t, rows, shape), sorted=1)
    middle = size_of(t, first, 0)
    left = t.op.Slice(places, [0], middle, [0])
    right = t.op.Slice(places, middle, [np.iinfo(np.int64).max], [0])
    return t.op.Gather(rows, origins), left, right, counts
