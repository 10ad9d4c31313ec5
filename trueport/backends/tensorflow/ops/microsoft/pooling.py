"""ONNX Runtime's pooling of quantized data."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.barrier import opaque
from trueport.backends.tensorflow.kernels.linear_quantization import dequantize, requantize, saturate
from trueport.backends.tensorflow.kernels.shapes import of_rank
from trueport.backends.tensorflow.kernels.sizes import sizes_of
from trueport.backends.tensorflow.kernels.spatial import (
    Window,
    channels_to_end,
    channels_to_front,
    pad_spatial,
    window_of,
)
from trueport.backends.tensorflow.kernels.window_reductions import max_windows, to_ceil
from trueport.mapping.declare import maps

__all__: list[str] = []

_MS = "com.microsoft"


@maps("QLinearGlobalAveragePool", domain=_MS)
def qlinear_global_average_pool(
    t: Emission,
    X: Tensor,
    x_scale: Tensor,
    x_zero_point: Tensor,
    y_scale: Tensor,
    y_zero_point: Tensor,
    *,
    channels_last: int = 0,
) -> Tensor:
    axes = list(range(1, X.shape.rank - 1)) if channels_last else list(range(2, X.shape.rank))
    total = tf.reduce_sum(tf.cast(X, tf.int32) - tf.cast(x_zero_point, tf.int32), axes, keepdims=True)
    count = tf.cast(tf.reduce_prod(tf.gather(tf.shape(X), axes)), tf.float32)
    scale = opaque(x_scale) / (opaque(y_scale) * opaque(count))
    return requantize(tf.cast(total, tf.float32) * scale, y_zero_point, X.dtype)


@maps("QLinearAveragePool", domain=_MS)
def qlinear_average_pool(
    t: Emission,
    X: Tensor,
    x_scale: Tensor,
    x_zero_point: Tensor | None,
    y_scale: Tensor,
    y_zero_point: Tensor | None,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    channels_last: int = 0,
    count_include_pad: int = 0,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    """The elements are summed as floats, one by one in their order; the zero point is added before rounding."""
    data = of_rank(X, len(kernel_shape) + 2)
    x = dequantize(data if channels_last else channels_to_end(t, data), x_scale, x_zero_point)
    window = _window(x, kernel_shape, strides, None, pads, auto_pad, ceil_mode)
    total = _sum_in_order(x, window)
    if count_include_pad:
        count = opaque(tf.constant(float(math.prod(kernel_shape)), tf.float32))
    else:
        count = opaque(_sum_in_order(tf.ones_like(x[:1, ..., :1]), window))
    zero_point = 0.0 if y_zero_point is None else tf.cast(y_zero_point, tf.float32)
    made = saturate(tf.round(total / count / opaque(y_scale) + zero_point), X.dtype)
    return made if channels_last else channels_to_front(t, made)


@maps("NhwcMaxPool", domain=_MS)
def nhwc_max_pool(
    t: Emission,
    x: Tensor,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    data = of_rank(x, len(kernel_shape) + 2)
    return max_windows(data, _window(data, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode))


def _window(
    x: Tensor,
    kernel: Sequence[int],
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    auto_pad: str,
    ceil_mode: int,
) -> Window:
    sizes = sizes_of(x, range(1, len(kernel) + 1))
    window = window_of(sizes, kernel, strides=strides, dilations=dilations, pads=pads, auto_pad=auto_pad)
    return to_ceil(window, sizes) if ceil_mode and auto_pad == "NOTSET" else window


def _sum_in_order(x: Tensor, window: Window) -> Tensor:
    """The sum under each place of the window, last axis fastest: floats depend on the order."""
    places = window.outputs(sizes_of(x, range(1, window.rank + 1)))
    padded = pad_spatial(x, window.pads)
    total = None
    for taps in itertools.product(*(range(size) for size in window.kernel)):
        cuts = [
            slice(tap, tap + (count - 1) * stride + 1, stride)
            for tap, count, stride in zip(taps, places, window.strides, strict=True)
        ]
        part = padded[(slice(None), *cuts)]
        total = part if total is None else total + part
    return total
