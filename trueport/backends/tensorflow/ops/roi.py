"""Pooling over regions of interest: all cells that the bins of any region may need are gathered at once."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.numeric import widened
from trueport.backends.tensorflow.kernels.shapes import of_rank
from trueport.backends.tensorflow.kernels.sizes import Size, size_of, sizes_of
from trueport.mapping.declare import maps

__all__: list[str] = []


class _Samples(NamedTuple):
    """Sampling points along one axis, [regions, bins × points]: two neighbours with their shares."""

    low: Tensor
    high: Tensor
    low_share: Tensor
    high_share: Tensor
    counted: Tensor
    """whether the region has the point"""
    number: Tensor
    """how many points each bin of a region has, [regions]"""


@maps("RoiAlign", audited=22)
def roi_align(
    t: Emission,
    X: Tensor,
    rois: Tensor,
    batch_indices: Tensor,
    *,
    coordinate_transformation_mode: str,
    mode: str,
    output_height: int,
    output_width: int,
    sampling_ratio: int,
    spatial_scale: float,
) -> Tensor:
    X, rois, batch_indices = of_rank(X, 4), of_rank(rois, 2), of_rank(batch_indices, 1)
    half_pixel = coordinate_transformation_mode == "half_pixel"

    def apply(x: Tensor, rois: Tensor) -> Tensor:
        corners = rois * tf.cast(spatial_scale, rois.dtype) - (0.5 if half_pixel else 0.0)
        left, top, right, bottom = tf.unstack(corners, num=4, axis=1)
        least = -float("inf") if half_pixel else 1.0
        rows = _samples(top, tf.maximum(bottom - top, least), output_height, sampling_ratio, size_of(x, 2))
        columns = _samples(left, tf.maximum(right - left, least), output_width, sampling_ratio, size_of(x, 3))
        pool = _average if mode == "avg" else _largest
        return tf.transpose(pool(x, batch_indices, rows, columns, (output_height, output_width)), [0, 3, 1, 2])

    return widened(apply, X, rois)


def _samples(start: Tensor, length: Tensor, bins: int, ratio: int, size: Size) -> _Samples:
    """Points evenly spread in each bin; those further than one cell outside have no share."""
    step = length / bins
    number = tf.fill(tf.shape(length), ratio) if ratio > 0 else tf.maximum(tf.cast(tf.math.ceil(step), tf.int32), 0)
    points = tf.range(ratio if ratio > 0 else tf.reduce_max(tf.concat([[0], number], 0)))
    within = (tf.cast(points, step.dtype) + 0.5) * (step / tf.cast(tf.maximum(number, 1), step.dtype))[:, None]
    begins = start[:, None] + tf.range(bins, dtype=step.dtype) * step[:, None]
    place = _flat(begins[..., None] + within[:, None])
    last = tf.cast(size - 1, place.dtype)
    inside = (place >= -1) & (place <= last + 1)
    place = tf.clip_by_value(place, 0, last)
    low = tf.cast(tf.floor(place), tf.int32)
    share = place - tf.floor(place)
    none = tf.zeros([], place.dtype)
    return _Samples(
        low,
        tf.minimum(low + 1, size - 1),
        tf.where(inside, 1 - share, none),
        tf.where(inside, share, none),
        tf.tile(points < number[:, None], [1, bins]),
        number,
    )


def _flat(x: Tensor) -> Tensor:
    """[regions, bins, points] as [regions, bins × points]."""
    shape = tf.shape(x)
    return tf.reshape(x, tf.stack([shape[0], shape[1] * shape[2]]))


def _outer(rows: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    """Both shaped to be broadcast over [regions, rows, columns, channels]."""
    return rows[:, :, None, None], columns[:, None, :, None]


def _corners(x: Tensor, batch: Tensor, rows: _Samples, columns: _Samples) -> Sequence[Tensor]:
    """The four neighbours of all points times their shares: [regions, rows, columns, C] each."""
    parts = []
    for row, row_share in ((rows.low, rows.low_share), (rows.high, rows.high_share)):
        for column, column_share in ((columns.low, columns.low_share), (columns.high, columns.high_share)):
            first, second = _outer(row_share, column_share)
            parts.append(_gathered(x, batch, row, column) * (first * second))
    return parts


def _per_bin(x: Tensor, height: int, width: int) -> Tensor:
    """[regions, rows, columns, C] as [regions, bins, points, bins, points, C]."""
    regions, rows, columns, channels = tf.unstack(tf.shape(x))
    return tf.reshape(x, tf.stack([regions, height, rows // height, width, columns // width, channels]))


def _average(x: Tensor, batch: Tensor, rows: _Samples, columns: _Samples, bins: tuple[int, int]) -> Tensor:
    first, second = _outer(rows.counted, columns.counted)
    total = tf.add_n(_corners(x, batch, rows, columns))
    total = tf.where(first & second, total, tf.zeros([], x.dtype))
    number = tf.cast(tf.maximum(rows.number * columns.number, 1), x.dtype)
    return tf.reduce_sum(_per_bin(total, *bins), [2, 4]) / number[:, None, None, None]


def _largest(x: Tensor, batch: Tensor, rows: _Samples, columns: _Samples, bins: tuple[int, int]) -> Tensor:
    """The largest of all weighted neighbours: what ONNX calls the maximum, though it is not that of the points."""
    first, second = _outer(rows.counted, columns.counted)
    largest = functools.reduce(tf.maximum, _corners(x, batch, rows, columns))
    largest = tf.reduce_max(_per_bin(tf.where(first & second, largest, -math.inf), *bins), [2, 4])
    empty = (rows.number * columns.number <= 0)[:, None, None, None]
    return tf.where(empty, tf.zeros([], x.dtype), largest)


def _gathered(x: Tensor, batch: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Cells of channel-first data: [regions, rows, columns, C] for the rows and columns of each region."""
    number, channels, height, width = sizes_of(x, range(4))
    cells = tf.reshape(tf.transpose(x, [0, 2, 3, 1]), tf.stack([number * height * width, channels]))
    lines = tf.cast(batch, tf.int32)[:, None] * height + rows
    return tf.gather(cells, lines[:, :, None] * width + columns[:, None, :])


