"""Pooling over moving windows and over whole planes."""

from __future__ import annotations

from collections.abc import Sequence

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.numeric import widened
from trueport.backends.tensorflow.kernels.shapes import of_rank
from trueport.backends.tensorflow.kernels.sizes import sizes_of
from trueport.backends.tensorflow.kernels.spatial import (
    Window,
    channels_to_end,
    channels_to_front,
    spatial_axes,
    window_of,
)
from trueport.backends.tensorflow.kernels.window_reductions import (
    average_windows,
    max_windows,
    max_windows_with_indices,
    sum_windows,
    to_ceil,
)
from trueport.mapping.declare import maps
from trueport.mapping.needs import known_rank

__all__: list[str] = []


@maps("MaxPool", audited=22, channels_last=True)
def max_pool(
    t: Emission,
    X: Tensor,
    *,
    auto_pad: str,
    ceil_mode: int,
    dilations: Sequence[int] | None,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None,
    storage_order: int,
    strides: Sequence[int] | None,
) -> Tensor | tuple[Tensor, Tensor]:
    x, window = _over(t, X, kernel_shape, strides, dilations, pads, auto_pad)
    window = _places(window, x, ceil_mode, auto_pad)
    if not t.wants(1):
        return channels_to_front(t, max_windows(x, window))
    values, indices = max_windows_with_indices(x, window, column_major=bool(storage_order))
    return channels_to_front(t, values), channels_to_front(t, indices)


@maps("AveragePool", audited=22, channels_last=True)
def average_pool(
    t: Emission,
    X: Tensor,
    *,
    auto_pad: str,
    ceil_mode: int,
    count_include_pad: int,
    dilations: Sequence[int] | None,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Tensor:
    x, given = _over(t, X, kernel_shape, strides, dilations, pads, auto_pad)
    window = _places(given, x, ceil_mode, auto_pad)
    counted = given if count_include_pad else given.without_pads()
    return channels_to_front(t, widened(lambda x: average_windows(x, window, counted), x))


@maps("LpPool", audited=22, channels_last=True)
def lp_pool(
    t: Emission,
    X: Tensor,
    *,
    auto_pad: str,
    ceil_mode: int,
    dilations: Sequence[int] | None,
    kernel_shape: Sequence[int],
    p: int,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Tensor:
    x, window = _over(t, X, kernel_shape, strides, dilations, pads, auto_pad)
    window = _places(window, x, ceil_mode, auto_pad)
    return channels_to_front(t, widened(lambda x: _root(sum_windows(_power(x, p), window), p), x))


@maps("GlobalAveragePool", needs=[known_rank(0)], audited=22, channels_last=True)
def global_average_pool(t: Emission, X: Tensor) -> Tensor:
    axes = spatial_axes(t, X)
    return widened(lambda x: tf.reduce_mean(x, axes, keepdims=True), X)


@maps("GlobalMaxPool", needs=[known_rank(0)], audited=22, channels_last=True)
def global_max_pool(t: Emission, X: Tensor) -> Tensor:
    return tf.reduce_max(X, spatial_axes(t, X), keepdims=True)


@maps("GlobalLpPool", needs=[known_rank(0)], audited=22, channels_last=True)
def global_lp_pool(t: Emission, X: Tensor, *, p: int) -> Tensor:
    axes = spatial_axes(t, X)
    return widened(lambda x: _root(tf.reduce_sum(_power(x, p), axes, keepdims=True), p), X)


def _over(
    t: Emission,
    X: Tensor,
    kernel: Sequence[int],
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    auto_pad: str,
) -> tuple[Tensor, Window]:
    """Channel-last data and the window over them."""
    x = channels_to_end(t, of_rank(X, len(kernel) + 2))
    sizes = sizes_of(x, range(1, len(kernel) + 1))
    return x, window_of(sizes, kernel, strides=strides, dilations=dilations, pads=pads, auto_pad=auto_pad)


def _places(window: Window, x: Tensor, ceil_mode: int, auto_pad: str) -> Window:
    """Automatic pads leave nothing to round."""
    if not ceil_mode or auto_pad != "NOTSET":
        return window
    return to_ceil(window, sizes_of(x, range(1, window.rank + 1)))


def _power(x: Tensor, p: int) -> Tensor:
    return tf.abs(x) if p == 1 else tf.square(x) if p == 2 else tf.abs(x) ** tf.constant(p, x.dtype)


def _root(x: Tensor, p: int) -> Tensor:
    return x if p == 1 else tf.sqrt(x) if p == 2 else x ** tf.constant(1 / p, x.dtype)
