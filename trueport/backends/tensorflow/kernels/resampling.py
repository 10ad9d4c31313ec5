"""Resampling along one axis: where each output lies in the input, and which inputs it is made of.

Coordinates of float32 data are computed in float32, in the order of the specification's formulas, as ONNX
Runtime does: at a tie another precision would choose another pixel. Everything works on numbers
and on tensors alike, so that sizes may be known or not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Tensor
from trueport.backends.tensorflow.kernels.barrier import opaque
from trueport.errors import InvalidModel
from trueport.fidelity import UNSUPPORTED, Limit
from trueport.mapping.examples import example

__all__ = [
    "NEAREST",
    "Axis",
    "Taps",
    "coordinates",
    "cubic_weights",
    "mixed_strings",
    "nearest",
    "settled",
    "taps",
    "weighted_sum",
]


def mixed_strings(default_mode: str, shown: str) -> Limit:
    """The schemas allow strings in every mode; ``shown`` by a graph."""

    def mixes(node: ir.Node) -> bool:
        data = node.inputs[0]
        text = data is not None and data.dtype == ir.DataType.STRING
        return text and node.attributes.get_string("mode", default_mode) != "nearest"

    return Limit(
        "strings-mixed",
        mixes,
        UNSUPPORTED,
        "strings can't be mixed, which its mode asks for",
        'take mode "nearest"',
        example=example(shown),
    )


@dataclass(frozen=True)
class Axis:
    """One axis that is resized; sizes are numbers or int32 scalars, the rest numbers or float32 scalars."""

    index: int
    length: Any
    resized: Any
    scale: Any
    width: Any
    """the output's length before it was cut to an integer"""
    start: Any = None
    end: Any = None


class Taps(NamedTuple):
    """For each output of an axis the inputs it takes, ``positions [out, k]``, and with which ``weights``."""

    positions: Any
    weights: Any


