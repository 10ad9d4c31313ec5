"""The same elements under another shape, and the shape itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.shapes import axis_mask, known_entries, moving, normalized, rank_of, shape_of
from trueport.backends.tensorflow.kernels.sizes import size_of, sizes_of
from trueport.fidelity import BITWISE
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Reshape", fidelity=BITWISE, audited=25)
def reshape(t: Emission, data: Tensor, shape: Tensor, *, allowzero: int) -> Tensor:
    wanted = t.static(shape)
    if wanted is None:
        made = tf.reshape(data, shape if allowzero else _zeros_copied(data, shape))
        entries = known_entries(shape)
        if entries is not None:
            made.set_shape([size if size and size > 0 else None for size in entries])
        return made
    if allowzero or not (wanted == 0).any():
        return tf.reshape(data, wanted)
    return tf.reshape(data, _zeros_copied_statically(data, wanted))


def _zeros_copied(data: Tensor, shape: Tensor) -> Tensor:
    """The shape with the data's dim in the place of each 0."""
    room = tf.concat([shape_of(data), tf.zeros_like(shape)], 0)
    return tf.where(shape == 0, room[: tf.size(shape)], shape)


def _zeros_copied_statically(data: Tensor, shape: np.ndarray) -> list[int | Tensor]:
    """The same for a known shape; the -1 is solved from the dims not copied, so that the copied may be empty."""
    copied = [axis for axis, size in enumerate(shape) if size == 0]
    target = [size_of(data, axis, tf.int64) if size == 0 else int(size) for axis, size in enumerate(shape)]
    own: list[Any] = [None] if data.shape.rank is None else data.shape.as_list()
    rest = [size for axis, size in enumerate(own) if axis not in copied]
    if None in rest:
        return target
    given = int(np.prod(shape[shape > 0]))
    if (shape < 0).any():
        target[int(np.argmin(shape))] = int(np.prod(rest)) // given
    elif len(copied) == 1 and own[copied[0]] is None and int(np.prod(rest)) == given:
        # All other dims are numbers: the copied one is found by counting, without a look at the shape.
        target[copied[0]] = -1
    return target


@maps("Shape", fidelity=BITWISE, audited=25)
def shape(t: Emission, data: Tensor, *, start: int, end: int | None) -> Tensor:
    known = data.shape[start:end].as_list() if data.shape.rank is not None else [None]
    return shape_of(data)[start:end] if None in known else tf.constant(known, tf.int64, [len(known)])


@maps("Size", fidelity=BITWISE, audited=25)
def size(t: Emission, data: Tensor) -> Tensor:
    return tf.size(data, out_type=tf.int64)


@maps("Flatten", fidelity=BITWISE, audited=25)
def flatten(t: Emission, input: Tensor, *, axis: int) -> Tensor:
    if input.shape.rank is None:
        sizes = shape_of(input)
        return tf.reshape(input, [tf.reduce_prod(sizes[:axis]), tf.reduce_prod(sizes[axis:])])
    parts = [input.shape[:axis], input.shape[axis:]]
    known = [part.num_elements() for part in parts]
    if None not in known:
        return tf.reshape(input, known)
    if any(known):
        return tf.reshape(input, [number or -1 for number in known])
    sizes = sizes_of(input, out_type=tf.int64)
    rows, columns = (
        tf.reduce_prod(tf.stack(part)) if number is None else number
        for number, part in zip(known, (sizes[:axis], sizes[axis:]), strict=True)
    )
    return tf.reshape(input, [rows, columns])


@maps("Squeeze", fidelity=BITWISE, audited=25)
def squeeze(t: Emission, data: Tensor, axes: Tensor | None) -> Tensor:
    if axes is None:
        return tf.squeeze(data)
    known = t.static(axes)
    if known is None:
        return tf.reshape(data, tf.boolean_mask(shape_of(data), ~axis_mask(axes, rank_of(data))))
    # An empty list of axes squeezes nothing; TensorFlow's means all.
    return tf.squeeze(data, known.tolist()) if known.size else tf.identity(data)


@maps("Unsqueeze", fidelity=BITWISE, audited=25)
def unsqueeze(t: Emission, data: Tensor, axes: Tensor) -> Tensor:
    known = t.static(axes)
    order = None if known is None else _one_by_one(known.ravel(), data.shape.rank)
    if order is None:
        return _unsqueezed_at(data, tf.reshape(axes, [-1]))
    if data.shape.rank == 0 and len(order) == 1:
        # A dim on its way into a shape: TensorFlow's shape inference sees through a pack.
        return tf.stack([data])
    for axis in order:
        data = tf.expand_dims(data, axis)
    return data


def _one_by_one(axes: np.ndarray, rank: int | None) -> list[int] | None:
    """The order in which axes can be added one at a time; None if only the rank, which is not known, tells."""
    if rank is not None:
        return sorted(normalized(axes, rank + axes.size))
    if (axes >= 0).all():
        return sorted(axes.tolist())
    return sorted(axes.tolist(), reverse=True) if (axes < 0).all() else None


def _unsqueezed_at(data: Tensor, axes: Tensor) -> Tensor:
    rank = rank_of(data) + tf.size(axes)
    kept = tf.where(~axis_mask(axes, rank))
    ones = tf.ones(tf.reshape(rank, [1]), tf.int64)
    return tf.reshape(data, tf.tensor_scatter_nd_update(ones, kept, shape_of(data)))


@maps("Transpose", fidelity=BITWISE, audited=25)
def transpose(t: Emission, data: Tensor, *, perm: list[int] | None) -> Tensor:
    if perm is not None and perm == sorted(perm):
        return tf.identity(data)
    return moving(lambda x: tf.transpose(x, perm), data)


@maps("Concat", fidelity=BITWISE, audited=13)
def concat(t: Emission, *inputs: Tensor, axis: int) -> Tensor:
    return tf.concat(inputs, axis)


@maps("Split", fidelity=BITWISE, audited=18)
def split(t: Emission, input: Tensor, split: Tensor | None, *, axis: int, num_outputs: int | None) -> list[Tensor]:
    count = len(t.node.outputs)
    if split is not None:
        return list(tf.split(input, split, axis, num=count))
    whole = size_of(input, axis, tf.int64)
    if isinstance(whole, int) and whole % count == 0:
        return list(tf.split(input, count, axis))
    chunk = (whole + count - 1) // count
    starts = tf.range(count, dtype=tf.int64) * chunk
    return list(tf.split(input, tf.clip_by_value(whole - starts, 0, chunk), axis, num=count))


@maps("Tile", fidelity=BITWISE, audited=13)
def tile(t: Emission, input: Tensor, repeats: Tensor) -> Tensor:
    return moving(lambda x: tf.tile(x, repeats), input, lacking=("uint16",))


@maps("Expand", fidelity=BITWISE, audited=13)
def expand(t: Emission, input: Tensor, shape: Tensor) -> Tensor:
    wanted = t.static(shape)
    if wanted is None or input.shape.rank is None:
        return tf.broadcast_to(input, tf.broadcast_dynamic_shape(shape_of(input), shape))
    own = sizes_of(input, out_type=tf.int64)
    longer = max(len(own), len(wanted))
    own = (1,) * (longer - len(own)) + own
    asked = [1] * (longer - len(wanted)) + wanted.tolist()
    target = [mine if size == 1 else size for mine, size in zip(own, asked, strict=True)]
    return tf.broadcast_to(input, target)
