"""What indexing operators share: batched gathers, moved axes, counts and positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from trueport.formulas.writer import Writer

__all__ = [
    "gathered",
    "integer_of",
    "joined",
    "limited",
    "never_negative",
    "only",
    "positions",
    "shaped",
    "size_of",
    "transposed",
    "within",
]

_COUNTING = {"ArgMax", "ArgMin", "NonZero", "Shape", "Size"}
_MOVING = {"Cast", "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Identity"}
_UNSIGNED = {ir.DataType.UINT8, ir.DataType.UINT16, ir.DataType.UINT32, ir.DataType.UINT64, ir.DataType.BOOL}


def gathered(t: Writer, params: ir.Value, indices: ir.Value, axis: int, batch_dims: int = 0) -> ir.Value:
    """Slices of ``params`` along ``axis``; the first ``batch_dims`` dims of both run side by side."""
    indices = _unwrapped(t, indices, params, axis)
    where = indices if indices.dtype in (ir.DataType.INT32, ir.DataType.INT64) else t.int64(indices)
    batch = batch_dims if batch_dims >= 0 else batch_dims + t.rank(indices)
    if not batch and not (params.dtype == ir.DataType.STRING and axis % t.rank(params) < t.rank(params) - 1):
        return t.op.Gather(params, where, axis=axis)
    # Also slices of strings: ONNX Runtime's Gather copies only the first string of each.
    rank = t.rank(params)
    axis %= rank
    between = list(range(batch, axis))
    data = transposed(t, params, [*range(batch), axis, *between, *range(axis + 1, rank)])
    found = t.op.GatherND(data, t.op.Unsqueeze(t.int64(indices), [-1]), batch_dims=batch)
    own = t.rank(indices) - batch
    after = batch + own + len(between)
    order = [*range(batch), *range(batch + own, after), *range(batch, batch + own), *range(after, rank - 1 + own)]
    return transposed(t, found, order)


def _unwrapped(t: Writer, indices: ir.Value, params: ir.Value, axis: int) -> ir.Value:
    """``i`` for ``where(i < 0, i + size, i)``, which Keras writes before each gather and ONNX does in it."""
    chosen = _made_by(indices, "Where")
    if chosen is None or params.shape is None:
        return indices
    negative, moved, plain = chosen
    less, added = _made_by(negative, "Less"), _made_by(moved, "Add")
    if less is None or added is None or less[0] is not plain or plain not in added:
        return indices
    zero, offset = t.static(less[1]), added[1] if added[0] is plain else added[0]
    scalars = zero is not None and zero.ndim == 0 == t.rank(offset)
    return plain if scalars and zero == 0 and _is_dim(t, offset, params, axis) else indices


def _is_dim(t: Writer, value: ir.Value, params: ir.Value, axis: int) -> bool:
    """Whether a number is the size of an axis, known or asked for."""
    known = t.static(value)
    if known is not None:
        return known.size == 1 and known.item() == t.dims(params)[axis]
    picked = _made_by((_made_by(value, "Cast") or (value,))[0], "Gather") or (value,)
    place = t.static(picked[-1])
    shape = (_made_by(picked[0], "Cast") or picked)[0].producer()
    if shape is None or shape.op_type != "Shape" or shape.attributes or shape.inputs[0] is not params:
        return False
    return place is not None and place.size == 1 and (place.item() - axis) % t.rank(params) == 0


def _made_by(value: ir.Value | None, op_type: str) -> tuple[ir.Value, ...] | None:
    """The inputs of the node that makes a value, where it is of that kind."""
    maker = value.producer() if value is not None else None
    if maker is None or maker.op_type != op_type:
        return None
    return tuple(item for item in maker.inputs if item is not None)


def limited(t: Writer, value: ir.Value) -> np.ndarray | None:
    """A size that is known: a constant, or ``min(max(x, c), c)``, which is c whatever x is."""
    known = t.static(value)
    if known is not None or not (smaller := _made_by(value, "Min")) or len(smaller) != 2:
        return known
    for one, other in (smaller, smaller[::-1]):
        top, larger = t.static(one), _made_by(other, "Max")
        floors = [t.static(item) for item in larger or ()]
        if top is not None and any(floor is not None and (floor >= top).all() for floor in floors):
            return top
    return None


def transposed(t: Writer, value: ir.Value, order: Sequence[int]) -> ir.Value:
    """The dims in another order; no node when they stay."""
    return value if list(order) == sorted(order) else t.op.Transpose(value, perm=list(order))


def never_negative(t: Writer, value: ir.Value) -> bool:
    """Whether indices can be seen to be zero or more."""
    known = t.static(value)
    if known is not None:
        return not known.size or bool(known.min() >= 0)
    maker = value.producer()
    if value.dtype in _UNSIGNED or maker is None:
        return value.dtype in _UNSIGNED
    if maker.op_type == "TopK":
        return value is maker.outputs[1]
    first = maker.inputs[0] if maker.inputs else None
    if maker.op_type in _MOVING and first is not None:
        whole = first.dtype in _UNSIGNED or first.dtype in (ir.DataType.INT32, ir.DataType.INT64)
        return whole and value.dtype in (ir.DataType.INT32, ir.DataType.INT64) and never_negative(t, first)
    return maker.op_type in _COUNTING


def integer_of(t: Writer, value: ir.Value, what: str) -> int:
    """A scalar input that ONNX wants fixed."""
    return int(t.need(value, what).reshape(()))


def shaped(t: Writer, value: ir.Value, shape: ir.Value) -> ir.Value:
    """The value in a shape that may be computed: a size of 0 is meant, ONNX would copy the input's for it."""
    known = t.static(shape)
    return t.op.Reshape(value, shape, allowzero=1 if known is None or 0 in known else None)


def size_of(t: Writer, value: ir.Value, axis: int) -> ir.Value:
    """One dim as a vector of one int64: a constant where it is known."""
    dim = t.dims(value)[axis]
    end = axis + 1 or None
    return t.op.const(np.array([dim], np.int64)) if dim is not None else t.op.Shape(value, start=axis, end=end)


def joined(t: Writer, parts: Sequence[ir.Value]) -> ir.Value:
    """Vectors of int64 one after the other; a constant where all are known."""
    known = [t.static(part) for part in parts]
    if all(array is not None for array in known):
        return t.op.const(np.concatenate([np.asarray(array, np.int64) for array in known]))
    return parts[0] if len(parts) == 1 else t.op.Concat(*parts, axis=0)


def positions(t: Writer, count: ir.Value) -> ir.Value:
    """0, 1, … below ``count``, which is a scalar or a vector of one int64."""
    known = t.static(count)
    if known is not None:
        return t.op.const(np.arange(int(known.reshape(())), dtype=np.int64))
    scalar = count if count.shape is not None and count.shape.rank() == 0 else t.op.Squeeze(count, [0])
    return t.op.Range(np.int64(0), scalar, np.int64(1))


def only(t: Writer, value: ir.Value, mask: ir.Value) -> ir.Value:
    """The rows for which a vector of bool is true."""
    return t.op.Compress(value, mask, axis=0)


def within(t: Writer, indices: ir.Value, limit: ir.Value) -> ir.Value:
    """Where 0 <= index < limit."""
    below: ir.Value = t.op.Less(indices, limit)
    if never_negative(t, indices):
        return below
    return t.op.And(t.op.GreaterOrEqual(indices, t.op.like(0, indices)), below)
