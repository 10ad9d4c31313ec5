"""Transposed convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.numeric import widened
from trueport.backends.tensorflow.kernels.shapes import of_rank
from trueport.backends.tensorflow.kernels.sizes import Size, sizes_of
from trueport.backends.tensorflow.kernels.spatial import (
    Pads,
    Window,
    at_least,
    channels_to_end,
    channels_to_front,
    window_of,
)
from trueport.backends.tensorflow.kernels.transposed_convolution import transpose_convolve
from trueport.mapping.declare import maps
from trueport.mapping.needs import known_kernel, known_rank

__all__: list[str] = []


def _is_sliced(node: ir.Node) -> bool:
    """True if the kernel is applied slice by slice: over more than two axes and dilated."""
    data = node.inputs[0]
    planar = data is not None and data.shape is not None and len(data.shape) < 5
    return not planar and any(dilation != 1 for dilation in node.attributes.get_ints("dilations", ()))


@maps(
    "ConvTranspose",
    needs=[known_rank(1, 0, of="its kernel and data"), known_kernel(1, when=_is_sliced)],
    audited=22,
    reordered=("W",),
    channels_last=True,
)
def conv_transpose(
    t: Emission,
    X: Tensor,
    W: Tensor,
    B: Tensor | None,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    output_padding: Sequence[int] | None,
    output_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Tensor:
    rank = t.rank(W, X, of="its kernel and data")
    kernel = t.weight(1, [*range(2, rank), 1, 0])
    x = channels_to_end(t, of_rank(X, rank))
    sizes = sizes_of(x, range(1, rank - 1))
    extra = output_padding or [0] * len(sizes)
    window = window_of(
        sizes,
        kernel_shape or sizes_of(kernel, range(rank - 2)),
        strides=strides,
        dilations=dilations,
        pads=pads if auto_pad == "NOTSET" else None,
    )
    if output_shape or auto_pad.startswith("SAME"):
        # An output_shape with the dims of batch and channels was written by old exporters.
        wanted = output_shape[-len(sizes) :] if output_shape else None
        window = replace(window, pads=_pads_for(window, sizes, extra, wanted, auto_pad), same=False)

    def apply(x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
        y = transpose_convolve(x, w, window, extra, group)
        if b is None:
            return y
        # A grouped convolution must not be fused with its bias: see `convolve`.
        return tf.nn.bias_add(y, b) if group == 1 else y + of_rank(b, 1)

    return channels_to_front(t, widened(apply, x, kernel, *(() if B is None else (B,))))


def _pads_for(
    window: Window, sizes: Sequence[Size], extra: Sequence[int], wanted: Sequence[int] | None, auto_pad: str
) -> Pads:
    """The pads that lead to the wanted sizes: the input's times the strides if there are none."""
    found = []
    for axis, size in enumerate(sizes):
        stride, reach = window.strides[axis], window.extents[axis] + extra[axis]
        total = reach - stride if wanted is None else (size - 1) * stride + reach - wanted[axis]
        positive = at_least(total, 0)
        begin = positive // 2 if auto_pad == "SAME_UPPER" else positive - positive // 2
        found.append((begin, total - begin))
    return tuple(found)
