"""Sums of integer products, exact to 32 bits.

They are taken in floating point wherever that is provably exact: TensorFlow's matrix product and convolution are made
for it, and have no integer kernels of like speed. The proof is a bound on the absolute sum of all products; with it,
every partial sum is exact too, in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.convolution import convolve
from trueport.backends.tensorflow.kernels.linear_quantization import centred, limits
from trueport.backends.tensorflow.kernels.spatial import Window

__all__ = ["exact_sum", "integer_conv", "integer_matmul", "matmul", "per_row"]

_FLOAT32_EXACT = 2**24
_INT32_EXACT = 2**31


def integer_matmul(
    t: Emission,
    a: Tensor,
    b: Tensor,
    a_zero_point: Tensor | None,
    b_zero_point: Tensor | None,
    *,
    weight: int,
    transposed: bool = False,
) -> Tensor:
    """``(a - a_zero_point) @ (b - b_zero_point)`` in int32; ``b`` is the node's input ``weight``, maybe transposed."""
    depth = a.shape[-1] if a.shape.rank else None
    summed = 0 if b.shape.rank == 1 else -1 if transposed else -2
    heaviest = _heaviest(t, weight, b, b_zero_point, depth, (summed,))
    row_zero = per_row(a_zero_point)
    columns = t.weight(weight, [1, 0]) if transposed else b
    return exact_sum(
        lambda dtype: matmul(centred(a, row_zero, dtype), centred(columns, b_zero_point, dtype)),
        None if heaviest is None else heaviest * _magnitude(a, a_zero_point),
    )


def integer_conv(
    t: Emission,
    x: Tensor,
    kernel: Tensor,
    x_zero_point: Tensor | None,
    w_zero_point: Tensor | None,
    window: Window,
    groups: int,
    *,
    weight: int,
) -> Tensor:
    """The convolution of centred ``x`` [N, spatial…, C] and ``kernel`` [spatial…, C / groups, M] in int32.

    ``kernel`` is the node's input ``weight``, which has its output channels first. A zero point of the kernel is one
    or one per output channel. Pads stand for the zero point of ``x``.
    """
    sizes = kernel.shape[:-1].as_list()
    depth = None if None in sizes else int(np.prod(sizes))
    heaviest = _heaviest(t, weight, kernel, w_zero_point, depth, tuple(range(1, kernel.shape.rank)))
    return exact_sum(
        lambda dtype: convolve(centred(x, x_zero_point, dtype), centred(kernel, w_zero_point, dtype), window, groups),
        None if heaviest is None else heaviest * _magnitude(x, x_zero_point),
    )


def exact_sum(total: Callable[[Any], Tensor], bound: int | None) -> Tensor:
    """``total(dtype)`` as int32; a sum beyond 32 bits wraps, as a 32-bit accumulator does."""
    narrow = bound is not None and bound <= _FLOAT32_EXACT
    made = total(tf.float32 if narrow else tf.float64)
    if bound is not None and bound < _INT32_EXACT:
        return tf.cast(made, tf.int32)
    return tf.cast(tf.cast(made, tf.int64), tf.int32)


def per_row(parameter: Tensor | None) -> Tensor | None:
    """A scale or zero point with one element per row stands as a column; any other is left as it is."""
    if parameter is None or parameter.shape.rank != 1 or parameter.shape.num_elements() == 1:
        return parameter
    return parameter[:, tf.newaxis]


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """NumPy's matrix product: a vector stands for a row on the left, for a column on the right."""
    left = a[tf.newaxis, :] if a.shape.rank == 1 else a
    right = b[:, tf.newaxis] if b.shape.rank == 1 else b
    made = tf.matmul(left, right)
    dropped = [axis for axis, vector in ((-2, a), (-1, b)) if vector.shape.rank == 1]
    return tf.squeeze(made, dropped) if dropped else made


def _magnitude(x: Tensor, zero_point: Tensor | None) -> int:
    """The largest absolute value that ``x - zero_point`` can have."""
    least, greatest = limits(x.dtype)
    known = 0 if zero_point is None else tf.get_static_value(zero_point)
    if known is None:
        return greatest - least
    return max(int(np.max(known)) - least, greatest - int(np.min(known)))


def _heaviest(
    t: Emission, index: int, w: Tensor, zero_point: Tensor | None, depth: int | None, axes: tuple[int, ...]
) -> int | None:
    """The largest absolute sum of the weights that one result takes: of the weights themselves if they are known."""
    weights = _known_weights(t.node.inputs[index], zero_point, axes)
    if weights is not None:
        return int(np.abs(weights).sum(axis=axes).max(initial=0))
    return None if depth is None else depth * _magnitude(w, zero_point)


def _known_weights(value: ir.Value | None, zero_point: Tensor | None, axes: tuple[int, ...]) -> np.ndarray | None:
    """An initializer's centred weights; zero points are one for all, or one for each index of the axis not summed."""
    zeros = np.zeros(()) if zero_point is None else tf.get_static_value(zero_point)
    if value is None or value.const_value is None or value.is_graph_input() or zeros is None:
        return None
    weights = np.asarray(value.const_value.numpy()).astype(np.int64)
    summed = {axis % weights.ndim for axis in axes}
    shape = [1 if axis in summed else -1 for axis in range(weights.ndim)]
    if zeros.size != 1 and shape.count(-1) != 1:
        return None
    return weights - (zeros.astype(np.int64).reshape(shape) if zeros.size != 1 else int(zeros.max()))
