"""Sparse tensors: made, ordered, cut, put together."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.formulas.indexing.indices import integer_of, positions, size_of
from trueport.formulas.indexing.segments import filled, linear, merged
from trueport.formulas.indexing.sparse import Sparse, cut, dim, order_of, rank_of, unraveled
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps(
    "SparseToDense",
    domain=TF,
    fidelity=BITWISE,
    ignores={"validate_indices": "indices that TensorFlow takes are written alike"},
)
def sparse_to_dense(
    t: Translation,
    sparse_indices: ir.Value,
    output_shape: ir.Value,
    sparse_values: ir.Value,
    default_value: ir.Value,
) -> ir.Value:
    start = t.op.Expand(default_value, t.int64(output_shape))
    places = t.int64(sparse_indices) if t.rank(sparse_indices) == 2 else t.op.Reshape(t.int64(sparse_indices), [-1, 1])
    values = sparse_values if t.rank(sparse_values) else t.op.Expand(sparse_values, t.op.Shape(places, end=1))
    return t.op.ScatterND(start, places, values)


@maps("SparseReorder", domain=TF, fidelity=BITWISE)
def sparse_reorder(
    t: Translation, input_indices: ir.Value, input_values: ir.Value, input_shape: ir.Value
) -> tuple[ir.Value, ir.Value]:
    return _ordered(t, input_indices, input_values, input_shape)


def _ordered(t: Translation, indices: ir.Value, values: ir.Value, shape: ir.Value) -> tuple[ir.Value, ir.Value]:
    order = order_of(t, linear(t, indices, shape))
    return t.op.Gather(indices, order), t.op.Gather(values, order)


@maps("SparseReshape", domain=TF, fidelity=BITWISE)
def sparse_reshape(
    t: Translation, input_indices: ir.Value, input_shape: ir.Value, new_shape: ir.Value
) -> tuple[ir.Value, ir.Value]:
    rank = t.dims(new_shape)[0]
    if rank is None:
        raise t.fail("the rank of the new shape is not known", "give the new shape a fixed length")
    shape = _completed(t, input_shape, new_shape)
    keys = linear(t, input_indices, input_shape)
    return unraveled(t, keys, [dim(t, shape, axis) for axis in range(rank)]), shape


def _completed(t: Translation, old: ir.Value, new: ir.Value) -> ir.Value:
    """The new shape with its -1, where it has one, worked out."""
    known = t.static(new)
    if known is not None and -1 not in known:
        return new
    open_ = t.op.Equal(new, -1)
    others = t.op.ReduceProd(t.op.Where(open_, 1, new), [0], keepdims=1)
    return t.op.Where(open_, t.op.Div(t.op.ReduceProd(old, [0], keepdims=1), others), new)


@maps("SparseConcat", domain=TF, fidelity=BITWISE)
def sparse_concat(
    t: Translation,
    indices: tuple[ir.Value, ...],
    values: tuple[ir.Value, ...],
    shapes: tuple[ir.Value, ...],
    *,
    concat_dim: int,
) -> Sparse:
    rank = rank_of(t, indices[0], shapes[0])
    axis = np.arange(rank) == concat_dim % rank
    rows, offset = [indices[0]], shapes[0]
    for block, shape in zip(indices[1:], shapes[1:], strict=True):
        rows.append(t.op.Add(block, t.op.Mul(offset, axis.astype(np.int64))))
        offset = t.op.Add(offset, shape)
    shape = t.op.Where(axis, offset, shapes[0])
    return *_ordered(t, t.op.Concat(*rows, axis=0), t.op.Concat(*values, axis=0), shape), shape


@maps("SparseSlice", domain=TF, fidelity=BITWISE)
def sparse_slice(
    t: Translation, indices: ir.Value, values: ir.Value, shape: ir.Value, start: ir.Value, size: ir.Value
) -> Sparse:
    left = t.op.Max(t.op.Min(size, t.op.Sub(shape, start)), t.op.const(np.array([0], np.int64)))
    return *cut(t, indices, values, start, left), left


@maps("SparseSplit", domain=TF, fidelity=BITWISE)
def sparse_split(
    t: Translation, split_dim: ir.Value, indices: ir.Value, values: ir.Value, shape: ir.Value, *, num_split: int
) -> tuple[ir.Value, ...]:
    """Parts of one size, the first ones by one larger where that leaves a rest."""
    rank = rank_of(t, indices, shape)
    axis = np.arange(rank) == integer_of(t, split_dim, "split_dim") % rank
    length = dim(t, shape, int(np.argmax(axis)))
    each, rest = t.op.Div(length, num_split), t.op.Mod(length, num_split)
    parts = []
    for number in range(num_split):
        begin = t.op.Add(t.op.Mul(each, number), t.op.Min(rest, np.array([number])))
        size = t.op.Add(each, t.cast(t.op.Greater(rest, number), ir.DataType.INT64))
        box = t.op.Where(axis, size, shape)
        parts.append((*cut(t, indices, values, t.op.Where(axis, begin, 0), box), box))
    return tuple(part[place] for place in range(3) for part in parts)


@maps("SparseFillEmptyRows", domain=TF, fidelity=BITWISE)
def sparse_fill_empty_rows(
    t: Translation, indices: ir.Value, values: ir.Value, dense_shape: ir.Value, default_value: ir.Value
) -> tuple[ir.Value, ...]:
    rank = rank_of(t, indices, dense_shape)
    count = dim(t, dense_shape, 0)
    rows = t.op.Gather(indices, 0, axis=1)
    empty = filled(t, 1, ir.DataType.INT32, count)
    empty = t.op.Cast(merged(t, empty, rows, filled(t, 0, ir.DataType.INT32, t.op.Shape(rows))), to=ir.DataType.BOOL)
    missing = t.op.Transpose(t.op.NonZero(empty), perm=[1, 0])
    fillers = t.op.Pad(missing, [0, 0, 0, rank - 1]) if rank > 1 else missing
    order = order_of(t, t.op.Concat(rows, t.op.Squeeze(missing, [1]), axis=0))
    all_values = t.op.Concat(values, t.op.Expand(default_value, t.op.Shape(missing, end=1)), axis=0)
    places = positions(t, t.op.Shape(order))
    inverse = merged(t, places, order, places)
    return (
        t.op.Gather(t.op.Concat(indices, fillers, axis=0), order),
        t.op.Gather(all_values, order),
        empty,
        t.op.Slice(inverse, [0], size_of(t, values, 0), [0]),
    )
