"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.convolution import convolve
from trueport.backends.tensorflow.kernels.numeric import widened
from trueport.backends.tensorflow.kernels.shapes import of_rank
from trueport.backends.tensorflow.kernels.sizes import size_of, sizes_of
from trueport.backends.tensorflow.kernels.spatial import Window, channels_to_end, channels_to_front, window_of
from trueport.mapping.declare import maps
from trueport.mapping.needs import known_kernel, known_rank

__all__: list[str] = []


def _is_sliced(node: ir.Node) -> bool:
    """True if the kernel is applied slice by slice: over more than two axes, in groups or dilated."""
    data = node.inputs[0]
    planar = data is not None and data.shape is not None and len(data.shape) < 5
    dilated = any(dilation != 1 for dilation in node.attributes.get_ints("dilations", ()))
    return not planar and (dilated or node.attributes.get_int("group", 1) > 1)


@maps(
    "Conv",
    needs=[known_rank(1, 0, of="its kernel and data"), known_kernel(1, when=_is_sliced)],
    audited=22,
    reordered=("W",),
    channels_last=True,
)
def conv(
    t: Emission,
    X: Tensor,
    W: Tensor,
    B: Tensor | None,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Tensor:
    rank = t.rank(W, X, of="its kernel and data")
    kernel = t.weight(1, [*range(2, rank), 1, 0])
    x = channels_to_end(t, of_rank(X, rank))
    window = window_of(
        sizes_of(x, range(1, rank - 1)),
        kernel_shape or [size_of(kernel, axis) for axis in range(rank - 2)],
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
    )

    def apply(x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
        return (_convolve_any if _may_be_empty(t) else convolve)(x, w, window, group, b)

    return channels_to_front(t, widened(apply, x, kernel, *(() if B is None else (B,))))


def _convolve_any(x: Tensor, w: Tensor, window: Window, groups: int, bias: Tensor | None) -> Tensor:
    """With a sample put in where there is none: TensorFlow 2.21 gives an empty batch the shape of the input."""
    shape = tf.shape(x)
    samples = shape[0]
    # Not by tf.pad, which TensorFlow would fuse into the convolution.
    one = tf.zeros(tf.concat([[tf.cast(samples == 0, tf.int32)], shape[1:]], 0), x.dtype)
    some = tf.ensure_shape(tf.concat([x, one], 0), [None, *x.shape[1:]])
    return convolve(some, w, window, groups, bias)[:samples]


def _may_be_empty(t: Emission) -> bool:
    """Whether there may be no samples: none are given, or their number is found at run time (regions, detections)."""
    value = t.node.inputs[0]
    given_none = value is not None and value.shape is not None and value.shape[0] == 0
    return given_none or t.sized_by_data
