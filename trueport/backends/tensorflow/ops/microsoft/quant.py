"""ONNX Runtime's quantized element-wise operators, with the roundings of its own kernels.

ONNX does not define these operators; what the runtime computes is their definition. Where its kernels differ between
processors, the one for AVX2 is followed.
"""

from __future__ import annotations

from collections.abc import Callable

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.barrier import opaque
from trueport.backends.tensorflow.kernels.linear_quantization import (
    along_axis,
    centred,
    combined_scale,
    dequantize,
    limits,
    quantize,
    requantize,
    saturate,
)
from trueport.mapping.declare import maps

__all__: list[str] = []

_MS = "com.microsoft"


@maps("QuantizeLinear", domain=_MS)
def quantize_linear(t: Emission, x: Tensor, y_scale: Tensor, y_zero_point: Tensor | None, *, axis: int = 1) -> Tensor:
    zero_point = tf.zeros([], tf.uint8) if y_zero_point is None else y_zero_point
    return quantize(x, along_axis(y_scale, x, axis), along_axis(zero_point, x, axis))


@maps("DequantizeLinear", domain=_MS)
def dequantize_linear(t: Emission, x: Tensor, x_scale: Tensor, x_zero_point: Tensor | None, *, axis: int = 1) -> Tensor:
    zero_point = None if x_zero_point is None else along_axis(x_zero_point, x, axis)
    return tf.cast(dequantize(x, along_axis(x_scale, x, axis), zero_point), x_scale.dtype)


@maps("QLinearAdd", domain=_MS)
def qlinear_add(
    t: Emission,
    A: Tensor,
    A_scale: Tensor,
    A_zero_point: Tensor | None,
    B: Tensor,
    B_scale: Tensor,
    B_zero_point: Tensor | None,
    C_scale: Tensor,
    C_zero_point: Tensor | None,
) -> Tensor:
    """The zero points are folded into one term; each product is fused with its sum and rounded once."""
    a_scale, b_scale, c_scale = (opaque(scale) for scale in (A_scale, B_scale, C_scale))
    a_ratio, b_ratio = opaque(a_scale / c_scale), opaque(b_scale / c_scale)
    a_zero, b_zero, c_zero = (_float(zero) for zero in (A_zero_point, B_zero_point, C_zero_point))
    constant = c_zero - _fused(a_ratio, a_zero, b_ratio * b_zero)
    total = _fused(A, a_ratio, _fused(B, b_ratio, constant))
    return saturate(tf.round(total), A.dtype)


@maps("QLinearMul", domain=_MS)
def qlinear_mul(
    t: Emission,
    A: Tensor,
    A_scale: Tensor,
    A_zero_point: Tensor | None,
    B: Tensor,
    B_scale: Tensor,
    B_zero_point: Tensor | None,
    C_scale: Tensor,
    C_zero_point: Tensor | None,
) -> Tensor:
    """The zero point is added before rounding."""
    product = centred(A, A_zero_point) * centred(B, B_zero_point)
    scaled = product * combined_scale(A_scale, B_scale, C_scale)
    return saturate(tf.round(scaled + _float(C_zero_point)), A.dtype)


@maps("QLinearSigmoid", domain=_MS)
def qlinear_sigmoid(
    t: Emission,
    X: Tensor,
    X_scale: Tensor,
    X_zero_point: Tensor | None,
    Y_scale: Tensor,
    Y_zero_point: Tensor | None,
) -> Tensor:
    return _by_table(_sigmoid, X, X_scale, X_zero_point, Y_scale, Y_zero_point)


@maps("QLinearLeakyRelu", domain=_MS)
def qlinear_leaky_relu(
    t: Emission,
    X: Tensor,
    X_scale: Tensor,
    X_zero_point: Tensor | None,
    Y_scale: Tensor,
    Y_zero_point: Tensor | None,
    *,
    alpha: float = 0.01,
) -> Tensor:
    slope = opaque(tf.constant(alpha, tf.float32))
    return _by_table(lambda x: tf.where(x >= 0, x, x * slope), X, X_scale, X_zero_point, Y_scale, Y_zero_point)


@maps("QLinearSoftmax", domain=_MS)
def qlinear_softmax(
    t: Emission,
    X: Tensor,
    X_scale: Tensor,
    X_zero_point: Tensor | None,
    Y_scale: Tensor,
    Y_zero_point: Tensor,
    *,
    opset: int,
    axis: int = -1,
) -> Tensor:
    """Before opset 13 all axes from ``axis`` on are one; the output's steps are a whole number."""
    shape = tf.shape(X)
    x = X if opset >= 13 else tf.reshape(X, tf.concat([shape[:axis], [-1]], 0))
    along = axis if opset >= 13 else -1
    shares = tf.nn.softmax(tf.cast(x, tf.float64) * tf.cast(tf.reshape(X_scale, []), tf.float64), along)
    steps = tf.floor(1.0 / opaque(tf.reshape(Y_scale, [])))
    made = requantize(tf.cast(shares * tf.cast(steps, tf.float64), tf.float32), Y_zero_point, X.dtype)
    return made if opset >= 13 else tf.reshape(made, shape)


@maps("QLinearConcat", domain=_MS)
def qlinear_concat(t: Emission, Y_scale: Tensor, Y_zero_point: Tensor, *inputs: Tensor, axis: int) -> Tensor:
    """Each input comes with its scale and its zero point."""
    parts = zip(inputs[::3], inputs[1::3], inputs[2::3], strict=True)
    return tf.concat([quantize(dequantize(*part), Y_scale, Y_zero_point) for part in parts], axis)


@maps("QLinearWhere", domain=_MS)
def qlinear_where(
    t: Emission,
    condition: Tensor,
    X: Tensor,
    x_scale: Tensor,
    x_zero_point: Tensor,
    Y: Tensor,
    y_scale: Tensor,
    y_zero_point: Tensor,
    z_scale: Tensor,
    z_zero_point: Tensor,
) -> Tensor:
    x = quantize(dequantize(X, x_scale, x_zero_point), z_scale, z_zero_point)
    y = quantize(dequantize(Y, y_scale, y_zero_point), z_scale, z_zero_point)
    return tf.where(condition, x, y)


def _float(zero_point: Tensor | None) -> Tensor:
    return tf.zeros([], tf.float32) if zero_point is None else opaque(tf.cast(zero_point, tf.float32))


def _fused(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """``a * b + c`` rounded once: in float64 the product of an 8-bit integer and a float32 is exact."""
    return tf.cast(tf.cast(a, tf.float64) * tf.cast(b, tf.float64) + tf.cast(c, tf.float64), tf.float32)


def _sigmoid(x: Tensor) -> Tensor:
    return tf.cast(tf.sigmoid(tf.cast(x, tf.float64)), tf.float32)


def _by_table(
    function: Callable[[Tensor], Tensor],
    x: Tensor,
    x_scale: Tensor,
    x_zero_point: Tensor | None,
    y_scale: Tensor,
    y_zero_point: Tensor | None,
) -> Tensor:
    """An 8-bit function by its 256 values."""
    least, greatest = limits(x.dtype)
    every = tf.cast(tf.range(least, greatest + 1), x.dtype)
    zero_point = tf.zeros([], x.dtype) if y_zero_point is None else y_zero_point
    table = quantize(function(dequantize(every, x_scale, x_zero_point)), y_scale, zero_point)
    return tf.gather(table, tf.cast(x, tf.int32) - least)
