"""Integers as rows of bits."""

from __future__ import annotations

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.numeric import is_unsigned, like
from trueport.fidelity import BITWISE
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("BitShift", audited=28, fidelity=BITWISE)
def bit_shift(t: Emission, X: Tensor, Y: Tensor, *, direction: str) -> Tensor:
    last = like(8 * X.dtype.size - 1, X)
    # TensorFlow clamps amounts into the width; ONNX shifts everything out, for a negative amount too.
    outside = tf.greater(Y, last) if is_unsigned(Y) else tf.greater(Y, last) | tf.less(Y, like(0, Y))
    if direction == "RIGHT" and not is_unsigned(X):
        return tf.bitwise.right_shift(X, tf.where(outside, last, Y))
    shift = tf.bitwise.left_shift if direction == "LEFT" else tf.bitwise.right_shift
    return tf.where(outside, like(0, X), shift(X, Y))