@maps("MaxRoiPool", audited=22)
def max_roi_pool(t: Emission, X: Tensor, rois: Tensor, *, pooled_shape: Sequence[int], spatial_scale: float) -> Tensor:
    def apply(x: Tensor, rois: Tensor) -> Tensor:
        batch = tf.cast(rois[:, 0], tf.int32)
        scaled = rois[:, 1:] * tf.cast(spatial_scale, rois.dtype)
        left, top, right, bottom = tf.unstack(_rounded(scaled), num=4, axis=1)
        rows, row_inside = _cells(top, bottom, pooled_shape[0], size_of(x, 2), x.dtype)
        columns, column_inside = _cells(left, right, pooled_shape[1], size_of(x, 3), x.dtype)
        first, second = _outer(row_inside, column_inside)
        found = tf.where(first & second, _gathered(x, batch, rows, columns), -math.inf)
        any_inside = tf.reduce_any(_per_bin(first & second, *pooled_shape), [2, 4])
        largest = tf.reduce_max(_per_bin(found, *pooled_shape), [2, 4])
        largest = tf.where(any_inside, largest, tf.zeros([], x.dtype))
        return tf.transpose(largest, [0, 3, 1, 2])

    return widened(apply, X, rois)


def _rounded(x: Tensor) -> Tensor:
    """To the nearest integer, halves away from zero."""
    return tf.cast(tf.sign(x) * tf.floor(tf.abs(x) + 0.5), tf.int32)


def _cells(first: Tensor, last: Tensor, bins: int, size: Size, dtype: object) -> tuple[Tensor, Tensor]:
    """Indices along one axis, [regions, bins × cells], and which of them lie in the bin and in the data."""
    step = tf.cast(tf.maximum(last - first + 1, 1), dtype) / bins
    edges = tf.range(bins, dtype=dtype) * step[:, None]
    begin = tf.clip_by_value(tf.cast(tf.floor(edges), tf.int32) + first[:, None], 0, size)
    beyond = tf.cast(tf.math.ceil((tf.range(bins, dtype=dtype) + 1) * step[:, None]), tf.int32)
    end = tf.clip_by_value(beyond + first[:, None], 0, size)
    cells = begin[..., None] + tf.range(tf.reduce_max(tf.concat([[0], tf.reshape(end - begin, [-1])], 0)))
    return _flat(tf.minimum(cells, size - 1)), _flat(cells < end[..., None])
