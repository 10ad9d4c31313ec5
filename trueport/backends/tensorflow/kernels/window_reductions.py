"""Reductions over moving windows of channel-last data.

A window's maximum or sum is taken one axis at a time: an axis of k taps is reduced by k strided slices. That
serves every type, rank, dilation and stride; TensorFlow's own pooling kernels are taken where they apply.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Tensor
from trueport.backends.tensorflow.kernels.sizes import Size, size_of, sizes_of
from trueport.backends.tensorflow.kernels.spatial import Window, at_least, known, marked, pad_spatial

__all__ = ["average_windows", "max_windows", "max_windows_with_indices", "sum_windows", "to_ceil"]


def to_ceil(window: Window, sizes: Sequence[Size]) -> Window:
    """A window whose pads at the end give the places of ``ceil_mode``: the last one may reach over the pads.

    A last place that would begin in the pads at the end is dropped.
    """
    pads = []
    for size, extent, stride, (begin, end) in zip(sizes, window.extents, window.strides, window.pads, strict=True):
        if stride <= extent - end and not known(size):
            pads.append((begin, end + stride - 1))
            continue
        places = (size + begin + end - extent + stride - 1) // stride
        within = (size + begin - 1) // stride
        last = min(places, within) if known(size) else tf.minimum(places, within)
        pads.append((begin, at_least(last * stride + extent - size - begin, 0)))
    return marked(replace(window, pads=tuple(pads)), sizes)


def max_windows(x: Tensor, window: Window) -> Tensor:
    """The largest element under each position of the window; pads never win.

    TensorFlow's own kernel ignores NaN and starts from the lowest finite number, which ``check`` notes. Looking for
    them costs as much as the pool again, and a branch that does so only where a sum tells of them ends the process in
    ONNX Runtime when the model is converted back.
    """
    if window.dilated or window.rank > 2:
        return _by_axis(pad_spatial(x, window.pads, _lowest(x)), window, tf.maximum)
    if window.rank == 1:
        return tf.squeeze(max_windows(tf.expand_dims(x, 1), _lifted(window)), 1)
    if window.same:
        return tf.nn.max_pool2d(x, window.kernel, window.strides, "SAME")
    # Not with explicit pads, which neither XLA nor TensorFlow Lite takes.
    return tf.nn.max_pool2d(pad_spatial(x, window.pads, _lowest(x)), window.kernel, window.strides, "VALID")


def max_windows_with_indices(x: Tensor, window: Window, column_major: bool) -> tuple[Tensor, Tensor]:
    """The largest elements and where they stood in channel-first data, as offsets into all of them (int64).

    Of equal elements the first in row-major order counts; NaN is the largest, and of several the last counts.
    """
    sizes = sizes_of(x, range(1, window.rank + 1))
    places = pad_spatial(_offsets(sizes, column_major), window.pads, -1)
    best = pad_spatial(x, window.pads, _lowest(x))
    for axis in reversed(range(window.rank)):
        taps = zip(_taps(best, window, axis), _taps(places, window, axis), strict=True)
        best, places = next(taps)
        for value, place in taps:
            larger = (value > best) | tf.math.is_nan(value) if x.dtype.is_floating else value > best
            better = (place >= 0) & ((places < 0) | larger)
            best, places = tf.where(better, value, best), tf.where(better, place, places)
    batch, channels = (tf.cast(size_of(x, axis), tf.int64) for axis in (0, -1))
    planes = tf.reshape(tf.range(batch * channels), tf.stack([batch, *[1] * window.rank, channels]))
    return best, places + planes * tf.cast(_product(sizes), tf.int64)


def sum_windows(x: Tensor, window: Window) -> Tensor:
    """The sum of the elements under each place of the window."""
    x = pad_spatial(x, window.pads)
    window = window.without_pads()
    if _has_average_kernel(x, window):
        return _average_native(x, window) * tf.constant(math.prod(window.kernel), x.dtype)
    return _by_axis(x, window, tf.add)


def average_windows(x: Tensor, window: Window, counted: Window) -> Tensor:
    """The mean of the elements under each place that lie within the pads of ``counted``."""
    whole = not window.padded or (window.same and not counted.padded)
    if whole and _has_average_kernel(x, window):
        return _average_native(x, window)
    sizes = sizes_of(x, range(1, window.rank + 1))
    return sum_windows(x, window) / tf.cast(_counts(window, counted, sizes), x.dtype)


def _counts(window: Window, counted: Window, sizes: Sequence[Size]) -> Tensor:
    """How many taps of each place lie within the data and the pads of ``counted``: [places…, 1]."""
    total = tf.ones([1], tf.int32)
    for axis, places in enumerate(window.outputs(sizes)):
        starts = tf.range(places) * window.strides[axis] - window.pads[axis][0]
        taps = starts[:, None] + tf.range(window.kernel[axis]) * window.dilations[axis]
        begin, end = counted.pads[axis]
        inside = (taps >= -begin) & (taps < sizes[axis] + end)
        count = tf.reduce_sum(tf.cast(inside, tf.int32), 1)
        total = total * tf.reshape(count, [-1] + [1] * (window.rank - axis))
    return total


def _has_average_kernel(x: Tensor, window: Window) -> bool:
    return not window.dilated and (window.rank < 3 or (window.rank == 3 and x.dtype == tf.float32))


def _average_native(x: Tensor, window: Window) -> Tensor:
    if window.rank == 1:
        return tf.squeeze(_average_native(tf.expand_dims(x, 1), _lifted(window)), 1)
    pool = tf.nn.avg_pool2d if window.rank == 2 else tf.nn.avg_pool3d
    return pool(x, window.kernel, window.strides, "SAME" if window.same else "VALID")


def _lifted(window: Window) -> Window:
    return Window((1, *window.kernel), (1, *window.strides), (1, 1), ((0, 0), *window.pads), window.same)


def _by_axis(x: Tensor, window: Window, combine: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    for axis in range(window.rank):
        taps = _taps(x, window, axis)
        x = next(taps)
        for tap in taps:
            x = combine(x, tap)
    return x


def _taps(x: Tensor, window: Window, axis: int) -> Iterator[Tensor]:
    """What the kernel's elements along one spatial axis see at all places of that axis."""
    places = size_of(x, axis + 1) - (window.kernel[axis] - 1) * window.dilations[axis]
    for tap in range(window.kernel[axis]):
        start = tap * window.dilations[axis]
        yield x[(slice(None),) * (axis + 1) + (slice(start, start + places, window.strides[axis]),)]


def _offsets(sizes: Sequence[Size], column_major: bool) -> Tensor:
    """Each element's offset in its plane: [1, spatial…, 1]."""
    count = tf.range(tf.cast(_product(sizes), tf.int64))
    if column_major:
        grid = tf.transpose(tf.reshape(count, tf.stack(sizes[::-1])))
    else:
        grid = tf.reshape(count, tf.stack(sizes))
    return grid[tf.newaxis, ..., tf.newaxis]


def _product(sizes: Sequence[Size]) -> Size:
    return math.prod(sizes) if known(*sizes) else tf.reduce_prod(tf.stack(sizes))


def _lowest(x: Tensor) -> Any:
    return x.dtype.min if x.dtype.is_integer else -math.inf
