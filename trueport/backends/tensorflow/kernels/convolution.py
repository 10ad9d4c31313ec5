"""Convolution of channel-last data over any number of spatial axes, for every type that TensorFlow multiplies."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Tensor
from trueport.backends.tensorflow.kernels.shapes import of_rank
from trueport.backends.tensorflow.kernels.sizes import size_of
from trueport.backends.tensorflow.kernels.spatial import Pads, Window, known, pad_spatial
from trueport.errors import ConversionError

__all__ = ["convolve"]


def convolve(x: Tensor, w: Tensor, window: Window, groups: int = 1, bias: Tensor | None = None) -> Tensor:
    """Convolve ``x`` [N, spatial…, C] with ``w`` [spatial…, C / groups, M] to [N, spatial…, M]; add ``bias`` [M].

    Works for float32, float64 and int32; integers are exact (modulo 2³²).
    """
    bias = None if bias is None else of_rank(bias, 1)
    if window.rank < 2:
        return _lifted(x, w, window, groups, bias)
    if window.rank == 2:
        return _convolve_2d(x, w, window, groups, bias)
    if window.rank == 3 and groups == 1 and not window.dilated and x.dtype.is_floating:
        return _biased(_convolve_3d(x, w, window), bias)
    return _biased(_by_slices(x, w, window, groups), bias)


def _biased(y: Tensor, bias: Tensor | None) -> Tensor:
    return y if bias is None else tf.nn.bias_add(y, bias)


def _lifted(x: Tensor, w: Tensor, window: Window, groups: int, bias: Tensor | None) -> Tensor:
    """Add one more spatial axis, of one element, in front."""
    more = Window(
        (1, *window.kernel), (1, *window.strides), (1, *window.dilations), ((0, 0), *window.pads), window.same
    )
    return tf.squeeze(convolve(tf.expand_dims(x, 1), tf.expand_dims(w, 0), more, groups, bias), 1)


def _convolve_2d(x: Tensor, w: Tensor, window: Window, groups: int, bias: Tensor | None) -> Tensor:
    if _is_depthwise(x, w, window, groups):
        kernel = tf.reshape(w, [*(size_of(w, axis) for axis in (0, 1)), groups, -1])
        # TensorFlow 2.21 aborts when it fuses a bias into an explicitly padded depthwise convolution.
        x, padding = _native_padding(x, window, explicit=False)
        y = tf.nn.depthwise_conv2d(x, kernel, [1, *window.strides, 1], padding, dilations=window.dilations)
        return _biased(y, bias)
    has_gradient = groups == 1 and not window.dilated
    # TensorFlow has no gradients of groups or dilations together with explicit pads.
    x, padding = _native_padding(x, window, explicit=has_gradient)
    if has_gradient or not x.dtype.is_floating or not known(*window.kernel):
        y = tf.nn.conv2d(x, w, window.strides, padding, dilations=window.dilations)
    else:
        y = _with_gradient(x, w, window, groups, padding)
    if bias is None or groups == 1:
        return _biased(y, bias)
    # Without oneDNN, TensorFlow fuses a BiasAdd (never an Add) into a kernel that rejects groups.
    return y + bias


def _with_gradient(x: Tensor, w: Tensor, window: Window, groups: int, padding: Any) -> Tensor:
    """Convolve with groups or dilations, whose gradients TensorFlow's CPU kernels have only with oneDNN."""

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def apply(x: Tensor, w: Tensor) -> tuple[Tensor, Callable[[Tensor], Any]]:
        def gradient(upstream: Tensor) -> Any:
            # Identities, because gradients are taken with respect to tensors of the graph that is being built.
            data, kernel = tf.identity(x), tf.identity(w)
            return tf.gradients(_by_taps(data, kernel, window, groups, tf.shape(upstream)), [data, kernel], upstream)

        return tf.nn.conv2d(x, w, window.strides, padding, dilations=window.dilations), gradient

    return apply(x, tf.convert_to_tensor(w))


