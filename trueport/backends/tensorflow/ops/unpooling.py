"""From pooled or unfolded data back to the image."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.shapes import of_rank
from trueport.backends.tensorflow.kernels.sizes import sizes_of
from trueport.fidelity import BITWISE
from trueport.ir.dtypes import BOOL, COMPLEX, NUMBERS
from trueport.mapping.declare import maps
from trueport.mapping.needs import known_length

__all__: list[str] = []


@maps("MaxUnpool", audited=22, fidelity=BITWISE)
def max_unpool(
    t: Emission,
    X: Tensor,
    I: Tensor,
    output_shape: Tensor | None,
    *,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Tensor:
    """Indices count in the shape that the window gives; a larger output_shape adds zeros at the ends."""
    rank = len(kernel_shape)
    pads = pads or [0] * (2 * rank)
    strides = strides or [1] * rank
    sizes = [
        (size - 1) * stride - pads[axis] - pads[axis + rank] + kernel
        for axis, (size, stride, kernel) in enumerate(
            zip(sizes_of(X, range(2, rank + 2)), strides, kernel_shape, strict=True)
        )
    ]
    shape = tf.cast(tf.stack([*sizes_of(X, (0, 1)), *sizes]), tf.int64)
    flat = tf.zeros(tf.reduce_prod(shape)[None], X.dtype)
    flat = tf.tensor_scatter_nd_update(flat, tf.reshape(I, [-1, 1]), tf.reshape(X, [-1]))
    y = tf.reshape(flat, shape)
    if output_shape is None:
        return y
    more = tf.maximum(output_shape - shape, 0)
    y = tf.pad(y, tf.stack([tf.zeros_like(more), more], 1))
    return tf.slice(y, tf.zeros_like(output_shape), output_shape)


def _axes_are_unstated(node: ir.Node) -> bool:
    return not any(node.attributes.get_ints(name, ()) for name in ("strides", "dilations", "pads"))


@maps(
    "Col2Im",
    needs=[known_length(1, 2, of="its image_shape", when=_axes_are_unstated)],
    audited=18,
    dtypes={"T": NUMBERS | COMPLEX | BOOL},
)
def col2im(
    t: Emission,
    input: Tensor,
    image_shape: Tensor,
    block_shape: Tensor,
    *,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Tensor:
    image_shape, block_shape = of_rank(image_shape, 1), of_rank(block_shape, 1)
    rank = image_shape.shape[0] or block_shape.shape[0] or len(strides or dilations or (pads or ())[::2])
    if not rank:
        raise t.fail(
            "the number of the image's axes is not known", "state the node's strides, or fix image_shape's length"
        )
    target = _targets(
        image_shape, block_shape, dilations or [1] * rank, pads or [0] * (2 * rank), strides or [1] * rank
    )
    taps = tf.reduce_prod(block_shape)
    shape = tf.shape(input, tf.int64)
    columns = tf.reshape(input, tf.stack([shape[0] * (shape[1] // taps), taps * shape[2]]))
    wide = _sums_in(input.dtype)
    image = tf.math.unsorted_segment_sum(
        tf.transpose(tf.cast(columns, wide)), tf.reshape(target, [-1]), tf.reduce_prod(image_shape)
    )
    image = tf.cast(tf.transpose(image), input.dtype)
    return tf.reshape(image, tf.concat([tf.stack([shape[0], shape[1] // taps]), image_shape], 0))


def _sums_in(dtype: object) -> object:
    """Sums of half precision are rounded once; a sum of booleans is whether there is any."""
    return {tf.float16: tf.float32, tf.bfloat16: tf.float32, tf.bool: tf.int32}.get(dtype, dtype)


def _targets(
    image: Tensor, block: Tensor, dilations: Sequence[int], pads: Sequence[int], strides: Sequence[int]
) -> Tensor:
    """For each tap and each block the element of the image that it adds to; -1 where it lies in the pads."""
    rank = len(strides)
    index, inside = tf.zeros([1, 1], tf.int64), tf.ones([1, 1], tf.bool)
    for axis in range(rank):
        size, kernel = image[axis], block[axis]
        reach = size + pads[axis] + pads[axis + rank] - dilations[axis] * (kernel - 1)
        taps = tf.range(kernel) * dilations[axis]
        starts = tf.range((reach - 1) // strides[axis] + 1) * strides[axis] - pads[axis]
        at = taps[:, None] + starts
        fits = (at >= 0) & (at < size)
        shape = tf.shape(index) * tf.shape(at)
        index = tf.reshape(index[:, None, :, None] * size + at[:, None, :], shape)
        inside = tf.reshape(inside[:, None, :, None] & fits[:, None, :], shape)
    return tf.where(inside, index, -1)
