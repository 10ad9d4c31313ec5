"""Circular and hyperbolic functions and their inverses.

The bounds are the largest distances of TensorFlow's kernels from the truth over every 509th float32, rounded up.
"""

from __future__ import annotations

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.barrier import before_tanh
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Acos", audited=22)
def acos(t: Emission, input: Tensor) -> Tensor:
    return tf.math.acos(input)


@maps("Acosh", audited=22)
def acosh(t: Emission, input: Tensor) -> Tensor:
    return tf.math.acosh(input)


@maps("Asin", audited=22)
def asin(t: Emission, input: Tensor) -> Tensor:
    return tf.math.asin(input)


@maps("Asinh", audited=22)
def asinh(t: Emission, input: Tensor) -> Tensor:
    return tf.math.asinh(input)


@maps("Atan", audited=22)
def atan(t: Emission, input: Tensor) -> Tensor:
    return tf.math.atan(input)


@maps("Atanh", audited=22)
def atanh(t: Emission, input: Tensor) -> Tensor:
    return tf.math.atanh(input)


@maps("Cos", audited=22)
def cos(t: Emission, input: Tensor) -> Tensor:
    return tf.math.cos(input)


@maps("Cosh", audited=22)
def cosh(t: Emission, input: Tensor) -> Tensor:
    return tf.math.cosh(input)


@maps("Sin", audited=22)
def sin(t: Emission, input: Tensor) -> Tensor:
    return tf.math.sin(input)


@maps("Sinh", audited=22)
def sinh(t: Emission, input: Tensor) -> Tensor:
    return tf.math.sinh(input)


@maps("Tan", audited=22)
def tan(t: Emission, input: Tensor) -> Tensor:
    return tf.math.tan(input)


@maps("Tanh", audited=13)
def tanh(t: Emission, input: Tensor) -> Tensor:
    return tf.math.tanh(before_tanh(input))