def _by_taps(x: Tensor, w: Tensor, window: Window, groups: int, shape: Tensor) -> Tensor:
    """Compute the convolution as a sum of matrix products, one per element of the kernel; ``shape`` is the result's."""
    if window.same:
        x = tf.pad(x, _same_pads(tf.shape(x), shape, window))
    x = tf.reshape(x, tf.concat([tf.shape(x)[:3], [groups, -1]], 0))
    w = tf.reshape(w, tf.concat([tf.shape(w)[:3], [groups, -1]], 0))
    total = tf.zeros((), x.dtype)
    for row, column in itertools.product(*(range(size) for size in window.kernel)):
        begin = (row * window.dilations[0], column * window.dilations[1])
        ends = [b + (shape[axis] - 1) * s + 1 for axis, b, s in zip((1, 2), begin, window.strides, strict=True)]
        part = x[:, begin[0] : ends[0] : window.strides[0], begin[1] : ends[1] : window.strides[1]]
        total = total + tf.einsum("nhwgc,cgm->nhwgm", part, w[row, column])
    return tf.reshape(total, shape)


def _same_pads(source: Tensor, result: Tensor, window: Window) -> Tensor:
    """Return what SAME padding adds to [N, H, W, C]: half of it in front, the odd one behind."""
    pads = [[0, 0]]
    for axis in (0, 1):
        needed = (result[axis + 1] - 1) * window.strides[axis] + window.extents[axis] - source[axis + 1]
        total = tf.maximum(needed, 0)
        pads.append([total // 2, total - total // 2])
    return tf.stack([*pads, [0, 0]])


def _is_depthwise(x: Tensor, w: Tensor, window: Window, groups: int) -> bool:
    """TensorFlow's depthwise kernel strides all axes alike, and not together with dilations."""
    alike = window.strides[0] == window.strides[1] and (window.strides[0] == 1 or not window.dilated)
    return groups > 1 and w.shape[-2] == 1 and alike and x.dtype.is_floating


def _native_padding(x: Tensor, window: Window, explicit: bool) -> tuple[Tensor, str | list[tuple[int, int]]]:
    """What a two-dimensional TensorFlow kernel takes as padding; what it does not take is done before it."""
    if window.same:
        return x, "SAME"
    if not window.padded:
        return x, "VALID"
    if explicit and _all_positive(window.pads):
        return x, [(0, 0), *window.pads, (0, 0)]
    return pad_spatial(x, window.pads), "VALID"


def _all_positive(pads: Pads) -> bool:
    sizes = [size for pair in pads for size in pair]
    return known(*sizes) and min(sizes) >= 0


def _convolve_3d(x: Tensor, w: Tensor, window: Window) -> Tensor:
    strides = [1, *window.strides, 1]
    if window.same:
        return tf.nn.conv3d(x, w, strides, "SAME")
    return tf.nn.conv3d(pad_spatial(x, window.pads), w, strides, "VALID")


def _by_slices(x: Tensor, w: Tensor, window: Window, groups: int) -> Tensor:
    """The sum over the kernel's first axis of convolutions over the others."""
    x = pad_spatial(x, (window.pads[0], *((0, 0),) * (window.rank - 1)))
    (size,), (stride,), (dilation,) = window.kernel[:1], window.strides[:1], window.dilations[:1]
    if not known(size):
        raise ConversionError(
            "the size of a kernel with more than two axes is not known", remedy="give the node a kernel_shape"
        )
    inner = replace(
        window,
        kernel=window.kernel[1:],
        strides=window.strides[1:],
        dilations=window.dilations[1:],
        pads=window.pads[1:],
    )
    places = size_of(x, 1) - (size - 1) * dilation
    total = None
    for tap in range(size):
        part = x[:, tap * dilation : tap * dilation + places : stride]
        shape = tf.shape(part)
        flat = tf.reshape(part, tf.concat([[-1], shape[2:]], 0))
        flat = tf.ensure_shape(flat, [None, *part.shape[2:]])
        made = convolve(flat, w[tap], inner, groups)
        total = made if total is None else total + made
    return tf.reshape(total, tf.concat([shape[:2], tf.shape(total)[1:]], 0))
