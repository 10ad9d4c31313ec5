"""Activations: element-wise functions between layers."""

from __future__ import annotations

import math

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.context import Tensor, Translation
from trueport.backends.tensorflow.numeric import erf, is_unsigned, like, widened
from trueport.fidelity import accumulation, ulps
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Relu", audited=14, error=ulps(0))
def relu(t: Translation, X: Tensor) -> Tensor:
    return tf.nn.relu(X)


@maps("LeakyRelu", audited=16)
def leaky_relu(t: Translation, X: Tensor, *, alpha: float) -> Tensor:
    return tf.nn.leaky_relu(X, alpha)


@maps("PRelu", audited=16)
def prelu(t: Translation, X: Tensor, slope: Tensor) -> Tensor:
    return X if is_unsigned(X) else tf.where(tf.less(X, like(0, X)), slope * X, X)


@maps("ThresholdedRelu", audited=22, error=ulps(0))
def thresholded_relu(t: Translation, X: Tensor, *, alpha: float) -> Tensor:
    return tf.where(tf.greater(X, like(alpha, X)), X, like(0, X))


# exp(x) - 1 cancels near zero, in the specification's formula as in TensorFlow's kernel: the bound is relative to 1.


@maps("Elu", audited=22, error=accumulation())
def elu(t: Translation, X: Tensor, *, alpha: float) -> Tensor:
    if alpha == 1:
        return tf.nn.elu(X)
    return widened(lambda x: tf.where(x < 0, like(alpha, X) * tf.nn.elu(x), x), X)


@maps("Celu", audited=28, error=accumulation())
def celu(t: Translation, X: Tensor, *, alpha: float) -> Tensor:
    scale = tf.cast(like(alpha, X), X.dtype)
    return widened(lambda x, a: a * tf.nn.elu(x / a), X, scale)


@maps("Selu", audited=22, error=accumulation())
def selu(t: Translation, X: Tensor, *, alpha: float, gamma: float) -> Tensor:
    return widened(lambda x, a, g: g * tf.where(x < 0, a * tf.nn.elu(x), x), X, like(alpha, X), like(gamma, X))


@maps("Sigmoid", audited=13, error=ulps(4))
def sigmoid(t: Translation, X: Tensor) -> Tensor:
    return tf.sigmoid(X)


@maps("HardSigmoid", audited=22)
def hard_sigmoid(t: Translation, X: Tensor, *, alpha: float, beta: float) -> Tensor:
    return widened(_hard_sigmoid, X, like(alpha, X), like(beta, X))


@maps("HardSwish", audited=22)
def hard_swish(t: Translation, X: Tensor) -> Tensor:
    return widened(lambda x, a, b: x * _hard_sigmoid(x, a, b), X, like(1 / 6, X), like(0.5, X))


def _hard_sigmoid(x: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    return tf.minimum(tf.maximum(alpha * x + beta, 0), 1)


@maps("Swish", audited=24, error=ulps(6))
def swish(t: Translation, X: Tensor, *, alpha: float) -> Tensor:
    return widened(_swish, X, like(alpha, X))


@maps("SwiGLU", audited=28, error=ulps(7))
def swiglu(t: Translation, A: Tensor, B: Tensor, *, alpha: float) -> Tensor:
    return widened(lambda a, b, scale: _swish(a, scale) * b, A, B, like(alpha, A))


def _swish(x: Tensor, alpha: Tensor) -> Tensor:
    return x * tf.sigmoid(alpha * x)


@maps("Mish", audited=22, error=ulps(8))
def mish(t: Translation, X: Tensor) -> Tensor:
    return widened(lambda x: x * tf.tanh(tf.math.softplus(x)), X)


@maps("Gelu", audited=20, error=accumulation())
def gelu(t: Translation, X: Tensor, *, approximate: str) -> Tensor:
    return widened(_gelu_by_tanh if approximate == "tanh" else _gelu, X)


def _gelu(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + erf(x * math.sqrt(0.5)))


def _gelu_by_tanh(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + tf.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


@maps("Softplus", audited=22, error=ulps(4))
def softplus(t: Translation, X: Tensor) -> Tensor:
    return tf.math.softplus(X)


@maps("Softsign", audited=22, error=ulps(1))
def softsign(t: Translation, input: Tensor) -> Tensor:
    return tf.nn.softsign(input)


@maps("Shrink", audited=9)
def shrink(t: Translation, input: Tensor, *, bias: float, lambd: float) -> Tensor:
    zero, step, limit = like(0, input), like(bias, input), like(lambd, input)
    above = tf.where(input > limit, input - step, zero)
    return above if is_unsigned(input) else tf.where(input < -limit, input + step, above)


@maps("Softmax", audited=13, error=accumulation())
def softmax(t: Translation, input: Tensor, *, axis: int) -> Tensor:
    return widened(lambda x: tf.nn.softmax(x, axis), input)


@maps("LogSoftmax", audited=13, error=accumulation())
def log_softmax(t: Translation, input: Tensor, *, axis: int) -> Tensor:
    return widened(lambda x: tf.nn.log_softmax(x, axis), input)


@maps("Hardmax", audited=13, error=ulps(0))
def hardmax(t: Translation, input: Tensor, *, axis: int) -> Tensor:
    size = input.shape[axis] or tf.shape(input)[axis]
    return tf.one_hot(tf.argmax(input, axis), size, like(1, input), like(0, input), axis)
