"""Sampling at given places: GridSample, and AffineGrid that makes the places."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.resampling import cubic_weights, mixed_strings
from trueport.backends.tensorflow.kernels.shapes import of_rank
from trueport.backends.tensorflow.kernels.sizes import size_of
from trueport.mapping.declare import maps
from trueport.mapping.needs import known_length, known_rank

__all__: list[str] = []


class _Tap(NamedTuple):
    """One neighbor of every place along one axis: its position inside the input, whether it is there, its weight."""

    position: Tensor
    inside: Tensor | None
    weight: Tensor


_MIXED = mixed_strings(
    "linear", '(string[1,1,2,2] x, float[1,2,2,2] g) => (string[1,1,2,2] y) { y = GridSample<mode="linear">(x, g) }'
)


@maps("GridSample", needs=[known_rank(0, 1)], audited=22, limits=[_MIXED])
def grid_sample(t: Emission, X: Tensor, grid: Tensor, *, align_corners: int, mode: str, padding_mode: str) -> Tensor:
    X = of_rank(X, t.rank(X, grid))
    if mode == "nearest":
        return _sampled(X, _taps(X, grid, mode, padding_mode, align_corners), grid)
    taps = _taps(X, grid, mode, padding_mode, align_corners)
    if X.dtype.is_complex:
        return tf.complex(_sampled(tf.math.real(X), taps, grid), _sampled(tf.math.imag(X), taps, grid))
    wide = X.dtype if X.dtype in (tf.float32, tf.float64) else tf.float64 if X.dtype.size > 2 else tf.float32
    return tf.cast(_sampled(tf.cast(X, wide), taps, grid), X.dtype)


def _axes_are_unknown(node: ir.Node) -> bool:
    theta = node.inputs[0]
    return theta is None or theta.shape is None or not isinstance(theta.shape[1], int)


@maps("AffineGrid", needs=[known_length(1, of="its size", when=_axes_are_unknown)], audited=20)
def affine_grid(t: Emission, theta: Tensor, size: Tensor, *, align_corners: int) -> Tensor:
    wide = tf.float64 if theta.dtype == tf.float64 else tf.float32
    theta = of_rank(theta, 3)
    entries = None if size.shape.rank is None else size.shape[0]
    if entries is None and theta.shape[1] is None:
        raise t.fail("the number of the image's axes is not known", "make size a constant, or of fixed length")
    spatial = theta.shape[1] if entries is None else entries - 2
    lengths = [tf.cast(size, tf.int32)[2 + i] for i in range(spatial)]
    steps = [_steps(length, align_corners, wide) for length in lengths]
    # Coordinates are listed from the innermost axis outwards, and a 1 for the translation.
    mesh = tf.meshgrid(*steps, indexing="ij")[::-1]
    points = tf.stack([*mesh, tf.ones_like(mesh[0])], -1)
    flat = tf.matmul(tf.reshape(points, [1, -1, spatial + 1]), tf.cast(theta, wide), transpose_b=True)
    return tf.cast(tf.reshape(flat, [-1, *lengths, spatial]), theta.dtype)


def _steps(length: Tensor, align_corners: int, dtype: Any) -> Tensor:
    index, count = tf.cast(tf.range(length), dtype), tf.cast(length, dtype)
    if align_corners:
        return -1 + 2 * index / (count - 1)
    return (2 * index + 1) / count - 1


def _taps(X: Tensor, grid: Tensor, mode: str, padding: str, align_corners: int) -> list[list[_Tap]]:
    """For each spatial axis the neighbors along it of every place in the grid."""
    places = tf.cast(grid, tf.float64 if tf.float64 in (X.dtype, grid.dtype) else tf.float32)
    spatial = X.shape.rank - 2
    return [
        _axis_taps(places[..., spatial - 1 - i], size_of(X, 2 + i), mode, padding, align_corners)
        for i in range(spatial)
    ]


def _axis_taps(x: Tensor, length: Any, mode: str, padding: str, align_corners: int) -> list[_Tap]:
    extent = tf.cast(length, x.dtype)
    low, high = (0.0, extent - 1) if align_corners else (-0.5, extent - 0.5)
    x = (x + 1) / 2 * (extent - 1) if align_corners else ((x + 1) * extent - 1) / 2
    x = tf.round(x) if mode == "nearest" else x
    if padding == "border" and mode != "cubic":  # whose neighbors are clamped one by one
        x = tf.where((x < low) | (x > high), tf.clip_by_value(x, tf.zeros([], x.dtype), extent - 1), x)
    elif padding == "reflection":
        x = _reflected(x, low, high)
    base = tf.math.floor(x)
    ratio = x - base
    if mode == "nearest":
        weights, first = [tf.ones_like(x)], 0
    elif mode == "linear":
        weights, first = [1 - ratio, ratio], 0
    else:
        weights, first = tf.unstack(cubic_weights(ratio[..., None], -0.75), axis=-1), -1
    return [
        _Tap(*_position(base + (first + k), length, low, high, padding), weight) for k, weight in enumerate(weights)
    ]


def _position(at: Tensor, length: Any, low: Any, high: Any, padding: str) -> tuple[Tensor, Tensor | None]:
    """A neighbor's index after padding, and for zero padding whether it is a pixel at all."""
    last = tf.cast(length, at.dtype) - 1
    inside = (at >= 0) & (at <= last) if padding == "zeros" else None
    at = _reflected(at, low, high) if padding == "reflection" else at
    return tf.cast(tf.clip_by_value(at, tf.zeros([], at.dtype), last), tf.int32), inside


def _reflected(x: Tensor, low: Any, high: Any) -> Tensor:
    """Mirrored at the borders until it lies between them."""
    low, high = tf.cast(low, x.dtype), tf.cast(high, x.dtype)
    beyond = tf.maximum(low - x, x - high)
    times = tf.math.floor(tf.math.divide_no_nan(beyond, high - low))
    rest = beyond - times * (high - low)
    even = tf.equal(tf.math.floormod(times, 2), 0)
    from_low, from_high = low + rest, high - rest
    folded = tf.where(even == (x < low), from_low, from_high)
    return tf.where(beyond > 0, folded, x)


def _sampled(X: Tensor, taps: list[list[_Tap]], grid: Tensor) -> Tensor:
    """All combinations of the axes' neighbors, each one gather of whole pixels (all channels)."""
    rank = X.shape.rank
    pixels = tf.reshape(tf.transpose(X, [0, *range(2, rank), 1]), [-1, size_of(X, 1)])
    total = None
    for combination in itertools.product(*taps):
        value = _pixel(X, pixels, combination)
        if len(taps[0]) > 1:
            weight = combination[0].weight
            for tap in combination[1:]:
                weight = weight * tap.weight
            value = value * tf.cast(weight, X.dtype)[..., None]
        total = value if total is None else total + value
    made = tf.transpose(total, [0, rank - 1, *range(1, rank - 1)])
    made.set_shape([X.shape[0], X.shape[1], *grid.shape[1:-1]])
    return made


def _pixel(X: Tensor, pixels: Tensor, combination: tuple[_Tap, ...]) -> Tensor:
    spatial = X.shape.rank - 2
    index = tf.reshape(tf.range(size_of(X, 0)), [-1, *[1] * spatial])
    for axis, tap in enumerate(combination):
        index = index * size_of(X, 2 + axis) + tap.position
    value = tf.gather(pixels, index)
    existing = [tap.inside for tap in combination if tap.inside is not None]
    if not existing:
        return value
    exists = existing[0]
    for inside in existing[1:]:
        exists = exists & inside
    return tf.where(exists[..., None], value, tf.zeros([], X.dtype))
