"""Resampling of images: which sample, or which weights of samples, each new pixel takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.formulas.images.spatial import size_at
from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.translate.context import Translation

__all__ = ["along_axes", "computed_places", "nearest_places", "resampled", "static_sizes", "takes_the_same"]

Resize = Callable[[Any, list[int]], Any]
"""TensorFlow's own operator, on an image and a size."""


def static_sizes(t: Translation, images: ir.Value, size: ir.Value) -> list[tuple[int, int]] | None:
    """Old and new height, old and new width; None where one is known only when the model runs."""
    made = t.static(size)
    before = t.dims(images)[1:3]
    if made is None or before[0] is None or before[1] is None:
        return None
    return [(old, int(new)) for old, new in zip((before[0], before[1]), made.ravel(), strict=True)]


def resampled(t: Translation, images: ir.Value, size: ir.Value, resizes: tuple[Resize, Resize]) -> ir.Value:
    """Sums of samples along each axis with the very weights that TensorFlow uses.

    They are what TensorFlow makes of the unit vectors along an axis; ``resizes`` resize along height and width alone.
    """
    sizes = static_sizes(t, images, size)
    if sizes is None:
        raise t.fail(
            "the weights hang on sizes that are known only when the model runs; ONNX has no such resize",
            "give the images a size (--shape NAME=DIMS) and resize to a constant one",
        )
    with tf.init_scope():
        weights = [_weights(resize, *pair) for resize, pair in zip(resizes, sizes, strict=True)]
    made = t.cast(images, ir.DataType.FLOAT)
    for axis, matrix in enumerate(weights, start=1):
        made = _summed(t, made, axis, matrix)
    return made


def _summed(t: Translation, images: ir.Value, axis: int, matrix: np.ndarray) -> ir.Value:
    """New samples along an axis: each a sum of its own few old ones, so that a NaN reaches no further than these."""
    used = matrix != 0
    first = used.argmax(axis=1)
    count = np.where(used.any(axis=1), matrix.shape[1] - used[:, ::-1].argmax(axis=1) - first, 1)
    steps = np.arange(count.max())
    inside = steps < count[:, None]
    places = first[:, None] + np.minimum(steps, count[:, None] - 1)
    weights = np.where(inside, np.take_along_axis(matrix, places, axis=1), 0).astype(np.float32)
    taken = t.op.Gather(images, places, axis=axis)
    shaped = weights.reshape(*weights.shape, *(1,) * (t.rank(images) - axis - 1))
    return t.op.ReduceSum(t.op.Mul(taken, shaped), [axis + 1], keepdims=0)


def _weights(resize: Resize, old: int, new: int) -> np.ndarray:
    """One row per new sample."""
    units = tf.reshape(tf.eye(old), [1, old, 1, old])
    made: np.ndarray = resize(units, [new, 1]).numpy()
    return made.reshape(new, old)


def along_axes(resize: Callable[..., Any], **options: Any) -> tuple[Resize, Resize]:
    """A resize by size alone, which does the same along both axes."""

    def apply(images: Any, size: list[int]) -> Any:
        return resize(images=images, size=size, **options)

    return apply, apply


def nearest_places(old: int, new: int, align_corners: bool, half_pixel_centers: bool) -> np.ndarray:
    """The sample that TensorFlow takes for each new one, in its float32 arithmetic."""
    places = np.arange(new, dtype=np.float32)
    scale = (
        np.float32(old - 1) / np.float32(new - 1) if align_corners and new > 1 else np.float32(old) / np.float32(new)
    )
    found = (places + np.float32(0.5 if half_pixel_centers else 0)) * scale
    rounded = np.floor(found + np.float32(0.5)) if align_corners else np.floor(found)
    return np.asarray(np.clip(rounded.astype(np.int64), 0, old - 1))


def takes_the_same(old: int, new: int, align_corners: bool, half_pixel_centers: bool) -> bool:
    """Whether ONNX's Resize, by real numbers and by float32, takes the samples that TensorFlow takes."""
    wanted = nearest_places(old, new, align_corners, half_pixel_centers)
    places = np.arange(new)
    half = 1 if half_pixel_centers else 0
    if align_corners:
        exact = np.zeros(new, np.int64) if new == 1 else (2 * places * (old - 1) + new - 1) // (2 * (new - 1))
        near = exact
    else:
        exact = (2 * places + half) * old // (2 * new)
        scale = np.float32(new) / np.float32(old)
        shift = np.float32(half / 2)
        near = np.floor((places.astype(np.float32) + shift) / scale).astype(np.int64)
    return all(np.array_equal(np.clip(found, 0, old - 1), wanted) for found in (exact, near))


def computed_places(
    t: Translation, data: ir.Value, axis: int, new: ir.Value, align_corners: bool, half: bool
) -> ir.Value:
    """``nearest_places`` where sizes are known only when the model runs."""
    old = t.op.Squeeze(size_at(t, data, axis))
    sizes = [t.cast(value, ir.DataType.FLOAT) for value in (old, new)]
    one = t.op.const(np.float32(1))
    scale = t.op.Div(*sizes)
    if align_corners:
        aligned = t.op.Div(t.op.Sub(sizes[0], one), t.op.Sub(sizes[1], one))
        scale = t.op.Where(t.op.Greater(new, 1), aligned, scale)
    places = t.cast(t.op.Range(0, new, 1), ir.DataType.FLOAT)
    found = t.op.Mul(t.op.Add(places, np.float32(0.5)) if half else places, scale)
    rounded = t.op.Floor(t.op.Add(found, np.float32(0.5)) if align_corners else found)
    return t.op.Min(t.cast(rounded, ir.DataType.INT64), t.op.Sub(old, 1))
