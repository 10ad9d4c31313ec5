"""A total order for every element type: as integers, as columns of integers, and sorting by them.

ONNX leaves the order of NaN open. Here, as in NumPy, all NaN are one value above all others, and -0 equals 0.
"""

from __future__ import annotations

from typing import Any

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.kernels.shapes import shape_of

__all__ = ["key_columns", "order_key", "sorted_order"]

Tensor = Any

_KEYS = {2: "int16", 4: "int32", 8: "int64"}


def order_key(tensor: Tensor) -> Tensor:
    """Integers in the order of the (real) numbers; by the bits, so that denormals count."""
    if tensor.dtype == tf.bool:
        return tf.cast(tensor, tf.int8)
    if not tensor.dtype.is_floating:
        return tensor
    key = tf.as_dtype(_KEYS[tensor.dtype.size])
    bits = tf.bitcast(tensor, key)
    magnitude = tf.bitwise.bitwise_and(bits, tf.constant(key.max, key))
    infinity = tf.bitcast(tf.constant(float("inf"), tensor.dtype), key)
    ordered = tf.where(bits < 0, -magnitude, magnitude)
    return tf.where(magnitude > infinity, tf.constant(key.max, key), ordered)


def key_columns(items: Tensor) -> Tensor:
    """``[n, columns]`` integers whose rows stand in the order of the items along the first axis."""
    flat = tf.reshape(items, [shape_of(items)[0], tf.reduce_prod(shape_of(items)[1:])])
    if items.shape.rank == 1:
        flat = tf.ensure_shape(flat, [None, 1])
    if flat.dtype.is_complex:
        parts = order_key(tf.stack([tf.math.real(flat), tf.math.imag(flat)], -1))
        return tf.reshape(parts, [shape_of(flat)[0], shape_of(flat)[1] * 2])
    if flat.dtype == tf.string:
        return _byte_columns(flat)
    return order_key(flat)


def _byte_columns(strings: Tensor) -> Tensor:
    """The bytes of each string, plus one; zero stands after its end."""
    lengths = tf.strings.length(strings)
    longest = tf.maximum(tf.reduce_max(tf.concat([tf.reshape(lengths, [-1]), [0]], 0)), 1)
    codes = tf.cast(tf.io.decode_raw(strings, tf.uint8, fixed_length=longest), tf.int16) + 1
    codes = tf.where(tf.range(longest) < lengths[..., tf.newaxis], codes, tf.constant(0, tf.int16))
    return tf.reshape(codes, [shape_of(strings)[0], shape_of(strings)[1] * tf.cast(longest, tf.int64)])


def sorted_order(columns: Tensor) -> Tensor:
    """The row numbers in ascending order of the rows, equal rows in their own order; int32."""
    if columns.shape[1] == 1:
        return tf.argsort(columns[:, 0], stable=True)
    start = tf.range(tf.shape(columns)[0])

    def by_column(column: Tensor, order: Tensor) -> tuple[Tensor, Tensor]:
        keys = tf.gather(columns[:, column], order)
        return column - 1, tf.gather(order, tf.argsort(keys, stable=True))

    last = tf.shape(columns)[1] - 1
    invariants = (tf.TensorShape([]), tf.TensorShape([None]))
    return tf.while_loop(lambda column, _: column >= 0, by_column, (last, start), shape_invariants=invariants)[1]
