"""Pooling over regions of interest: all cells that the bins of any region may need are gathered at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.context import Tensor, Translation
from trueport.backends.tensorflow.numeric import widened
from trueport.backends.tensorflow.spatial import Size, size_of, sizes_of
from trueport.fidelity import accumulation, ulps
from trueport.mapping.declare import maps

__all__: list[str] = []


class _Samples(NamedTuple):
    """Sampling points along one axis, [regions, bins, points]: two neighbours with their shares, and which count."""

    low: Tensor
    high: Tensor
    low_share: Tensor
    high_share: Tensor
    counts: Tensor
    """points that the region has"""
    number: Tensor
    """how many they are, [regions]"""


@maps("RoiAlign", audited=22, error=accumulation(8, 4))
def roi_align(
    t: Translation,
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
    half_pixel = coordinate_transformation_mode == "half_pixel"

    def apply(x: Tensor, rois: Tensor) -> Tensor:
        corners = rois * tf.cast(spatial_scale, rois.dtype) - (0.5 if half_pixel else 0.0)
        left, top, right, bottom = tf.unstack(corners, num=4, axis=1)
        least = -float("inf") if half_pixel else 1.0
        rows = _samples(top, tf.maximum(bottom - top, least), output_height, sampling_ratio, size_of(x, 2))
        columns = _samples(left, tf.maximum(right - left, least), output_width, sampling_ratio, size_of(x, 3))
        pool = _average if mode == "avg" else _largest
        return tf.transpose(pool(x, batch_indices, rows, columns), [0, 3, 1, 2])

    return widened(apply, X, rois)


def _samples(start: Tensor, length: Tensor, bins: int, ratio: int, size: Size) -> _Samples:
    """Points evenly spread in each bin; those further than one cell outside have no share."""
    step = length / bins
    number = tf.fill(tf.shape(length), ratio) if ratio > 0 else tf.maximum(tf.cast(tf.math.ceil(step), tf.int32), 0)
    points = tf.range(ratio if ratio > 0 else tf.reduce_max(tf.concat([[0], number], 0)))
    within = (tf.cast(points, step.dtype) + 0.5) * (step / tf.cast(tf.maximum(number, 1), step.dtype))[:, None]
    place = (start[:, None] + tf.range(bins, dtype=step.dtype) * step[:, None])[..., None] + within[:, None]
    last = tf.cast(size - 1, place.dtype)
    inside = (place >= -1) & (place <= last + 1)
    place = tf.clip_by_value(place, 0, last)
    low = tf.floor(place)
    share = place - low
    index = tf.cast(low, tf.int32)
    none = tf.zeros([], place.dtype)
    return _Samples(
        index,
        tf.minimum(index + 1, size - 1),
        tf.where(inside, 1 - share, none),
        tf.where(inside, share, none),
        (points < number[:, None])[:, None],
        number,
    )


def _corners(x: Tensor, batch: Tensor, rows: _Samples, columns: _Samples) -> Sequence[Tensor]:
    """The four neighbours of all points times their shares: [regions, bins, points, bins, points, C] each."""
    return [
        _gathered(x, batch, row, column) * (y[:, :, :, None, None] * x_share[:, None, None])[..., None]
        for row, y in ((rows.low, rows.low_share), (rows.high, rows.high_share))
        for column, x_share in ((columns.low, columns.low_share), (columns.high, columns.high_share))
    ]


def _counted(rows: _Samples, columns: _Samples) -> Tensor:
    return (rows.counts[:, :, :, None, None] & columns.counts[:, None, None])[..., None]


def _average(x: Tensor, batch: Tensor, rows: _Samples, columns: _Samples) -> Tensor:
    counted = tf.cast(_counted(rows, columns), x.dtype)
    total = tf.add_n([tf.reduce_sum(part * counted, [2, 4]) for part in _corners(x, batch, rows, columns)])
    number = tf.cast(tf.maximum(rows.number * columns.number, 1), x.dtype)
    return total / number[:, None, None, None]


def _largest(x: Tensor, batch: Tensor, rows: _Samples, columns: _Samples) -> Tensor:
    """The largest of all weighted neighbours: what ONNX calls the maximum, though it is not that of the points."""
    counted = _counted(rows, columns)
    parts = [tf.where(counted, part, -math.inf) for part in _corners(x, batch, rows, columns)]
    largest = tf.reduce_max(tf.stack([tf.reduce_max(part, [2, 4]) for part in parts]), 0)
    empty = (rows.number * columns.number <= 0)[:, None, None, None]
    return tf.where(empty, tf.zeros([], x.dtype), largest)


def _gathered(x: Tensor, batch: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Cells of channel-first data: [regions, bins, cells, bins, cells, C] for rows and columns of each region."""
    number, channels, height, width = sizes_of(x, range(4))
    cells = tf.reshape(tf.transpose(x, [0, 2, 3, 1]), tf.stack([number * height * width, channels]))
    lines = tf.cast(batch, tf.int32)[:, None, None] * height + rows
    return tf.gather(cells, lines[:, :, :, None, None] * width + columns[:, None, None])


@maps("MaxRoiPool", audited=22, error=ulps(0))
def max_roi_pool(
    t: Translation, X: Tensor, rois: Tensor, *, pooled_shape: Sequence[int], spatial_scale: float
) -> Tensor:
    def apply(x: Tensor, rois: Tensor) -> Tensor:
        batch = tf.cast(rois[:, 0], tf.int32)
        scaled = rois[:, 1:] * tf.cast(spatial_scale, rois.dtype)
        left, top, right, bottom = tf.unstack(_rounded(scaled), num=4, axis=1)
        rows, row_inside = _cells(top, bottom, pooled_shape[0], size_of(x, 2), x.dtype)
        columns, column_inside = _cells(left, right, pooled_shape[1], size_of(x, 3), x.dtype)
        inside = (row_inside[:, :, :, None, None] & column_inside[:, None, None])[..., None]
        found = tf.where(inside, _gathered(x, batch, rows, columns), -math.inf)
        largest = tf.where(tf.reduce_any(inside, [2, 4]), tf.reduce_max(found, [2, 4]), tf.zeros([], x.dtype))
        return tf.transpose(largest, [0, 3, 1, 2])

    return widened(apply, X, rois)


def _rounded(x: Tensor) -> Tensor:
    """To the nearest integer, halves away from zero."""
    return tf.cast(tf.sign(x) * tf.floor(tf.abs(x) + 0.5), tf.int32)


def _cells(first: Tensor, last: Tensor, bins: int, size: Size, dtype: object) -> tuple[Tensor, Tensor]:
    """Indices along one axis, [regions, bins, cells], and which of them lie in the bin and in the data."""
    step = tf.cast(tf.maximum(last - first + 1, 1), dtype) / bins
    edges = tf.range(bins, dtype=dtype) * step[:, None]
    begin = tf.clip_by_value(tf.cast(tf.floor(edges), tf.int32) + first[:, None], 0, size)
    beyond = tf.cast(tf.math.ceil((tf.range(bins, dtype=dtype) + 1) * step[:, None]), tf.int32)
    end = tf.clip_by_value(beyond + first[:, None], 0, size)
    cells = begin[..., None] + tf.range(tf.reduce_max(tf.concat([[0], tf.reshape(end - begin, [-1])], 0)))
    return tf.minimum(cells, size - 1), cells < end[..., None]
