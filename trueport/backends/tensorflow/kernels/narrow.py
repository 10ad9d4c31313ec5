"""Floats and integers of less than sixteen bits: TensorFlow has few kernels for them, so values are made from
their bits by a table, and bits from values by exact scaling and one rounding.

A type in ``CONTAINERS`` travels as its bits in uint8; the others (two float8 types, int4, uint4) are TensorFlow's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Tensor
from trueport.backends.tensorflow.build.dtypes import tf_dtype
from trueport.backends.tensorflow.kernels.numeric import like
from trueport.ir.dtypes import NARROW_FLOATS, NARROW_INTEGERS, numpy_dtype
from trueport.ir.ports import CONTAINERS

__all__ = ["decode", "encode_float", "encode_integer", "from_bits", "is_narrow", "to_bits", "to_float32"]

_D = ir.DataType


@dataclass(frozen=True)
class _Format:
    """A float of few bits: sign, exponent, ``mantissa`` bits, with gradual underflow below 2 ** ``least_exponent``."""

    bits: int
    mantissa: int
    least_exponent: int
    largest: int
    """the code of the largest finite value"""
    beyond: int
    """the code of what lies beyond it, where conversion does not saturate"""
    nan: int
    signed_zero: bool = True

    @property
    def sign(self) -> int:
        return 1 << (self.bits - 1)


_FORMATS = {
    _D.FLOAT8E4M3FN: _Format(8, 3, -6, largest=0x7E, beyond=0x7F, nan=0x7F),
    _D.FLOAT8E5M2: _Format(8, 2, -14, largest=0x7B, beyond=0x7C, nan=0x7E),
    _D.FLOAT8E4M3FNUZ: _Format(8, 3, -7, largest=0x7F, beyond=0x80, nan=0x80, signed_zero=False),
    _D.FLOAT8E5M2FNUZ: _Format(8, 2, -15, largest=0x7F, beyond=0x80, nan=0x80, signed_zero=False),
    # No infinity and no NaN: beyond the largest is the largest, and what is no number becomes -0.
    _D.FLOAT6E2M3: _Format(6, 3, 0, largest=0x1F, beyond=0x1F, nan=0x20),
    _D.FLOAT6E3M2: _Format(6, 2, -2, largest=0x1F, beyond=0x1F, nan=0x20),
    _D.FLOAT4E2M1: _Format(4, 1, 0, largest=0x7, beyond=0x7, nan=0x8),
}
_BITS = {_D.INT4: 4, _D.UINT4: 4, _D.INT2: 2, _D.UINT2: 2}
_NATIVE_FLOAT8 = frozenset({_D.FLOAT8E4M3FN, _D.FLOAT8E5M2})


def is_narrow(dtype: ir.DataType) -> bool:
    """Whether a type is one of those that this module converts."""
    return dtype in NARROW_FLOATS | NARROW_INTEGERS


def decode(x: Tensor, source: ir.DataType, to: Any) -> Tensor:
    """The values of a narrow tensor, in a TensorFlow type of at least eight bits; a float, if the values are."""
    if source in NARROW_INTEGERS:
        return tf.cast(_integers(x, source), to)
    if source in _NATIVE_FLOAT8:
        return tf.cast(tf.cast(x, tf.float32), to)
    table = _codes(source).astype(to.as_numpy_dtype)
    return tf.gather(tf.constant(table, to), tf.cast(x, tf.int32))


def to_float32(x: Tensor, source: ir.DataType) -> Tensor:
    """The values of a narrow tensor in float32, which holds all of them."""
    return decode(x, source, tf.float32)


def _codes(dtype: ir.DataType) -> np.ndarray:
    """Every value of a narrow float, in the order of its codes."""
    bits = _FORMATS[dtype].bits if dtype in _FORMATS else 8
    return np.arange(1 << bits, dtype=np.uint8).view(numpy_dtype(dtype))


def _integers(x: Tensor, source: ir.DataType) -> Tensor:
    if source not in CONTAINERS:
        return tf.cast(x, tf.int8 if source == _D.INT4 else tf.uint8)
    return _sign_extended(x, _BITS[source]) if source == _D.INT2 else x


def _sign_extended(codes: Tensor, bits: int) -> Tensor:
    half = 1 << (bits - 1)
    return tf.bitwise.bitwise_xor(tf.cast(codes, tf.int8), tf.constant(half, tf.int8)) - half


def encode_integer(x: Tensor, target: ir.DataType) -> Tensor:
    """Integers of at least eight bits in a narrow type: the higher bits are dropped."""
    codes = tf.bitwise.bitwise_and(x, like((1 << _BITS[target]) - 1, x))
    return _integer_of(tf.cast(codes, tf.uint8), target)


def _integer_of(codes: Tensor, target: ir.DataType) -> Tensor:
    if target in CONTAINERS:
        return codes
    return tf.cast(_sign_extended(codes, 4) if target == _D.INT4 else codes, tf_dtype(target))


def encode_float(x: Tensor, target: ir.DataType, saturate: bool, round_mode: str) -> Tensor:
    """Floats rounded to the nearest of a narrow type, ties to even.

    ``x`` is float32; for FLOAT8E8M0, where ``round_mode`` counts, it may be float64.
    """
    if target == _D.FLOAT8E8M0:
        return _power_of_two(x, saturate, round_mode)
    if target in _NATIVE_FLOAT8:
        return _native_float8(x, target, saturate)
    return tf.cast(_float_codes(x, _FORMATS[target], saturate), tf.uint8)


def _native_float8(x: Tensor, target: ir.DataType, saturate: bool) -> Tensor:
    if saturate:
        largest = float(_codes(target)[_FORMATS[target].largest])
        # Both keep NaN.
        x = tf.minimum(tf.maximum(x, -largest), largest)
    return tf.cast(x, tf_dtype(target))


def _float_codes(x: Tensor, form: _Format, saturate: bool) -> Tensor:
    """The codes (int32) of float32 values."""
    bits = tf.bitcast(x, tf.int32)
    # Far beyond the largest all is one; cut there so that no step below overflows.
    size = tf.minimum(tf.abs(x), 2.0**32)
    exponent = tf.maximum(tf.bitwise.right_shift(tf.bitcast(size, tf.int32), 23) - 127, form.least_exponent)
    # A power of two, so the product is exact: round to whole units of the last place.
    unit_inverse = tf.bitcast(tf.bitwise.left_shift(127 + form.mantissa - exponent, 23), tf.float32)
    units = tf.cast(tf.round(size * unit_inverse), tf.int32)
    code = tf.bitwise.left_shift(exponent - form.least_exponent, form.mantissa) + units
    code = tf.where(code > form.largest, form.largest if saturate else form.beyond, code)
    signed = bits < 0 if form.signed_zero else (bits < 0) & (code > 0)
    code = tf.where(signed, tf.bitwise.bitwise_or(code, form.sign), code)
    return tf.where(tf.math.is_nan(x), form.nan, code)


def _power_of_two(x: Tensor, saturate: bool, round_mode: str) -> Tensor:
    """FLOAT8E8M0, a bare exponent: the sign is ignored, zero and what is too small become the least power."""
    integer, width, bias = (tf.int64, 52, 1023) if x.dtype == tf.float64 else (tf.int32, 23, 127)
    one = tf.constant(1, integer)
    magnitude = tf.bitwise.bitwise_and(tf.bitcast(x, integer), integer.max)
    exponent = tf.bitwise.right_shift(magnitude, width * one) - bias + 127
    rest = tf.bitwise.bitwise_and(magnitude, tf.bitwise.left_shift(one, width * one) - 1)
    half = tf.bitwise.left_shift(one, (width - 1) * one)
    below = exponent < 0
    if x.dtype == tf.float32:
        # The least power, 2 ** -127, is half of float32's least normal number.
        below = magnitude < half
        rest = tf.where(tf.equal(exponent, 0), tf.bitwise.bitwise_and(rest * 2, 2 * half - 1), rest)
    if round_mode != "down":
        exponent += tf.cast(rest > 0 if round_mode == "up" else rest >= half, integer)
    code = tf.where(below, 0 * one if saturate else 255 * one, exponent)
    code = tf.where(exponent > 254, 254 * one if saturate else 255 * one, code)
    return tf.cast(tf.where(tf.math.is_nan(x), 255 * one, code), tf.uint8)


def to_bits(x: Tensor, source: ir.DataType) -> Tensor:
    """The bits of a narrow tensor in uint8."""
    if source in CONTAINERS:
        return x
    if source in NARROW_INTEGERS:
        return tf.bitwise.bitwise_and(tf.cast(tf.cast(x, tf.int8), tf.uint8), 0xF)
    value = tf.cast(x, tf.float32)
    codes = _float_codes(value, _FORMATS[source], saturate=False)
    # The sign of NaN is kept too; _float_codes gives every NaN the same code.
    negative_nan = tf.math.is_nan(value) & (tf.bitcast(value, tf.int32) < 0)
    return tf.cast(tf.where(negative_nan, tf.bitwise.bitwise_or(codes, 0x80), codes), tf.uint8)


def from_bits(codes: Tensor, target: ir.DataType) -> Tensor:
    """The inverse of :func:`to_bits`."""
    if target in CONTAINERS:
        return codes
    if target in NARROW_INTEGERS:
        return _integer_of(codes, target)
    table = tf.constant(_codes(target), tf_dtype(target))
    return tf.gather(table, tf.cast(codes, tf.int32))
