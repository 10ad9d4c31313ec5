"""Window functions: sums of cosines, made in float64 whatever they are given out as."""

from __future__ import annotations

import math

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.build.dtypes import tf_dtype
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("HannWindow", audited=17)
def hann_window(t: Emission, size: Tensor, *, output_datatype: int, periodic: int) -> Tensor:
    return _cosines(size, periodic, output_datatype, 0.5, -0.5)


@maps("HammingWindow", audited=17)
def hamming_window(t: Emission, size: Tensor, *, output_datatype: int, periodic: int) -> Tensor:
    return _cosines(size, periodic, output_datatype, 25 / 46, -21 / 46)


@maps("BlackmanWindow", audited=17)
def blackman_window(t: Emission, size: Tensor, *, output_datatype: int, periodic: int) -> Tensor:
    return _cosines(size, periodic, output_datatype, 0.42, -0.5, 0.08)


def _cosines(size: Tensor, periodic: int, output_datatype: int, *coefficients: float) -> Tensor:
    size = tf.reshape(size, [])
    turn = 2 * math.pi * tf.cast(tf.range(size), tf.float64) / tf.cast(size if periodic else size - 1, tf.float64)
    made = tf.add_n([factor * tf.cos(k * turn) for k, factor in enumerate(coefficients)])
    return tf.cast(made, tf_dtype(ir.DataType(output_datatype)))
