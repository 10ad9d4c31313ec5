"""Indices into dims: negative ones, positions of elements, and slices in TensorFlow's terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.kernels.shapes import axis_mask, normalized, of_rank, rank_of, shape_of
from trueport.backends.tensorflow.kernels.sizes import sizes_of

__all__ = ["Window", "dynamic_window", "element_positions", "from_front", "static_window"]

Tensor = Any

_LAST = np.iinfo(np.int64).max


def from_front(indices: Tensor, size: int | Tensor) -> Tensor:
    """Indices with negative ones counted from the end; ``size`` broadcasts against them."""
    known = tf.get_static_value(indices)
    if known is not None and (known >= 0).all():
        return indices
    return tf.where(indices < 0, indices + tf.cast(size, indices.dtype), indices)


def element_positions(data: Tensor, indices: Tensor, axis: int) -> Tensor:
    """Where ``data[i, j, indices[i, j, k], …]`` lie in the raveled data; int64, shaped as the indices."""
    rank = indices.shape.rank if data.shape.rank is None else data.shape.rank
    if rank is None:
        return _positions_of_any_rank(data, tf.cast(indices, tf.int64), axis)
    data, indices = of_rank(data, rank), of_rank(indices, rank)
    axis %= rank
    sizes, extents = sizes_of(data, out_type=tf.int64), sizes_of(indices, out_type=tf.int64)
    positions, stride = tf.zeros([], tf.int64), 1
    for at in reversed(range(rank)):
        if at == axis:
            along = from_front(tf.cast(indices, tf.int64), sizes[at])
        else:
            along = tf.reshape(tf.range(extents[at], dtype=tf.int64), [-1] + [1] * (rank - at - 1))
        positions += along * stride
        stride *= sizes[at]
    return positions


def _positions_of_any_rank(data: Tensor, indices: Tensor, axis: int) -> Tensor:
    """The same where the rank is known only at run time."""
    sizes, extents = shape_of(data), shape_of(indices)
    flat = tf.reshape(from_front(indices, sizes[axis]), [-1])
    some = tf.maximum(extents, 1)[:, tf.newaxis]
    # Not by tf.unravel_index, which refuses to find no places.
    steps = tf.math.cumprod(some, exclusive=True, reverse=True)
    places = tf.range(tf.size(flat, tf.int64), dtype=tf.int64) // steps % some
    along = tf.range(tf.size(sizes)) == (axis if axis >= 0 else tf.size(sizes) + axis)
    places = tf.where(along[:, tf.newaxis], flat, places)
    strides = tf.math.cumprod(sizes, exclusive=True, reverse=True)
    return tf.reshape(tf.reduce_sum(places * strides[:, tf.newaxis], 0), extents)


class Window(NamedTuple):
    """The arguments of a strided slice; a bit in a mask stands for an axis taken from its first or to its last."""

    begin: Any
    end: Any
    strides: Any
    begin_mask: int = 0
    end_mask: int = 0

    def of(self, data: Tensor) -> Tensor:
        """What of the data lies in the window."""
        begin, end, strides = (tf.convert_to_tensor(bound, tf.int64) for bound in self[:3])
        return tf.strided_slice(data, begin, end, strides, begin_mask=self.begin_mask, end_mask=self.end_mask)


def static_window(
    starts: Sequence[Any], ends: Sequence[Any], axes: Sequence[int], steps: Sequence[int], rank: int
) -> Window:
    """A window over known axes with known steps; starts and ends are numbers or scalars."""
    begin: list[Any] = [0] * rank
    end: list[Any] = [0] * rank
    strides = [1] * rank
    open_start = open_end = set(range(rank))
    for start, stop, axis, step in zip(starts, ends, normalized(axes, rank), steps, strict=True):
        begin[axis], end[axis], strides[axis] = start, stop, int(step)
        open_start, open_end = open_start - {axis}, open_end - {axis}
        if isinstance(start, int) and start == 0 and step > 0:
            open_start = open_start | {axis}
        if isinstance(stop, int) and stop >= np.iinfo(np.int32).max and step > 0:
            open_end = open_end | {axis}
    return Window(begin, end, strides, sum(1 << axis for axis in open_start), sum(1 << axis for axis in open_end))


def dynamic_window(starts: Tensor, ends: Tensor, axes: Tensor, steps: Tensor, data: Tensor) -> Window:
    """A window whose axes are known only at run time; all vectors int64."""
    rank = rank_of(data)
    at = tf.where(axis_mask(axes, rank))
    order = tf.argsort(tf.where(axes < 0, axes + tf.cast(rank, tf.int64), axes))
    whole = tf.zeros(tf.reshape(rank, [1]), tf.int64)

    def placed(default: int, values: Tensor) -> Tensor:
        return tf.tensor_scatter_nd_update(whole + default, at, tf.gather(values, order))

    return Window(placed(0, starts), placed(_LAST, ends), placed(1, steps))
