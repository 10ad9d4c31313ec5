"""Shapes, and data moved as a whole: reshaped, transposed, joined, split, repeated."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.formulas.indexing.shapes import (
    Element,
    Item,
    dim_elements,
    dim_vector,
    elements,
    reshaped,
    shape_operand,
    vector,
)
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Shape", domain=TF, fidelity=BITWISE)
def shape(t: Translation, input: ir.Value, *, out_type: ir.DataType) -> ir.Value:
    return t.cast(t.op.Shape(input), out_type)


@maps("ShapeN", domain=TF, fidelity=BITWISE)
def shape_n(t: Translation, input: tuple[ir.Value, ...], *, out_type: ir.DataType) -> tuple[ir.Value, ...]:
    return tuple(t.cast(dim_vector(t, value), out_type) for value in input)


@maps("Size", domain=TF, fidelity=BITWISE)
def size(t: Translation, input: ir.Value, *, out_type: ir.DataType) -> ir.Value:
    return t.cast(t.op.Size(input), out_type)


@maps("Rank", domain=TF, fidelity=BITWISE)
def rank(t: Translation, input: ir.Value) -> ir.Value:
    if input.shape is not None:
        return t.op.const(np.array(t.rank(input), np.int32))
    return t.cast(t.op.Size(t.op.Shape(input)), ir.DataType.INT32)


@maps("Reshape", domain=TF, fidelity=BITWISE)
def reshape(t: Translation, tensor: ir.Value, shape: ir.Value) -> ir.Value:
    dims = _dims_wanted(t, shape)
    return t.op.Reshape(tensor, t.int64(shape), allowzero=1) if dims is None else reshaped(t, tensor, dims)


def _dims_wanted(t: Translation, shape: ir.Value) -> list[Element] | None:
    """The dims that a reshape asks for, numbers where TensorFlow or the vector itself tell them."""
    parts, known = elements(shape), t.output_shape()
    if parts is None or known is None:
        return parts
    return [part if dim is None else dim for part, dim in zip(parts, known, strict=True)]


@maps("Squeeze", domain=TF, fidelity=BITWISE)
def squeeze(t: Translation, input: ir.Value, *, squeeze_dims: list[int]) -> ir.Value:
    axes = squeeze_dims
    if not axes and input.shape is not None and None not in t.dims(input):
        axes = [axis for axis, dim in enumerate(t.dims(input)) if dim == 1]
        if not axes:
            return input
    return t.op.Squeeze(input, axes or None)


@maps("ExpandDims", domain=TF, fidelity=BITWISE)
def expand_dims(t: Translation, input: ir.Value, dim: ir.Value) -> ir.Value:
    return t.op.Unsqueeze(input, vector(t, elements(dim) or [Item(dim, 0)]))


@maps("Transpose", domain=TF, fidelity=BITWISE)
@maps("ConjugateTranspose", domain=TF, fidelity=BITWISE)
def transpose(t: Translation, x: ir.Value, perm: ir.Value) -> ir.Value:
    known = t.static(perm)
    if known is None:
        return _transposed_by(t, x, t.int64(perm))
    order = [int(axis) for axis in known]
    return x if order == sorted(order) else t.op.Transpose(x, perm=order)


def _transposed_by(t: Translation, x: ir.Value, order: ir.Value) -> ir.Value:
    """Transpose by a computed order, which ONNX's Transpose does not take: gather the flat elements by position."""
    shape, step = t.op.Shape(x), t.op.const([1])
    strides: list[ir.Value] = []
    for axis in reversed(range(t.rank(x))):
        strides.insert(0, step)
        step = t.op.Mul(step, t.op.Gather(shape, [axis]))
    sizes, steps = t.op.Gather(shape, order), t.op.Gather(t.op.Concat(*strides, axis=0), order) if strides else shape
    positions = t.op.const(0)
    for axis in range(t.rank(x)):
        along = t.op.Range(0, t.op.Gather(sizes, axis), 1)
        positions = t.op.Add(t.op.Unsqueeze(positions, [axis]), t.op.Mul(along, t.op.Gather(steps, axis)))
    return t.op.Gather(t.op.Reshape(x, [-1]), positions)


@maps("Pack", domain=TF, fidelity=BITWISE)
def pack(t: Translation, values: tuple[ir.Value, ...], *, axis: int) -> ir.Value:
    return _joined(t, [_unsqueezed(t, value, axis) for value in values], axis)


@maps("ParallelConcat", domain=TF, fidelity=BITWISE, ignores={"shape": "the values have it"})
def parallel_concat(t: Translation, values: tuple[ir.Value, ...]) -> ir.Value:
    return _joined(t, values, 0)


@maps("ConcatV2", domain=TF, fidelity=BITWISE)
def concat_v2(t: Translation, values: tuple[ir.Value, ...], axis: ir.Value) -> ir.Value:
    return _joined(t, values, int(t.need(axis, "axis").item()))


@maps("Concat", domain=TF, fidelity=BITWISE)
def concat(t: Translation, concat_dim: ir.Value, values: tuple[ir.Value, ...]) -> ir.Value:
    return _joined(t, values, int(t.need(concat_dim, "concat_dim").item()))


def _joined(t: Translation, values: Sequence[ir.Value], axis: int) -> ir.Value:
    """The values one after another; neighbours that are known become one constant."""
    pieces: list[ir.Value] = []
    for known, run in itertools.groupby(values, key=lambda value: t.static(value) is not None):
        group = list(run)
        if known and len(group) > 1:
            group = [t.op.const(np.concatenate([t.need(value, "value") for value in group], axis))]
        pieces += group
    return pieces[0] if len(pieces) == 1 else t.op.Concat(*pieces, axis=axis)


