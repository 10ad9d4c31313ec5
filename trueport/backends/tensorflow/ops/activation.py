"""Activations: element-wise functions between layers."""

from __future__ import annotations

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.context import Tensor, Translation
from trueport.fidelity import ulps
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Relu", error=ulps(0))
def relu(t: Translation, X: Tensor) -> Tensor:
    return tf.maximum(X, tf.zeros([], X.dtype))


@maps("Softmax")
def softmax(t: Translation, input: Tensor, *, axis: int) -> Tensor:
    return tf.nn.softmax(input, axis)
