"""From one element type to another, each value rounded once."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Tensor
from trueport.backends.tensorflow.build.dtypes import tf_dtype
from trueport.backends.tensorflow.kernels import narrow
from trueport.backends.tensorflow.kernels.numeric import is_integer, is_unsigned
from trueport.ir.dtypes import FLOATS, NARROW_FLOATS, NARROW_INTEGERS

__all__ = ["convert", "reinterpret"]

_D = ir.DataType


def convert(
    x: Tensor, source: ir.DataType, target: ir.DataType, *, saturate: bool = True, round_mode: str = "up"
) -> Tensor:
    """The values of ``x`` in another type, as Cast defines it."""
    if source == target:
        return x
    if source == _D.STRING:
        return _parsed(x, target, saturate, round_mode)
    if narrow.is_narrow(source):
        x = narrow.decode(x, source, _roomy(source, target))
    if target == _D.STRING:
        return _printed(x)
    if target in NARROW_FLOATS:
        value = _wide_float(x) if target == _D.FLOAT8E8M0 else _float32_to_odd(x)
        return narrow.encode_float(value, target, saturate, round_mode)
    if target in NARROW_INTEGERS:
        return narrow.encode_integer(x if is_integer(x) else tf.cast(x, tf.int32), target)
    return _plain(x, tf_dtype(target))


def _roomy(source: ir.DataType, target: ir.DataType) -> Any:
    """A type with kernels that holds all values of a narrow type, and is the target if that is a float."""
    if source in NARROW_INTEGERS:
        return tf.int8 if source in (_D.INT4, _D.INT2) else tf.uint8
    return tf_dtype(target) if target in FLOATS else tf.float32


def _plain(x: Tensor, to: Any) -> Tensor:
    """Between types that TensorFlow computes with."""
    if to == tf.bool and x.dtype.is_floating:
        return _not_zero(x)
    if to in (tf.float16, tf.bfloat16) and x.dtype != tf.bool:
        return tf.cast(_float32_to_odd(x), to)
    return tf.cast(x, to)


def _not_zero(x: Tensor) -> Tensor:
    """By the bits: the kernels that compare floats take a denormal for zero."""
    integer = {2: tf.int16, 4: tf.int32, 8: tf.int64}[x.dtype.size]
    return tf.not_equal(tf.bitwise.bitwise_and(tf.bitcast(x, integer), integer.max), 0)


def _float32_to_odd(x: Tensor) -> Tensor:
    """In float32; what does not fit exactly gets an odd last digit, so that a second rounding can't go wrong."""
    if x.dtype != tf.float64 and (not is_integer(x) or x.dtype.size < 4):
        return tf.cast(x, tf.float32)
    exact = _wide_float(x)
    near = tf.cast(exact, tf.float32)
    back = tf.cast(near, tf.float64)
    bits = tf.bitcast(near, tf.int32)
    toward_zero = tf.where(tf.abs(back) > tf.abs(exact), bits - 1, bits)
    odd = tf.where(tf.not_equal(back, exact), tf.bitwise.bitwise_or(toward_zero, 1), toward_zero)
    return tf.bitcast(odd, tf.float32)


def _wide_float(x: Tensor) -> Tensor:
    """In a float that holds all values; integers beyond 2⁵³ keep 52 digits, the last one set if more follow."""
    if x.dtype.is_floating:
        return x if x.dtype == tf.float64 else tf.cast(x, tf.float32)
    if not is_integer(x) or x.dtype.size < 8:
        return tf.cast(x, tf.float64)
    last, low = tf.constant(1 << 11, x.dtype), tf.constant((1 << 11) - 1, x.dtype)
    digits = tf.bitwise.bitwise_and(x, tf.bitwise.invert(low))
    sticky = tf.where(tf.equal(x, digits), digits, tf.bitwise.bitwise_or(digits, last))
    limit = tf.constant(1 << 53, x.dtype)
    large = x > limit if is_unsigned(x) else (x > limit) | (x < -limit)
    return tf.cast(tf.where(large, sticky, x), tf.float64)


def _printed(x: Tensor) -> Tensor:
    """Numbers as text, as ONNX Runtime writes them: 8 significant digits, for double too."""
    if x.dtype == tf.bool:
        return tf.strings.as_string(tf.cast(x, tf.uint8))
    if is_integer(x):
        return tf.strings.as_string(x)
    x = x if x.dtype == tf.float64 else tf.cast(x, tf.float32)
    text = tf.strings.as_string(x, precision=8, shortest=True)
    infinite = tf.where(x > 0, "INF", "-INF")
    return tf.where(tf.math.is_nan(x), "NaN", tf.where(tf.math.is_inf(x), infinite, text))


def _parsed(x: Tensor, target: ir.DataType, saturate: bool, round_mode: str) -> Tensor:
    """Text as numbers; for an integer the digits before the point count."""
    if target in FLOATS | NARROW_FLOATS:
        exact = target == _D.FLOAT
        number = tf.strings.to_number(x, tf.float32 if exact else tf.float64)
        return convert(number, _D.FLOAT if exact else _D.DOUBLE, target, saturate=saturate, round_mode=round_mode)
    whole = tf.strings.regex_replace(x, r"^\s*([+-]?\d+)(.|\n)*$", r"\1")
    if target == _D.UINT64:
        return _parsed_uint64(whole)
    return convert(tf.strings.to_number(whole, tf.int64), _D.INT64, target)


def _parsed_uint64(digits: Tensor) -> Tensor:
    """A minus sign wraps around."""
    unsigned = tf.strings.to_number(tf.strings.regex_replace(digits, r"^[+-]", ""), tf.uint64)
    return tf.where(tf.strings.regex_full_match(digits, "-.*"), tf.constant(0, tf.uint64) - unsigned, unsigned)


def reinterpret(x: Tensor, source: ir.DataType, target: ir.DataType) -> Tensor:
    """The bits of ``x`` as another type of the same width."""
    if source == target:
        return x
    if narrow.is_narrow(source):
        x = narrow.to_bits(x, source)
    elif source == _D.BOOL:
        x = tf.cast(x, tf.uint8)
    if narrow.is_narrow(target):
        return narrow.from_bits(x if x.dtype == tf.uint8 else tf.bitcast(x, tf.uint8), target)
    if target == _D.BOOL:
        return tf.not_equal(x, tf.zeros([], x.dtype))
    return tf.bitcast(x, tf_dtype(target))