def _unsqueezed(t: Translation, value: ir.Value, axis: int) -> ir.Value:
    known = t.static(value)
    return t.op.Unsqueeze(value, [axis]) if known is None else t.op.const(np.expand_dims(known, axis))


@maps("Unpack", domain=TF, fidelity=BITWISE)
def unpack(t: Translation, value: ir.Value, *, num: int, axis: int) -> tuple[ir.Value, ...]:
    if t.rank(value) == 1:
        return tuple(t.op.Gather(value, index, axis=0) for index in range(num))
    parts = t.op.several(num).Split(value, axis=axis, num_outputs=num) if num > 1 else (value,) * num
    return tuple(t.op.Squeeze(part, [axis]) for part in parts)


@maps("Split", domain=TF, fidelity=BITWISE)
def split(t: Translation, split_dim: ir.Value, value: ir.Value, *, num_split: int) -> tuple[ir.Value, ...]:
    axis = int(t.need(split_dim, "split_dim").item())
    return t.op.several(num_split).Split(value, axis=axis, num_outputs=num_split) if num_split > 1 else (value,)


@maps("SplitV", domain=TF, fidelity=BITWISE)
def split_v(
    t: Translation, value: ir.Value, size_splits: ir.Value, split_dim: ir.Value, *, num_split: int
) -> tuple[ir.Value, ...]:
    if num_split == 1:
        return (value,)
    axis = int(t.need(split_dim, "split_dim").item())
    return t.op.several(num_split).Split(value, _split_sizes(t, value, size_splits, axis), axis=axis)


def _split_sizes(t: Translation, value: ir.Value, sizes: ir.Value, axis: int) -> ir.Value:
    """The sizes with -1 replaced by what the others leave."""
    known, dim = t.static(sizes), t.dims(value)[axis]
    if known is not None and dim is not None:
        left = dim - int(known[known >= 0].sum())
        return t.op.const(np.where(known < 0, left, known).astype(np.int64))
    wanted = t.int64(sizes)
    if known is not None and (known >= 0).all():
        return wanted
    rest = t.op.Sub(vector(t, [dim_elements(t, value)[axis]]), t.op.ReduceSum(t.op.Max(wanted, [0]), [0], keepdims=1))
    return t.op.Where(t.op.Less(wanted, [0]), rest, wanted)


@maps("Tile", domain=TF, fidelity=BITWISE)
def tile(t: Translation, input: ir.Value, multiples: ir.Value) -> ir.Value:
    return t.op.Tile(input, shape_operand(t, multiples))


@maps("BroadcastTo", domain=TF, fidelity=BITWISE)
def broadcast_to(t: Translation, input: ir.Value, shape: ir.Value) -> ir.Value:
    return t.op.Expand(input, shape_operand(t, shape))


@maps("BroadcastArgs", domain=TF, fidelity=BITWISE)
def broadcast_args(t: Translation, s0: ir.Value, s1: ir.Value) -> ir.Value:
    ranks = [t.dims(shape)[0] for shape in (s0, s1)]
    if None in ranks:
        raise t.fail("the number of dims that are broadcast is not known", "give both shapes a fixed length")
    longest = max(rank for rank in ranks if rank is not None)
    left, right = (_with_ones(t, shape, longest) for shape in (s0, s1))
    return t.op.Where(t.op.Equal(left, t.op.like(1, left)), right, left)


def _with_ones(t: Translation, shape: ir.Value, rank: int) -> ir.Value:
    missing = rank - (t.dims(shape)[0] or 0)
    return t.op.Concat(t.op.like([1] * missing, shape), shape, axis=0) if missing else shape


@maps("ConcatOffset", domain=TF, fidelity=BITWISE)
def concat_offset(t: Translation, concat_dim: ir.Value, shape: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    rank = t.dims(shape[0])[0]
    if rank is None:
        raise t.fail("the rank of what is joined is not known", "give the shapes a fixed length")
    along = np.zeros(rank, np.int64)
    along[int(t.need(concat_dim, "concat_dim").item())] = 1
    offsets = [t.op.like(0 * along, shape[0])]
    for dims in shape[:-1]:
        offsets.append(t.op.Add(offsets[-1], t.op.Mul(dims, t.op.like(along, dims))))
    return tuple(offsets)


_DEBUGGING = {"tensor_name": "for the debugger only", "debug_ops_spec": "for the debugger only"}


@maps("GuaranteeConst", domain=TF, fidelity=BITWISE)
@maps("Copy", domain=TF, fidelity=BITWISE, ignores=_DEBUGGING)
@maps("CopyHost", domain=TF, fidelity=BITWISE, ignores=_DEBUGGING)
def copy(t: Translation, input: ir.Value) -> ir.Value:
    return input


@maps("DeepCopy", domain=TF, fidelity=BITWISE)
def deep_copy(t: Translation, x: ir.Value) -> ir.Value:
    return x


@maps("Bitcast", domain=TF, fidelity=BITWISE)
def bitcast(t: Translation, input: ir.Value, *, type: ir.DataType) -> ir.Value:
    if t.dtype(input).bitwidth != type.bitwidth:
        raise t.fail(
            f"takes {t.dtype(input).name} as {type.name}, which has another size; ONNX's BitCast keeps the shape",
            "use a type of the same size",
        )
    return input if t.dtype(input) == type else t.op.BitCast(input, to=type)
