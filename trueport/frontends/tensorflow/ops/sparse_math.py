"""Arithmetic on sparse tensors."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_TERMS, BITWISE, accumulation, ulps
from trueport.formulas.indexing.indices import gathered, joined, only, shaped
from trueport.formulas.indexing.segments import filled, linear, merged, segments
from trueport.formulas.indexing.sparse import Sparse, added, dim, order_of, rank_of, stretched, union, unraveled
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("SparseTensorDenseMatMul", domain=TF, error=accumulation(against=AGAINST_TERMS))
def sparse_dense_mat_mul(
    t: Translation,
    a_indices: ir.Value,
    a_values: ir.Value,
    a_shape: ir.Value,
    b: ir.Value,
    *,
    adjoint_a: bool,
    adjoint_b: bool,
) -> ir.Value:
    """Each value times its row of ``b``, added up: what is not there multiplies nothing, not even infinity."""
    right = t.op.Transpose(b, perm=[1, 0]) if adjoint_b else b
    row, column = (1, 0) if adjoint_a else (0, 1)
    picked = gathered(t, right, t.op.Gather(a_indices, column, axis=1), 0)
    terms = t.op.Mul(picked, t.op.Unsqueeze(a_values, [1]))
    return segments(t, terms, t.op.Gather(a_indices, row, axis=1), dim(t, t.int64(a_shape), row), "add", 0)


@maps("SparseTensorDenseAdd", domain=TF, error=ulps(1))
def sparse_dense_add(
    t: Translation, a_indices: ir.Value, a_values: ir.Value, a_shape: ir.Value, b: ir.Value
) -> ir.Value:
    return added(t, b, t.int64(a_indices), a_values)


@maps("SparseAdd", domain=TF, error=ulps(1))
def sparse_add(
    t: Translation,
    a_indices: ir.Value,
    a_values: ir.Value,
    a_shape: ir.Value,
    b_indices: ir.Value,
    b_values: ir.Value,
    b_shape: ir.Value,
    thresh: ir.Value,
) -> Sparse:
    rows, left, right, counts = union(t, a_indices, b_indices, a_shape)
    start = filled(t, 0, t.dtype(a_values), t.op.Shape(counts))
    total = merged(t, merged(t, start, left, a_values), right, b_values, "add")
    # Only what both have can vanish.
    keep = t.op.Or(t.op.GreaterOrEqual(t.op.Abs(total), thresh), t.op.Less(counts, 2))
    return only(t, rows, keep), only(t, total, keep), a_shape


@maps("SparseSparseMaximum", domain=TF, fidelity=BITWISE)
def sparse_maximum(
    t: Translation,
    a_indices: ir.Value,
    a_values: ir.Value,
    a_shape: ir.Value,
    b_indices: ir.Value,
    b_values: ir.Value,
    b_shape: ir.Value,
) -> tuple[ir.Value, ir.Value]:
    rows, left, right = _side_by_side(t, a_indices, a_values, b_indices, b_values, a_shape)
    return rows, t.op.Max(left, right)


@maps("SparseSparseMinimum", domain=TF, fidelity=BITWISE)
def sparse_minimum(
    t: Translation,
    a_indices: ir.Value,
    a_values: ir.Value,
    a_shape: ir.Value,
    b_indices: ir.Value,
    b_values: ir.Value,
    b_shape: ir.Value,
) -> tuple[ir.Value, ir.Value]:
    rows, left, right = _side_by_side(t, a_indices, a_values, b_indices, b_values, a_shape)
    return rows, t.op.Min(left, right)


def _side_by_side(
    t: Translation,
    a_indices: ir.Value,
    a_values: ir.Value,
    b_indices: ir.Value,
    b_values: ir.Value,
    shape: ir.Value,
) -> tuple[ir.Value, ir.Value, ir.Value]:
    """The indices of both, and the values of each, 0 where it has none."""
    rows, left, right, counts = union(t, a_indices, b_indices, shape)
    start = filled(t, 0, t.dtype(a_values), t.op.Shape(counts))
    return rows, merged(t, start, left, a_values), merged(t, start, right, b_values)


@maps("SparseDenseCwiseMul", domain=TF, error=ulps(1))
def sparse_dense_mul(
    t: Translation, sp_indices: ir.Value, sp_values: ir.Value, sp_shape: ir.Value, dense: ir.Value
) -> ir.Value:
    return t.op.Mul(sp_values, t.op.GatherND(stretched(t, dense, sp_shape), sp_indices))


@maps("SparseDenseCwiseDiv", domain=TF, error=ulps(1))
def sparse_dense_div(
    t: Translation, sp_indices: ir.Value, sp_values: ir.Value, sp_shape: ir.Value, dense: ir.Value
) -> ir.Value:
    return t.op.Div(sp_values, t.op.GatherND(stretched(t, dense, sp_shape), sp_indices))


@maps("SparseDenseCwiseAdd", domain=TF, error=ulps(1))
def sparse_dense_cwise_add(
    t: Translation, sp_indices: ir.Value, sp_values: ir.Value, sp_shape: ir.Value, dense: ir.Value
) -> ir.Value:
    return t.op.Add(sp_values, t.op.GatherND(stretched(t, dense, sp_shape), sp_indices))


@maps("SparseSoftmax", domain=TF, error=accumulation(8))
def sparse_softmax(t: Translation, sp_indices: ir.Value, sp_values: ir.Value, sp_shape: ir.Value) -> ir.Value:
    """Over the values that are there, along the last axis; as in TensorFlow, the results are in the order of the
    sorted indices, whatever the order of the given ones."""
    rank = rank_of(t, sp_indices, sp_shape)
    order = order_of(t, linear(t, sp_indices, sp_shape))
    sp_values = t.op.Gather(sp_values, order)
    keys = t.op.Gather(linear(t, t.op.Slice(sp_indices, [0], [rank - 1], [1]), sp_shape), order)
    changes = t.op.Not(t.op.Equal(keys, t.op.Concat(t.op.Slice(keys, [0], [1]), t.op.Slice(keys, [0], [-1]), axis=0)))
    rows = t.op.CumSum(t.cast(changes, ir.DataType.INT64), np.int64(0))
    # As many groups as values are enough; those of none are not read.
    start = t.op.Expand(t.op.like(-np.inf, sp_values), t.op.Shape(sp_values))
    top = merged(t, start, rows, sp_values, "max")
    powers = t.op.Exp(t.op.Sub(sp_values, t.op.Gather(top, rows)))
    total = merged(t, filled(t, 0, t.dtype(sp_values), t.op.Shape(sp_values)), rows, powers, "add")
    return t.op.Div(powers, t.op.Gather(total, rows))


@maps("SparseReduceSum", domain=TF, error=accumulation(against=AGAINST_TERMS))
def sparse_reduce_sum(
    t: Translation,
    input_indices: ir.Value,
    input_values: ir.Value,
    input_shape: ir.Value,
    reduction_axes: ir.Value,
    *,
    keep_dims: bool,
) -> ir.Value:
    return _reduced(t, (input_indices, input_values, input_shape), reduction_axes, "add", keep_dims)


@maps("SparseReduceMax", domain=TF, fidelity=BITWISE)
def sparse_reduce_max(
    t: Translation,
    input_indices: ir.Value,
    input_values: ir.Value,
    input_shape: ir.Value,
    reduction_axes: ir.Value,
    *,
    keep_dims: bool,
) -> ir.Value:
    return _reduced(t, (input_indices, input_values, input_shape), reduction_axes, "max", keep_dims)


@maps("SparseReduceSumSparse", domain=TF, error=accumulation(against=AGAINST_TERMS))
def sparse_reduce_sum_sparse(
    t: Translation,
    input_indices: ir.Value,
    input_values: ir.Value,
    input_shape: ir.Value,
    reduction_axes: ir.Value,
    *,
    keep_dims: bool,
) -> Sparse:
    return _reduced_sparse(t, (input_indices, input_values, input_shape), reduction_axes, "add", keep_dims)


@maps("SparseReduceMaxSparse", domain=TF, fidelity=BITWISE)
def sparse_reduce_max_sparse(
    t: Translation,
    input_indices: ir.Value,
    input_values: ir.Value,
    input_shape: ir.Value,
    reduction_axes: ir.Value,
    *,
    keep_dims: bool,
) -> Sparse:
    return _reduced_sparse(t, (input_indices, input_values, input_shape), reduction_axes, "max", keep_dims)


def _reduced(t: Translation, source: Sparse, axes: ir.Value, how: str, keep: bool) -> ir.Value:
    """A dense result: 0 where nothing is there to be reduced."""
    kept, keys, shape = _groups(t, source, axes, keep)
    dims = [dim(t, source[2], axis) for axis in kept]
    size = t.op.ReduceProd(joined(t, dims), [0], keepdims=1) if dims else t.op.const(np.array([1], np.int64))
    found = _collected(t, filled(t, 0, t.dtype(source[1]), size), keys, source[1], how)
    return shaped(t, found, shape)


def _reduced_sparse(t: Translation, source: Sparse, axes: ir.Value, how: str, keep: bool) -> Sparse:
    """A sparse result: only where something is there."""
    kept, keys, shape = _groups(t, source, axes, keep)
    unique, _, rows, _ = t.op.several(4).Unique(keys, sorted=1)
    found = _collected(t, filled(t, 0, t.dtype(source[1]), t.op.Shape(unique)), rows, source[1], how)
    rank = rank_of(t, source[0], source[2])
    one = t.op.const(np.array([1], np.int64))
    dims = [dim(t, source[2], axis) if axis in kept else one for axis in range(rank) if keep or axis in kept]
    return unraveled(t, unique, dims or [one]), found, shape


def _groups(t: Translation, source: Sparse, axes: ir.Value, keep: bool) -> tuple[list[int], ir.Value, ir.Value]:
    """The axes that stay, the number of each value's group, the result's shape."""
    indices, values, shape = source
    rank = rank_of(t, indices, shape)
    gone = {int(axis) % rank for axis in t.need(axes, "reduction_axes").reshape(-1)} or set(range(rank))
    kept = [axis for axis in range(rank) if axis not in gone]
    one = t.op.const(np.array([1], np.int64))
    parts = [one if axis in gone else dim(t, shape, axis) for axis in range(rank) if keep or axis in kept]
    result = joined(t, parts) if parts else t.op.const(np.zeros(0, np.int64))
    if not kept:
        return kept, filled(t, 0, ir.DataType.INT64, t.op.Shape(values)), result
    outer = t.op.Gather(indices, kept, axis=1)
    return kept, linear(t, outer, joined(t, [dim(t, shape, axis) for axis in kept])), result


def _collected(t: Translation, start: ir.Value, rows: ir.Value, values: ir.Value, how: str) -> ir.Value:
    """An extreme starts from one of its own values: 0 is not neutral for it."""
    first = merged(t, start, rows, values) if how == "max" else start
    return merged(t, first, rows, values, how)
