"""Deformable convolutions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.numeric import widened
from trueport.backends.tensorflow.kernels.sizes import Size, size_of, sizes_of
from trueport.backends.tensorflow.kernels.spatial import Window, known, window_of
from trueport.mapping.declare import maps
from trueport.mapping.needs import known_kernel, known_rank

__all__: list[str] = []


@maps("DeformConv", needs=[known_rank(0), known_kernel(1)], audited=22)
def deform_conv(
    t: Emission,
    X: Tensor,
    W: Tensor,
    offset: Tensor,
    B: Tensor | None,
    mask: Tensor | None,
    *,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    offset_group: int,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Tensor:
    rank = t.rank(X) - 2
    kernel = kernel_shape or sizes_of(W, range(2, rank + 2))
    if not known(*kernel):
        raise t.fail("the size of the kernel is not known", "give the node a kernel_shape")
    sizes = sizes_of(X, range(2, rank + 2))
    window = window_of(sizes, kernel, strides=strides, dilations=dilations, pads=pads)
    weights = (mask,) if mask is not None else ()

    def apply(x: Tensor, w: Tensor, offset: Tensor, *weights: Tensor) -> Tensor:
        points = _points(offset, window, offset_group)
        samples = _interpolated(x, points, offset_group)
        if weights:
            samples = samples * tf.reshape(weights[0], tf.shape(samples)[:-1])[..., tf.newaxis]
        return _contracted(samples, w, group, math.prod(kernel))

    y = widened(apply, X, W, offset, *weights)
    places = sizes_of(offset, range(2, rank + 2))
    y = tf.reshape(y, tf.stack([size_of(X, 0), size_of(W, 0), *places]))
    return y if B is None else y + tf.reshape(B, [-1] + [1] * rank)


def _points(offset: Tensor, window: Window, groups: int) -> Tensor:
    """Where each tap of each place looks: [N, groups, taps, axes, places…]."""
    rank, taps = window.rank, math.prod(window.kernel)
    places = sizes_of(offset, range(2, rank + 2))
    moved = tf.reshape(offset, tf.stack([size_of(offset, 0), groups, taps, rank, *places]))
    tap_grid = itertools.product(*(range(size) for size in window.kernel))
    reach = [[k * d for k, d in zip(tap, window.dilations, strict=True)] for tap in tap_grid]
    fixed = tf.reshape(tf.constant(reach, moved.dtype), [taps, rank] + [1] * rank)
    starts = []
    for axis, count in enumerate(places):
        start = tf.range(count) * window.strides[axis] - window.pads[axis][0]
        along = tf.reshape(tf.cast(start, moved.dtype), [-1] + [1] * (rank - 1 - axis))
        starts.append(tf.broadcast_to(along, tf.stack(places)))
    return moved + fixed + tf.stack(starts)


def _interpolated(x: Tensor, points: Tensor, groups: int) -> Tensor:
    """The data at the points, zero outside: [N, groups, taps, places…, C / groups]."""
    rank = x.shape.rank - 2
    batch, channels = sizes_of(x, (0, 1))
    sizes = sizes_of(x, range(2, rank + 2))
    planes = tf.reshape(x, tf.stack([batch, groups, channels // groups, -1]))
    planes = tf.transpose(planes, [0, 1, 3, 2])
    axes = []
    for axis, point in enumerate(tf.unstack(points, axis=3)):
        # Nothing is sampled beyond one element from the edge; so far an index always fits its type.
        point = tf.clip_by_value(point, -1.0, tf.cast(sizes[axis], point.dtype))
        low = tf.floor(point)
        axes.append(((tf.cast(low, tf.int32), 1 - (point - low)), (tf.cast(low, tf.int32) + 1, point - low)))
    total = None
    for corner in itertools.product(*axes):
        part = _corner(planes, corner, sizes)
        total = part if total is None else total + part
    return total


def _corner(planes: Tensor, corner: Sequence[tuple[Tensor, Tensor]], sizes: Sequence[Size]) -> Tensor:
    index, weight = tf.zeros([], tf.int32), tf.ones([], planes.dtype)
    for (at, share), size in zip(corner, sizes, strict=True):
        inside = (at >= 0) & (at < size)
        index = index * size + tf.where(inside, at, 0)
        weight = tf.where(inside, weight * share, tf.zeros([], planes.dtype))
    return tf.gather(planes, index, batch_dims=2) * weight[..., tf.newaxis]


def _contracted(samples: Tensor, w: Tensor, groups: int, taps: int) -> Tensor:
    """Samples [N, offset groups, taps, places…, c] with W [M, C / groups, taps…] give [N, M, places]."""
    shape = tf.shape(samples)
    samples = tf.reshape(samples, tf.stack([shape[0], shape[1], taps, -1, shape[-1]]))
    samples = tf.transpose(samples, [0, 3, 2, 1, 4])
    samples = tf.reshape(samples, tf.stack([shape[0], -1, taps, groups, size_of(w, 1)]))
    kernel = tf.reshape(w, tf.stack([groups, -1, size_of(w, 1), taps]))
    return tf.einsum("npkgc,gmck->ngmp", samples, kernel)
