"""Activations: element-wise functions between layers."""

from __future__ import annotations

import math

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.barrier import before_tanh
from trueport.backends.tensorflow.kernels.numeric import erf, is_unsigned, like, widened
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("LeakyRelu", audited=16)
def leaky_relu(t: Emission, X: Tensor, *, alpha: float) -> Tensor:
    return tf.nn.leaky_relu(X, alpha)


@maps("PRelu", audited=16)
def prelu(t: Emission, X: Tensor, slope: Tensor) -> Tensor:
    return X if is_unsigned(X) else tf.where(tf.less(X, like(0, X)), slope * X, X)


@maps("ThresholdedRelu", audited=22)
def thresholded_relu(t: Emission, X: Tensor, *, alpha: float) -> Tensor:
    return tf.where(tf.greater(X, like(alpha, X)), X, like(0, X))


# exp(x) - 1 cancels near zero, in the specification's formula as in TensorFlow's kernel: the bound is relative to 1.


@maps("Elu", audited=22)
def elu(t: Emission, X: Tensor, *, alpha: float) -> Tensor:
    if alpha == 1:
        return tf.nn.elu(X)
    return widened(lambda x, a: tf.where(x < 0, a * tf.nn.elu(x), x), X, like(alpha, X))


@maps("Celu", audited=28)
def celu(t: Emission, X: Tensor, *, alpha: float) -> Tensor:
    # Not elu(x / a) above zero: the quotient may overflow.
    return widened(lambda x, a: tf.where(x < 0, a * tf.nn.elu(x / a), x), X, like(alpha, X))


@maps("Selu", audited=22)
def selu(t: Emission, X: Tensor, *, alpha: float, gamma: float) -> Tensor:
    return widened(lambda x, a, g: g * tf.where(x < 0, a * tf.nn.elu(x), x), X, like(alpha, X), like(gamma, X))


@maps("HardSigmoid", audited=22)
def hard_sigmoid(t: Emission, X: Tensor, *, alpha: float, beta: float) -> Tensor:
    return widened(_hard_sigmoid, X, like(alpha, X), like(beta, X))


@maps("HardSwish", audited=22)
def hard_swish(t: Emission, X: Tensor) -> Tensor:
    return widened(lambda x, a, b: x * _hard_sigmoid(x, a, b), X, like(1 / 6, X), like(0.5, X))


def _hard_sigmoid(x: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    return tf.minimum(tf.maximum(alpha * x + beta, 0), 1)


@maps("Swish", audited=24)
def swish(t: Emission, X: Tensor, *, alpha: float) -> Tensor:
    return widened(_swish, X, *_scale(alpha, X))


@maps("SwiGLU", audited=28)
def swiglu(t: Emission, A: Tensor, B: Tensor, *, alpha: float) -> Tensor:
    return widened(lambda a, b, *scale: _swish(a, *scale) * b, A, B, *_scale(alpha, A))


def _scale(alpha: float, x: Tensor) -> list[Tensor]:
    return [] if alpha == 1 else [like(alpha, x)]


def _swish(x: Tensor, alpha: Tensor | None = None) -> Tensor:
    return x * tf.sigmoid(x if alpha is None else alpha * x)


@maps("Mish", audited=22)
def mish(t: Emission, X: Tensor) -> Tensor:
    return widened(_mish, X)


def _mish(x: Tensor) -> Tensor:
    """tanh(log(1 + eˣ)) is n / (n + 2) with n = eˣ (eˣ + 2), and 1 to the last digit for all x above 40.

    The formula as it stands would be fused to a kernel that is right to four digits only.
    """
    power = tf.exp(tf.minimum(x, like(40, x)))
    n = power * (power + 2)
    return x * (n / (n + 2))


@maps("Gelu", audited=20)
def gelu(t: Emission, X: Tensor, *, approximate: str) -> Tensor:
    return widened(_gelu_by_tanh if approximate == "tanh" else _gelu, X)


def _gelu(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + erf(x * math.sqrt(0.5)))


def _gelu_by_tanh(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + tf.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


@maps("Shrink", audited=9)
def shrink(t: Emission, input: Tensor, *, bias: float, lambd: float) -> Tensor:
    zero, step, limit = like(0, input), like(bias, input), like(lambd, input)
    above = tf.where(input > limit, input - step, zero)
    return above if is_unsigned(input) else tf.where(input < -limit, input + step, above)


@maps("Softmax", audited=13)
def softmax(t: Emission, input: Tensor, *, axis: int) -> Tensor:
    return widened(lambda x: _softmax(x, axis), input)


def _softmax(x: Tensor, axis: int) -> Tensor:
    if x.shape.rank is not None or axis == -1:
        made = tf.nn.softmax(x, axis)
        # TensorFlow's kernel leaves a NaN in its place; the sum that it belongs to makes the whole row one. All
        # other rows get a zero: a third of the time that choosing between the two takes.
        total = tf.stop_gradient(tf.reduce_sum(made, axis, keepdims=True))
        return made + (total - total)
    # Of unknown rank TensorFlow takes the last axis only.
    power = tf.exp(x - tf.reduce_max(x, axis, keepdims=True))
    return power / tf.reduce_sum(power, axis, keepdims=True)


@maps("LogSoftmax", audited=13)
def log_softmax(t: Emission, input: Tensor, *, axis: int) -> Tensor:
    return widened(lambda x: _log_softmax(x, axis), input)


def _log_softmax(x: Tensor, axis: int) -> Tensor:
    if x.shape.rank is not None or axis == -1:
        return tf.nn.log_softmax(x, axis)
    below = x - tf.reduce_max(x, axis, keepdims=True)
    return below - tf.math.log(tf.reduce_sum(tf.exp(below), axis, keepdims=True))


@maps("Hardmax", audited=13)
def hardmax(t: Emission, input: Tensor, *, axis: int) -> Tensor:
    largest = tf.equal(input, tf.reduce_max(input, axis, keepdims=True))
    # Not by tf.argmax, which refuses an empty axis.
    order = tf.cumsum(tf.cast(largest, tf.int32), axis)
    return tf.cast(largest & tf.equal(order, 1), input.dtype)


@maps("Tanh", audited=13)
def tanh(t: Emission, input: Tensor) -> Tensor:
    return tf.math.tanh(before_tanh(input))
