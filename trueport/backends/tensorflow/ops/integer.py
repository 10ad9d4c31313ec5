"""Products of 8-bit integers: summed in 32 bits, or requantized to 8."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.casting import convert
from trueport.backends.tensorflow.kernels.integer_sums import integer_conv, integer_matmul, matmul, per_row
from trueport.backends.tensorflow.kernels.linear_quantization import combined_scale, requantize
from trueport.backends.tensorflow.kernels.narrow import encode_float
from trueport.backends.tensorflow.kernels.shapes import of_rank
from trueport.backends.tensorflow.kernels.sizes import size_of, sizes_of
from trueport.backends.tensorflow.kernels.spatial import channels_to_end, channels_to_front, window_of
from trueport.ir.dtypes import FLOAT8
from trueport.mapping.declare import maps
from trueport.mapping.needs import known_rank

__all__: list[str] = []

_D = ir.DataType


@maps("MatMulInteger", audited=10)
def mat_mul_integer(
    t: Emission, A: Tensor, B: Tensor, a_zero_point: Tensor | None, b_zero_point: Tensor | None
) -> Tensor:
    return integer_matmul(t, A, B, a_zero_point, b_zero_point, weight=1)


@maps("QLinearMatMul", audited=21)
def qlinear_mat_mul(
    t: Emission,
    a: Tensor,
    a_scale: Tensor,
    a_zero_point: Tensor,
    b: Tensor,
    b_scale: Tensor,
    b_zero_point: Tensor,
    y_scale: Tensor,
    y_zero_point: Tensor,
) -> Tensor:
    scale = combined_scale(per_row(a_scale), b_scale, y_scale)
    types = [t.input_type(index) for index in (0, 3, 7)]
    if FLOAT8.intersection(types):
        a, b = (convert(x, source, _D.FLOAT) for x, source in zip((a, b), types, strict=False))
        return _to_type(matmul(a, b) * scale, y_zero_point, types[2])
    total = integer_matmul(t, a, b, a_zero_point, b_zero_point, weight=3)
    return _scaled(total, None, scale, y_zero_point)


@maps(
    "ConvInteger", needs=[known_rank(1, 0, of="its kernel and data")], audited=10, reordered=("w",), channels_last=True
)
def conv_integer(
    t: Emission,
    x: Tensor,
    w: Tensor,
    x_zero_point: Tensor | None,
    w_zero_point: Tensor | None,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Tensor:
    rank = _rank(t, x, w)
    made = _conv(
        t,
        channels_to_end(t, of_rank(x, rank)),
        x_zero_point,
        w_zero_point,
        rank,
        1,
        group,
        kernel_shape=kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
    )
    return channels_to_front(t, made)


@maps(
    "QLinearConv", needs=[known_rank(3, 0, of="its kernel and data")], audited=10, reordered=("w",), channels_last=True
)
def qlinear_conv(
    t: Emission,
    x: Tensor,
    x_scale: Tensor,
    x_zero_point: Tensor,
    w: Tensor,
    w_scale: Tensor,
    w_zero_point: Tensor,
    y_scale: Tensor,
    y_zero_point: Tensor,
    B: Tensor | None,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Tensor:
    rank = _rank(t, x, w)
    total = _conv(
        t,
        channels_to_end(t, of_rank(x, rank)),
        x_zero_point,
        w_zero_point,
        rank,
        3,
        group,
        kernel_shape=kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
    )
    return channels_to_front(t, _scaled(total, B, combined_scale(x_scale, w_scale, y_scale), y_zero_point))


@maps("QLinearConv", domain="com.microsoft", needs=[known_rank(3, 0, of="its kernel and data")])
def qlinear_conv_of_either_layout(
    t: Emission,
    x: Tensor,
    x_scale: Tensor,
    x_zero_point: Tensor,
    w: Tensor,
    w_scale: Tensor,
    w_zero_point: Tensor,
    y_scale: Tensor,
    y_zero_point: Tensor,
    B: Tensor | None,
    *,
    auto_pad: str = "NOTSET",
    channels_last: int = 0,
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    rank = _rank(t, x, w)
    data = of_rank(x, rank)
    total = _conv(
        t,
        data if channels_last else channels_to_end(t, data),
        x_zero_point,
        w_zero_point,
        rank,
        3,
        group,
        kernel_shape=kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
    )
    made = _scaled(total, B, combined_scale(x_scale, w_scale, y_scale), y_zero_point)
    return made if channels_last else channels_to_front(t, made)


def _rank(t: Emission, x: Tensor, w: Tensor) -> int:
    return t.rank(w, x, of="its kernel and data")


def _conv(
    t: Emission,
    x: Tensor,
    x_zero_point: Tensor | None,
    w_zero_point: Tensor | None,
    rank: int,
    weight: int,
    group: int,
    *,
    kernel_shape: Sequence[int] | None,
    **places: Any,
) -> Tensor:
    """The int32 convolution of channel-last data; ``places`` says where the kernel goes."""
    kernel = t.weight(weight, [*range(2, rank), 1, 0])
    sizes = kernel_shape or [size_of(kernel, axis) for axis in range(rank - 2)]
    window = window_of(sizes_of(x, range(1, rank - 1)), sizes, **places)
    return integer_conv(t, x, kernel, x_zero_point, w_zero_point, window, group, weight=weight)


def _scaled(total: Tensor, bias: Tensor | None, scale: Tensor, zero_point: Tensor) -> Tensor:
    """A 32-bit sum with its bias, scaled and rounded to the type of the zero point."""
    biased = total if bias is None else total + bias
    return requantize(tf.cast(biased, tf.float32) * scale, zero_point, zero_point.dtype)


def _to_type(real: Tensor, zero_point: Tensor, target: ir.DataType) -> Tensor:
    """Rounded to an integer type, or to a float8, whose zero point is zero."""
    if target in FLOAT8:
        return encode_float(real, target, saturate=True, round_mode="up")
    return requantize(real, zero_point, zero_point.dtype)
