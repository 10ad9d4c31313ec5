"""Linear quantization: from reals to integers or floats of few bits, and back."""

from __future__ import annotations

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.build.dtypes import tf_dtype
from trueport.backends.tensorflow.kernels.barrier import opaque
from trueport.backends.tensorflow.kernels.casting import convert
from trueport.backends.tensorflow.kernels.linear_quantization import along_axis, clamp, dynamic_parameters, quantize
from trueport.backends.tensorflow.kernels.narrow import encode_float, encode_integer
from trueport.ir.dtypes import FLOATS, NARROW_FLOATS, NARROW_INTEGERS
from trueport.mapping.declare import maps

__all__: list[str] = []

_D = ir.DataType


@maps("QuantizeLinear", audited=28)
def quantize_linear(
    t: Emission,
    x: Tensor,
    y_scale: Tensor,
    y_zero_point: Tensor | None,
    *,
    axis: int,
    block_size: int,
    output_dtype: int,
    precision: int,
    saturate: int,
) -> Tensor:
    target = _D(output_dtype or _D.UINT8) if y_zero_point is None else t.input_type(2)
    wide = _division_type(t, precision)
    dividend = convert(x, t.input_type(0), wide)
    divisor = along_axis(convert(y_scale, t.input_type(1), wide), x, axis, block_size)
    ratio = tf.cast(dividend / opaque(divisor), tf.float32 if wide != _D.DOUBLE else tf.float64)
    real = ratio if target in NARROW_FLOATS else tf.round(ratio)
    if y_zero_point is not None and not _is_zero(t, y_zero_point):
        real += tf.cast(along_axis(convert(y_zero_point, target, _D.FLOAT), x, axis, block_size), real.dtype)
    if target in NARROW_FLOATS:
        return encode_float(tf.cast(real, tf.float32), target, bool(saturate), "up")
    held = clamp(real, target)
    if target in NARROW_INTEGERS:
        return encode_integer(tf.cast(held, tf.int8), target)
    return tf.cast(held, tf_dtype(target))


@maps("DequantizeLinear", audited=28)
def dequantize_linear(
    t: Emission,
    x: Tensor,
    x_scale: Tensor,
    x_zero_point: Tensor | None,
    *,
    axis: int,
    block_size: int,
    output_dtype: int,
) -> Tensor:
    source, target = t.input_type(0), _D(output_dtype) if output_dtype else t.input_type(1)
    # 32 bits are subtracted as integers, for float32 does not hold them; all other differences are exact in it.
    exact = source if source == _D.INT32 else _D.FLOAT
    value = convert(x, source, exact)
    if x_zero_point is not None and not _is_zero(t, x_zero_point):
        value -= along_axis(convert(x_zero_point, source, exact), x, axis, block_size)
    scale = along_axis(convert(x_scale, t.input_type(1), _D.FLOAT), x, axis, block_size)
    return tf.cast(tf.cast(value, tf.float32) * opaque(scale), tf_dtype(target))


@maps("DynamicQuantizeLinear", audited=11)
def dynamic_quantize_linear(t: Emission, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    scale, zero_point = dynamic_parameters(x)
    return quantize(x, scale, zero_point), scale, zero_point


def _division_type(t: Emission, precision: int) -> ir.DataType:
    """The type that ``x / y_scale`` is rounded in: a float, for a scale that is none has no fractions."""
    chosen = _D(precision) if precision else t.input_type(1)
    if chosen in FLOATS:
        return chosen
    return _D.DOUBLE if chosen == _D.INT32 else _D.FLOAT


def _is_zero(t: Emission, zero_point: Tensor) -> bool:
    known = t.static(zero_point)
    return known is not None and not known.astype("float32").any()
