"""Transposed convolution of channel-last data over any number of spatial axes."""

from __future__ import annotations

from collections.abc import Sequence

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Tensor
from trueport.backends.tensorflow.kernels.convolution import convolve
from trueport.backends.tensorflow.kernels.sizes import Size, size_of, sizes_of
from trueport.backends.tensorflow.kernels.spatial import Pads, Window, fit_spatial, known

__all__ = ["transpose_convolve"]


def transpose_convolve(x: Tensor, w: Tensor, window: Window, extra: Sequence[int], groups: int) -> Tensor:
    """``x`` [N, places…, C] with ``w`` [spatial…, M / groups, C] gives [N, spatial…, M].

    The pads of the window are cut off the result, ``extra`` elements are kept or put at its end.
    """
    if window.rank < 2:
        more = Window((1, *window.kernel), (1, *window.strides), (1, *window.dilations), ((0, 0), *window.pads))
        lifted = transpose_convolve(tf.expand_dims(x, 1), tf.expand_dims(w, 0), more, (0, *extra), groups)
        return tf.squeeze(lifted, 1)
    if window.dilated or window.rank > 3:
        return fit_spatial(_by_convolution(x, w, window, groups), _edges(window.pads, extra))
    if window.rank == 2 and _is_same(window, extra):
        return _native(x, w, window, extra, "SAME", groups)
    # Explicit pads have no fast kernel: what they cut off is made, and cut off.
    whole = _native(x, w, window.without_pads(), (0,) * window.rank, "VALID", groups)
    return fit_spatial(whole, _edges(window.pads, extra))


def _edges(pads: Pads, extra: Sequence[int]) -> Pads:
    return tuple((-begin, more - end) for (begin, end), more in zip(pads, extra, strict=True))


def _is_same(window: Window, extra: Sequence[int]) -> bool:
    """Whether the pads are those of a SAME convolution from the result to ``x``."""
    for extent, stride, more, (begin, end) in zip(window.extents, window.strides, extra, window.pads, strict=True):
        if not known(extent, begin, end):
            return False
        cut = begin + end - more
        if cut < 0 or begin != cut // 2 or not 0 < extent - cut <= stride:
            return False
    return True


def _native(x: Tensor, w: Tensor, window: Window, extra: Sequence[int], padding: str, groups: int) -> Tensor:
    sizes = [
        (places - 1) * stride + extent + more - begin - end
        for places, stride, extent, more, (begin, end) in zip(
            sizes_of(x, range(1, window.rank + 1)),
            window.strides,
            window.extents,
            extra,
            window.pads,
            strict=True,
        )
    ]
    if groups == 1:
        return _native_group(x, w, window.strides, sizes, padding)
    if w.shape[-2] == 1 and window.rank == 2 and window.strides[0] == window.strides[1]:
        return _native_depthwise(x, w, window.strides, sizes, padding, groups)
    parts = zip(tf.split(x, groups, -1), tf.split(w, groups, -1), strict=True)
    return tf.concat([_native_group(part, kernel, window.strides, sizes, padding) for part, kernel in parts], -1)


def _native_group(x: Tensor, w: Tensor, strides: Sequence[int], sizes: Sequence[Size], padding: str) -> Tensor:
    shape = [size_of(x, 0), *sizes, size_of(w, -2)]
    transpose = tf.nn.conv2d_transpose if len(sizes) == 2 else tf.nn.conv3d_transpose
    return transpose(x, w, shape, strides, padding)


def _native_depthwise(
    x: Tensor, w: Tensor, strides: Sequence[int], sizes: Sequence[Size], padding: str, groups: int
) -> Tensor:
    kernel = tf.reshape(w, [*sizes_of(w, (0, 1)), groups, -1])
    shape = tf.stack([size_of(x, 0), *sizes, groups])
    made = tf.nn.depthwise_conv2d_backprop_input(shape, kernel, x, [1, *strides, 1], padding)
    return tf.ensure_shape(made, [x.shape[0], *(size if known(size) else None for size in sizes), groups])


def _by_convolution(x: Tensor, w: Tensor, window: Window, groups: int) -> Tensor:
    """All that the kernel reaches: a convolution of the spread data with the kernel turned round."""
    pads = tuple((extent - 1, extent - 1) for extent in window.extents)
    ones = (1,) * window.rank
    around = Window(window.kernel, ones, window.dilations, pads)
    return convolve(_spread(x, window.strides), _turned(w, window.rank, groups), around, groups)


def _spread(x: Tensor, strides: Sequence[int]) -> Tensor:
    """With ``stride - 1`` zeros between neighbours."""
    for axis, stride in enumerate(strides, 1):
        if stride == 1:
            continue
        sizes = list(sizes_of(x, range(x.shape.rank)))
        x = tf.expand_dims(x, axis + 1)
        x = tf.pad(x, [(0, stride - 1) if i == axis + 1 else (0, 0) for i in range(x.shape.rank)])
        sizes[axis] = sizes[axis] * stride
        x = tf.reshape(x, tf.stack(sizes))
        x = x[(slice(None),) * axis + (slice(0, 1 - stride),)]
    return x


def _turned(w: Tensor, rank: int, groups: int) -> Tensor:
    """[spatial…, M / groups, C] as the kernel of a convolution, [spatial…, C / groups, M]."""
    kernel = list(sizes_of(w, range(rank)))
    outputs, inputs = sizes_of(w, (rank, rank + 1))
    w = tf.reverse(w, list(range(rank)))
    w = tf.reshape(w, tf.stack([*kernel, outputs, groups, inputs // groups]))
    w = tf.transpose(w, [*range(rank), rank + 2, rank + 1, rank])
    return tf.reshape(w, tf.stack([*kernel, inputs // groups, groups * outputs]))
