"""Writing elements to where their indices say."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_TERMS, BITWISE, accumulation
from trueport.formulas.indexing.indices import joined, only, shaped, size_of, within
from trueport.formulas.indexing.segments import HALVES, filled, linear, merged, row_count
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []

_UNSIGNED = {ir.DataType.UINT8, ir.DataType.UINT16, ir.DataType.UINT32, ir.DataType.UINT64}


@maps("ScatterNd", domain=TF, error=accumulation(against=AGAINST_TERMS))
def scatter_nd(
    t: Translation, indices: ir.Value, updates: ir.Value, shape: ir.Value, *, bad_indices_policy: str
) -> ir.Value:
    if updates.dtype == ir.DataType.STRING and not _unique(t, indices):
        raise t.fail("joins strings whose indices are the same; ONNX has no such scatter", "use constant indices")
    truth = updates.dtype == ir.DataType.BOOL
    values = t.op.Cast(updates, to=ir.DataType.UINT8) if truth else updates
    empty = "" if updates.dtype == ir.DataType.STRING else 0
    start = filled(t, empty, t.dtype(values), t.int64(shape))
    return t.cast(_scattered(t, start, indices, values, "max" if truth else "add", bad_indices_policy), t.output_type())


@maps("TensorScatterUpdate", domain=TF, fidelity=BITWISE)
def tensor_scatter_update(
    t: Translation, tensor: ir.Value, indices: ir.Value, updates: ir.Value, *, bad_indices_policy: str
) -> ir.Value:
    return _scattered(t, tensor, indices, updates, "none", bad_indices_policy)


@maps("TensorScatterAdd", domain=TF, error=accumulation(against=AGAINST_TERMS))
def tensor_scatter_add(
    t: Translation, tensor: ir.Value, indices: ir.Value, updates: ir.Value, *, bad_indices_policy: str
) -> ir.Value:
    return _scattered(t, tensor, indices, updates, "add", bad_indices_policy)


@maps("ScatterNdNonAliasingAdd", domain=TF, error=accumulation(against=AGAINST_TERMS))
def scatter_nd_non_aliasing_add(
    t: Translation, input: ir.Value, indices: ir.Value, updates: ir.Value, *, bad_indices_policy: str
) -> ir.Value:
    return _scattered(t, input, indices, updates, "add", bad_indices_policy)


@maps("TensorScatterSub", domain=TF, error=accumulation(against=AGAINST_TERMS))
def tensor_scatter_sub(
    t: Translation, tensor: ir.Value, indices: ir.Value, updates: ir.Value, *, bad_indices_policy: str
) -> ir.Value:
    unsigned = updates.dtype in _UNSIGNED
    opposite = t.op.Sub(t.op.like(0, updates), updates) if unsigned else t.op.Neg(updates)
    return _scattered(t, tensor, indices, opposite, "add", bad_indices_policy)


@maps("TensorScatterMax", domain=TF, fidelity=BITWISE)
def tensor_scatter_max(
    t: Translation, tensor: ir.Value, indices: ir.Value, updates: ir.Value, *, bad_indices_policy: str
) -> ir.Value:
    return _compared(t, tensor, indices, updates, "max", bad_indices_policy)


@maps("TensorScatterMin", domain=TF, fidelity=BITWISE)
def tensor_scatter_min(
    t: Translation, tensor: ir.Value, indices: ir.Value, updates: ir.Value, *, bad_indices_policy: str
) -> ir.Value:
    return _compared(t, tensor, indices, updates, "min", bad_indices_policy)


def _compared(
    t: Translation, tensor: ir.Value, indices: ir.Value, updates: ir.Value, how: str, policy: str
) -> ir.Value:
    if not t.dtype(tensor).is_floating_point():
        return _scattered(t, tensor, indices, updates, how, policy)
    # TensorFlow keeps what it has unless the update compares better: NaN neither comes nor goes.
    last = t.op.like(-np.inf if how == "max" else np.inf, updates)
    found = _scattered(t, tensor, indices, t.op.Where(t.op.IsNaN(updates), last, updates), how, policy)
    return t.op.Where(t.op.IsNaN(tensor), tensor, found)


def _scattered(
    t: Translation, start: ir.Value, indices: ir.Value, updates: ir.Value, how: str, policy: str
) -> ir.Value:
    places = t.int64(indices)
    if policy == "IGNORE":
        places, updates = _inside(t, start, places, updates)
    if how == "none" or (_unique(t, indices) and t.dtype(start) not in HALVES):
        return t.op.ScatterND(start, places, updates, reduction=None if how == "none" else how)
    depth = t.dims(indices)[-1]
    shape = joined(t, [size_of(t, start, axis) for axis in range(t.rank(start))])
    rows = linear(t, places, shape)
    if depth == 1 and t.rank(rows) == 1:
        return merged(t, start, rows, updates, how)
    inner = [size_of(t, start, axis) for axis in range(depth or 0, t.rank(start))]
    flat = joined(t, [t.op.const(np.array([-1], np.int64)), *inner])
    found = merged(t, t.op.Reshape(start, flat), t.op.Reshape(rows, [-1]), t.op.Reshape(updates, flat), how)
    return shaped(t, found, shape)


def _inside(t: Translation, start: ir.Value, indices: ir.Value, updates: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Only the updates whose index is one of the tensor's."""
    depth = t.dims(indices)[-1]
    if depth is None:
        raise t.fail("the length of an index is not known", "give the indices' last dim a fixed size")
    inner = [size_of(t, start, axis) for axis in range(depth, t.rank(start))]
    rows = t.op.Reshape(indices, [-1, depth])
    values = t.op.Reshape(updates, joined(t, [t.op.const(np.array([-1], np.int64)), *inner]))
    valid = t.op.Cast(within(t, rows, t.op.Shape(start, end=depth)), to=ir.DataType.INT32)
    keep = t.op.Cast(t.op.ReduceMin(valid, [-1], keepdims=0), to=ir.DataType.BOOL)
    return only(t, rows, keep), only(t, values, keep)


