"""Linear quantization: scales and zero points laid over a tensor, reals rounded into integers of few bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Tensor
from trueport.backends.tensorflow.kernels.barrier import opaque

__all__ = [
    "along_axis",
    "centred",
    "clamp",
    "combined_scale",
    "dequantize",
    "dynamic_parameters",
    "limits",
    "quantize",
    "requantize",
    "saturate",
]


def limits(dtype: Any) -> tuple[int, int]:
    """The least and the greatest of an integer type, of TensorFlow's or of ONNX's, by its name."""
    kind, bits = dtype.name.lower().split("int")
    size = 2 ** int(bits)
    return (0, size - 1) if kind == "u" else (-size // 2, size // 2 - 1)


def along_axis(parameter: Tensor, x: Tensor, axis: int, block_size: int = 0) -> Tensor:
    """A scale or zero point in a shape that broadcasts over ``x``: one value, one per index, or one per block."""
    if parameter.shape.rank == 0:
        return parameter
    if block_size:
        repeated = tf.repeat(parameter, block_size, axis=axis)
        rank = parameter.shape.rank
        index = axis % rank
        size = tf.shape(x)[index]
        kept = [slice(None)] * index + [slice(0, size)]
        return tf.ensure_shape(repeated[tuple(kept)], x.shape)
    if parameter.shape.num_elements() == 1 or x.shape.rank == 0:
        return tf.reshape(parameter, [])
    if x.shape.rank is None:
        rank = tf.rank(x)
        return tf.reshape(parameter, tf.one_hot(axis % rank, rank, on_value=tf.size(parameter), off_value=1))
    rank = x.shape.rank
    return tf.reshape(parameter, [-1 if i == axis % rank else 1 for i in range(rank)])


def centred(x: Tensor, zero_point: Tensor | None, dtype: Any = None) -> Tensor:
    """``x - zero_point`` as floats: exact, for both have 16 bits at most."""
    wide = tf.cast(x, dtype or tf.float32)
    return wide if _is_zero(zero_point) else wide - tf.cast(zero_point, wide.dtype)


def dequantize(x: Tensor, scale: Tensor, zero_point: Tensor | None) -> Tensor:
    """The reals that an integer tensor stands for, in float32."""
    return centred(x, zero_point) * opaque(tf.cast(scale, tf.float32))


def quantize(x: Tensor, scale: Tensor, zero_point: Tensor) -> Tensor:
    """``x / scale`` rounded to the nearest, ties to even, moved by the zero point and saturated."""
    return requantize(x / opaque(tf.cast(scale, x.dtype)), zero_point, zero_point.dtype)


def requantize(real: Tensor, zero_point: Tensor | None, dtype: Any) -> Tensor:
    """Round half to even, add the zero point, saturate; what is not a number becomes the least integer.

    In float32 all of it is exact: where a rounded value is too large to take the zero point to the last digit,
    it is far outside of the range anyway.
    """
    rounded = tf.round(real)
    return saturate(rounded if _is_zero(zero_point) else rounded + tf.cast(zero_point, rounded.dtype), dtype)


def saturate(whole: Tensor, dtype: Any) -> Tensor:
    """Whole numbers held as floats in an integer type, held to its range."""
    return tf.cast(clamp(whole, dtype), dtype)


def clamp(whole: Tensor, dtype: Any) -> Tensor:
    """Floats held to the range of an integer type."""
    least, greatest = limits(dtype)
    # Not tf.maximum: a comparison with NaN is false, and so it becomes the least.
    above = tf.where(whole >= float(least), whole, float(least))
    return tf.minimum(above, float(greatest))


def dynamic_parameters(x: Tensor) -> tuple[Tensor, Tensor]:
    """The scale and the uint8 zero point with which the range of ``x``, zero included, fills 256 steps."""
    least, greatest = tf.minimum(tf.reduce_min(x), 0.0), tf.maximum(tf.reduce_max(x), 0.0)
    scale = tf.where(least == greatest, 1.0, (greatest - least) / opaque(tf.constant(255.0)))
    return scale, saturate(tf.round(-least / scale), tf.uint8)


def combined_scale(x_scale: Tensor, w_scale: Tensor, y_scale: Tensor) -> Tensor:
    """``x_scale * w_scale / y_scale`` in float32 and in this order, as runtimes compute it."""
    x, w, y = (opaque(tf.cast(scale, tf.float32)) for scale in (x_scale, w_scale, y_scale))
    return x * w / y


def _is_zero(zero_point: Tensor | None) -> bool:
    if zero_point is None:
        return True
    known = tf.get_static_value(zero_point)
    return known is not None and not np.any(known)