def settled(parameters: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """What ``make`` gives; as constants when all parameters are numbers, computed once while the graph is built."""
    if any(tf.is_tensor(p) for p in parameters):
        return make()
    with tf.init_scope():
        return tf.nest.map_structure(lambda x: x.numpy(), make())


def coordinates(axis: Axis, mode: str, dtype: Any, *, exact_ties: bool = False) -> Tensor:
    """Where in the input each output lies; ``dtype`` is float32 or, for data that has more digits, float64.

    ``exact_ties`` asks for ONNX Runtime's rounding also where this takes float64, which TensorFlow Lite lacks.
    """
    x = tf.cast(tf.range(axis.resized), dtype)
    length, resized, width = (_unfolded(v, dtype) for v in (axis.length, axis.resized, axis.width))
    scale = width / length if axis.width is axis.resized else _unfolded(axis.scale, dtype)
    zero, centers = tf.zeros([], dtype), (x + 0.5) / scale
    match mode:
        case "half_pixel":
            return centers - 0.5
        case "pytorch_half_pixel":
            return tf.where(resized > 1, centers - 0.5, zero)
        case "asymmetric":
            return x / scale
        case "align_corners":
            return tf.where(width == 1, zero, x * (length - 1) / (width - 1))
        case "half_pixel_symmetric":
            offset = length / 2 * (1 - resized / (scale * length))
            if not exact_ties:
                return offset + centers - 0.5
            # ONNX Runtime adds these in float64 and rounds once.
            offset, x, scale = (tf.cast(v, tf.float64) for v in (offset, x, scale))
            return tf.cast(offset + (x + 0.5) / scale - 0.5, dtype)
        case "tf_crop_and_resize":
            start, end = _unfolded(axis.start, dtype), _unfolded(axis.end, dtype)
            inside = start * (length - 1) + x * (end - start) * (length - 1) / (resized - 1)
            return tf.where(resized > 1, inside, 0.5 * (start + end) * (length - 1))
    raise InvalidModel(
        f"coordinate_transformation_mode {mode!r} is unknown",
        remedy="ONNX has half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, asymmetric, "
        "tf_crop_and_resize",
    )


def _unfolded(value: Any, dtype: Any) -> Tensor:
    """Return ``value`` as a scalar that no optimizer merges with other constants or inverts: that would move ties."""
    scalar = tf.cast(value, dtype)
    return scalar if tf.executing_eagerly() else opaque(scalar)


_TIE = 1e-6
"""Distance from a half within which ONNX Runtime takes a coordinate for a tie."""


def _rounded(x: Tensor, least: float) -> Tensor:
    """Return ``x`` rounded up where its fraction, minus a half, is more than ``least``."""
    base = tf.math.floor(x)
    return base + tf.cast(x - base - 0.5 > least, x.dtype)


NEAREST: dict[str, Callable[[Tensor], Tensor]] = {
    "round_prefer_floor": lambda x: _rounded(x, _TIE),
    "round_prefer_ceil": lambda x: _rounded(x, -_TIE),
    "floor": lambda x: tf.math.floor(x),
    "ceil": lambda x: tf.math.ceil(x),
}


def nearest(axis: Axis, x: Tensor, mode: str) -> Tensor:
    """The one input that each output takes, int32."""
    return tf.cast(_inside(axis, NEAREST[mode](x)), tf.int32)


def _inside(axis: Axis, x: Tensor) -> Tensor:
    return tf.clip_by_value(x, tf.zeros([], x.dtype), tf.cast(axis.length, x.dtype) - 1)


def taps(axis: Axis, x: Tensor, kernel: str, coefficient: float, antialias: bool, exclude_outside: bool) -> Taps:
    """The inputs of ``linear`` and ``cubic`` interpolation; beyond the border the border's pixel counts."""
    x = tf.convert_to_tensor(x)
    if kernel == "linear" and not antialias and not exclude_outside:
        x = _inside(axis, x)
    base, zero = tf.math.floor(x), tf.zeros([], x.dtype)
    ratio = (x - base)[:, None]
    reach = 1 if kernel == "linear" else 2
    if antialias:
        shrink = tf.minimum(tf.cast(axis.scale, x.dtype), 1)
        first = tf.cast(tf.math.floor(-reach / shrink), tf.int32) + 1
        offsets = tf.range(first, 2 - first)
        weights = _kernel(kernel, (tf.cast(offsets, x.dtype) - ratio) * shrink, coefficient)
        weights = weights / tf.reduce_sum(weights, 1, keepdims=True)
    else:
        offsets = tf.range(1 - reach, 1 + reach)
        weights = tf.concat([1 - ratio, ratio], 1) if reach == 1 else cubic_weights(ratio, coefficient)
    positions = tf.cast(base, tf.int32)[:, None] + offsets
    if exclude_outside:
        weights = tf.where((positions >= 0) & (positions < axis.length), weights, zero)
        total = tf.reduce_sum(weights, 1, keepdims=True)
        weights = weights / tf.where(total == 0, total + 1, total)
    return Taps(tf.clip_by_value(positions, 0, axis.length - 1), weights)


def cubic_weights(ratio: Tensor, a: float) -> Tensor:
    """Keys' cubic convolution at the four neighbors, on the last axis, of points ``ratio`` past the second."""
    distances = tf.concat([ratio + 1, ratio, 1 - ratio, 2 - ratio], -1)
    return _cubic(distances, tf.constant([False, True, True, False]), a)


def _kernel(kernel: str, distance: Tensor, a: float) -> Tensor:
    x = tf.abs(distance)
    if kernel == "linear":
        return tf.maximum(1 - x, 0)
    return tf.where(x < 2, _cubic(x, x <= 1, a), tf.zeros([], x.dtype))


def _cubic(x: Tensor, near: Tensor, a: float) -> Tensor:
    return tf.where(near, ((a + 2) * x - (a + 3)) * x * x + 1, ((a * x - 5 * a) * x + 8 * a) * x - 4 * a)


def weighted_sum(data: Tensor, axis: int, taps: Taps) -> Tensor:
    """The resampled axis; one gather per tap where their number is known, so that no tap's copy stays in memory."""
    positions, weights = tf.convert_to_tensor(taps.positions), tf.cast(taps.weights, data.dtype)
    behind = [1] * (data.shape.rank - axis - 1)
    count = positions.shape[1]
    if count is None:
        shape = tf.concat([tf.shape(weights), np.array(behind, np.int32)], 0)
        return tf.reduce_sum(tf.gather(data, positions, axis=axis) * tf.reshape(weights, shape), axis + 1)
    columns = [tf.reshape(weights[:, k], [-1, *behind]) for k in range(count)]
    terms = (tf.gather(data, positions[:, k], axis=axis) * columns[k] for k in range(count))
    total = next(terms)
    for term in terms:
        total = total + term
    return total
