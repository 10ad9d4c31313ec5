"""Shapes, and data moved as a whole: reshaped, transposed, joined, split, repeated."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.frontends.tensorflow.context import Translation
from trueport.frontends.tensorflow.nodes import TF
from trueport.frontends.tensorflow.shapes import (
    Dim,
    Element,
    Item,
    dim_vector,
    elements,
    shape_operand,
    vector,
)
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
    if dims is None:
        # A dim of zero that is computed is meant; without allowzero ONNX copies the input's.
        return t.op.Reshape(tensor, t.int64(shape), allowzero=1)
    opens = [axis for axis, dim in enumerate(dims) if not isinstance(dim, int) or dim == -1]
    copied = [axis for axis in opens if dims[axis] == Dim(tensor, axis)]
    if not opens or 0 in dims:
        return t.op.Reshape(tensor, vector(t, dims), allowzero=1 if 0 in dims else None)
    if len(opens) == 1:
        return t.op.Reshape(tensor, [-1 if axis in opens else dim for axis, dim in enumerate(dims)])
    if all(axis in copied or dims[axis] == -1 for axis in opens):
        return t.op.Reshape(tensor, [0 if axis in copied else dim for axis, dim in enumerate(dims)])
    return t.op.Reshape(tensor, vector(t, dims), allowzero=1)


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
    order = [int(axis) for axis in t.need(perm, "perm")]
    return x if order == sorted(order) else t.op.Transpose(x, perm=order)


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
    made: ir.Value = pieces[0] if len(pieces) == 1 else t.op.Concat(*pieces, axis=axis)
    return made


def _unsqueezed(t: Translation, value: ir.Value, axis: int) -> ir.Value:
    known = t.static(value)
    made: ir.Value = t.op.Unsqueeze(value, [axis]) if known is None else t.op.const(np.expand_dims(known, axis))
    return made


@maps("Unpack", domain=TF, fidelity=BITWISE)
def unpack(t: Translation, value: ir.Value, *, num: int, axis: int) -> tuple[ir.Value, ...]:
    if t.rank(value) == 1:
        return tuple(t.op.Gather(value, index, axis=0) for index in range(num))
    parts = t.op.Split(value, axis=axis, num_outputs=num, outputs=num) if num > 1 else (value,) * num
    return tuple(t.op.Squeeze(part, [axis]) for part in parts)


@maps("Split", domain=TF, fidelity=BITWISE)
def split(t: Translation, split_dim: ir.Value, value: ir.Value, *, num_split: int) -> tuple[ir.Value, ...]:
    axis = int(t.need(split_dim, "split_dim").item())
    return t.op.Split(value, axis=axis, num_outputs=num_split, outputs=num_split) if num_split > 1 else (value,)


@maps("SplitV", domain=TF, fidelity=BITWISE)
def split_v(
    t: Translation, value: ir.Value, size_splits: ir.Value, split_dim: ir.Value, *, num_split: int
) -> tuple[ir.Value, ...]:
    if num_split == 1:
        return (value,)
    axis = int(t.need(split_dim, "split_dim").item())
    return t.op.Split(value, _split_sizes(t, value, size_splits, axis), axis=axis, outputs=num_split)


def _split_sizes(t: Translation, value: ir.Value, sizes: ir.Value, axis: int) -> ir.Value:
    """The sizes with -1 replaced by what the others leave."""
    known, dim = t.static(sizes), t.dims(value)[axis]
    if known is not None and dim is not None:
        rest = dim - int(known[known >= 0].sum())
        return t.op.const(np.where(known < 0, rest, known).astype(np.int64))
    wanted = t.int64(sizes)
    if known is not None and (known >= 0).all():
        return wanted
    rest = t.op.Sub(vector(t, [_dim(t, value, axis)]), t.op.ReduceSum(t.op.Max(wanted, [0]), [0], keepdims=1))
    made: ir.Value = t.op.Where(t.op.Less(wanted, [0]), rest, wanted)
    return made


def _dim(t: Translation, value: ir.Value, axis: int) -> Element:
    place = axis % t.rank(value)
    return t.dims(value)[place] or Dim(value, place)


@maps("Tile", domain=TF, fidelity=BITWISE)
def tile(t: Translation, input: ir.Value, multiples: ir.Value) -> ir.Value:
    return t.op.Tile(input, shape_operand(t, multiples))


@maps("BroadcastTo", domain=TF, fidelity=BITWISE)
def broadcast_to(t: Translation, input: ir.Value, shape: ir.Value) -> ir.Value:
    return t.op.Expand(input, shape_operand(t, shape))
