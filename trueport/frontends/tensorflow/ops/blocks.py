"""Blocks of space exchanged for channels or for the batch."""

from __future__ import annotations

import math
from collections.abc import Sequence

import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.formulas.images.borders import padded_by
from trueport.formulas.images.dilation import convolved_whole, note_blocks
from trueport.formulas.images.spatial import channels_first, restored
from trueport.formulas.indexing.shapes import Item, dim_elements, divided, multiplied, reshaped
from trueport.formulas.indexing.slices import LAST, Span, sliced
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("SpaceToDepth", domain=TF, fidelity=BITWISE)
def space_to_depth(t: Translation, input: ir.Value, *, block_size: int, data_format: str) -> ir.Value:
    data = _planes(t, input, data_format)
    if t.dtype(input).is_floating_point():
        return restored(t, t.op.SpaceToDepth(data, blocksize=block_size), data_format)
    (n, c, h, w), b = dim_elements(t, data), block_size
    rows, columns = divided(t, h, b), divided(t, w, b)
    blocks = t.op.Transpose(reshaped(t, data, [n, c, rows, b, columns, b]), perm=[0, 3, 5, 1, 2, 4])
    return restored(t, reshaped(t, blocks, [n, multiplied(t, c, b * b), rows, columns]), data_format)


@maps("DepthToSpace", domain=TF, fidelity=BITWISE)
def depth_to_space(t: Translation, input: ir.Value, *, block_size: int, data_format: str) -> ir.Value:
    data = _planes(t, input, data_format)
    if t.dtype(input).is_floating_point():
        return restored(t, t.op.DepthToSpace(data, blocksize=block_size), data_format)
    (n, c, h, w), b = dim_elements(t, data), block_size
    depth = divided(t, c, b * b)
    blocks = t.op.Transpose(reshaped(t, data, [n, b, b, depth, h, w]), perm=[0, 3, 4, 1, 5, 2])
    return restored(t, reshaped(t, blocks, [n, depth, multiplied(t, h, b), multiplied(t, w, b)]), data_format)


def _planes(t: Translation, value: ir.Value, data_format: str) -> ir.Value:
    """Channel-first data; ONNX Runtime has the two operators for floats only, so others are moved by hand."""
    if data_format not in ("NHWC", "NCHW"):
        raise t.fail(f"data in the order {data_format} has no form in ONNX", "give the data as NHWC or NCHW")
    return channels_first(t, value, data_format)


@maps("SpaceToBatchND", domain=TF, fidelity=BITWISE)
def space_to_batch_nd(t: Translation, input: ir.Value, block_shape: ir.Value, paddings: ir.Value) -> ir.Value:
    return _to_batch(t, input, t.need(block_shape, "block_shape").tolist(), paddings)


@maps("SpaceToBatch", domain=TF, fidelity=BITWISE)
def space_to_batch(t: Translation, input: ir.Value, paddings: ir.Value, *, block_size: int) -> ir.Value:
    return _to_batch(t, input, [block_size, block_size], paddings)


@maps("BatchToSpaceND", domain=TF, fidelity=BITWISE)
def batch_to_space_nd(t: Translation, input: ir.Value, block_shape: ir.Value, crops: ir.Value) -> ir.Value:
    return _from_batch(t, input, t.need(block_shape, "block_shape").tolist(), crops)


@maps("BatchToSpace", domain=TF, fidelity=BITWISE)
def batch_to_space(t: Translation, input: ir.Value, crops: ir.Value, *, block_size: int) -> ir.Value:
    return _from_batch(t, input, [block_size, block_size], crops)


def _to_batch(t: Translation, value: ir.Value, blocks: Sequence[int], paddings: ir.Value) -> ir.Value:
    """[n, s0·b0, s1·b1, …, rest] becomes [b0·b1·…·n, s0, s1, …, rest]."""
    count = len(blocks)
    padded = padded_by(t, value, paddings, axes=range(1, count + 1))
    batch, *dims = dim_elements(t, padded)
    sizes = [divided(t, dim, block) for dim, block in zip(dims, blocks, strict=False)]
    apart = [part for pair in zip(sizes, blocks, strict=True) for part in pair]
    made = reshaped(t, padded, [batch, *apart, *dims[count:]])
    inner, outer = range(2, 2 * count + 1, 2), range(1, 2 * count + 1, 2)
    rest = range(2 * count + 1, t.rank(value) + count)
    made = t.op.Transpose(made, perm=[*inner, 0, *outer, *rest])
    made = reshaped(t, made, [multiplied(t, batch, math.prod(blocks)), *sizes, *dims[count:]])
    return note_blocks(made, value, blocks, paddings)


def _from_batch(t: Translation, value: ir.Value, blocks: Sequence[int], crops: ir.Value) -> ir.Value:
    """[b0·b1·…·n, s0, s1, …, rest] becomes [n, s0·b0, s1·b1, …, rest]."""
    count = len(blocks)
    whole = convolved_whole(t, value, blocks, crops)
    if whole is not None:
        return whole[0] if whole[1] is None else _cropped(t, whole[0], whole[1], count)
    batch, *dims = dim_elements(t, value)
    kept = divided(t, batch, math.prod(blocks))
    made = reshaped(t, value, [*blocks, kept, *dims])
    pairs = [axis for index in range(count) for axis in (count + 1 + index, index)]
    made = t.op.Transpose(made, perm=[count, *pairs, *range(2 * count + 1, t.rank(value) + count)])
    sizes = [multiplied(t, dim, block) for dim, block in zip(dims, blocks, strict=False)]
    return _cropped(t, reshaped(t, made, [kept, *sizes, *dims[count:]]), crops, count)


def _cropped(t: Translation, value: ir.Value, crops: ir.Value, count: int) -> ir.Value:
    known = t.static(crops)
    if known is not None:
        edges = enumerate(known.tolist(), start=1)
        return sliced(t, value, [Span(i, a, -b if b else LAST) for i, (a, b) in edges if a or b])
    first, last = (t.op.Gather(t.int64(crops), side, axis=1) for side in (0, 1))
    ends = t.op.Sub(t.op.Shape(value, start=1, end=1 + count), last)
    return sliced(t, value, [Span(1 + i, Item(first, i), Item(ends, i)) for i in range(count)])