def _unique(t: Translation, indices: ir.Value) -> bool:
    """Whether no two updates meet, as far as can be seen."""
    known = t.static(indices)
    if known is None or not known.size:
        return False
    rows = known.reshape(-1, known.shape[-1])
    return len(np.unique(rows, axis=0)) == len(rows)


@maps("DynamicPartition", domain=TF, fidelity=BITWISE)
def dynamic_partition(
    t: Translation, data: ir.Value, partitions: ir.Value, *, num_partitions: int
) -> tuple[ir.Value, ...]:
    own = t.rank(partitions)
    rows, values = partitions, data
    if own != 1:
        inner = [size_of(t, data, axis) for axis in range(own, t.rank(data))]
        rows = t.op.Reshape(partitions, [-1])
        values = t.op.Reshape(data, joined(t, [t.op.const(np.array([-1], np.int64)), *inner]))
    return tuple(only(t, values, t.op.Equal(rows, t.op.like(number, rows))) for number in range(num_partitions))


@maps("DynamicStitch", domain=TF, fidelity=BITWISE)
@maps("ParallelDynamicStitch", domain=TF, fidelity=BITWISE)
def dynamic_stitch(t: Translation, indices: tuple[ir.Value, ...], data: tuple[ir.Value, ...]) -> ir.Value:
    own = t.rank(indices[0])
    inner = [size_of(t, data[0], axis) for axis in range(own, t.rank(data[0]))]
    flat = joined(t, [t.op.const(np.array([-1], np.int64)), *inner])
    pieces = zip(indices, data, strict=True)
    pairs = [(t.op.Reshape(t.int64(rows), [-1]), t.op.Reshape(values, flat)) for rows, values in pieces]
    rows = t.op.Concat(*(pair[0] for pair in pairs), axis=0)
    values = t.op.Concat(*(pair[1] for pair in pairs), axis=0)
    empty = "" if t.output_type() == ir.DataType.STRING else 0
    start = filled(t, empty, t.dtype(values), joined(t, [row_count(t, rows), *inner]))
    return merged(t, start, rows, values)
