"""Tensors made from positions: ranges, diagonals, triangles."""

from __future__ import annotations

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.build.dtypes import tf_dtype
from trueport.backends.tensorflow.kernels.sizes import size_of
from trueport.fidelity import BITWISE
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Trilu", fidelity=BITWISE, audited=14)
def trilu(t: Emission, input: Tensor, k: Tensor | None, *, upper: int) -> Tensor:
    diagonal = tf.zeros([], tf.int64) if k is None else tf.reshape(k, [])
    offsets = _offsets(input)
    return tf.where(offsets >= diagonal if upper else offsets <= diagonal, input, tf.zeros([], input.dtype))


@maps("EyeLike", fidelity=BITWISE, audited=22)
def eye_like(t: Emission, input: Tensor, *, dtype: int | None, k: int) -> Tensor:
    wanted = input.dtype if dtype is None else tf_dtype(ir.DataType(dtype))
    return tf.cast(_offsets(input) == k, wanted)


def _offsets(matrix: Tensor) -> Tensor:
    """Column minus row for each place of the last two axes."""
    rows, columns = (tf.range(size_of(matrix, axis, tf.int64), dtype=tf.int64) for axis in (-2, -1))
    return columns - rows[:, tf.newaxis]


@maps("Range", audited=27)
def range_(t: Emission, start: Tensor, limit: Tensor, delta: Tensor, *, stash_type: int) -> Tensor:
    dtype = start.dtype
    start, limit, delta = (tf.reshape(bound, []) for bound in (start, limit, delta))
    if dtype.is_integer:
        first, step = tf.cast(start, tf.int64), tf.cast(delta, tf.int64)
        count = -((first - tf.cast(limit, tf.int64)) // step)
        return tf.cast(first + tf.range(tf.maximum(count, 0)) * step, dtype)
    if dtype in (tf.float16, tf.bfloat16):
        wide = tf_dtype(ir.DataType(stash_type))
        start, limit, delta = (tf.cast(bound, wide) for bound in (start, limit, delta))
    count = tf.math.ceil(tf.cast(limit - start, tf.float64) / tf.cast(delta, tf.float64))
    places = tf.range(tf.cast(tf.maximum(count, 0), tf.int64))
    return tf.cast(start + tf.cast(places, start.dtype) * delta, dtype)
