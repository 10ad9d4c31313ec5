"""Activations: element-wise functions between layers."""

from __future__ import annotations

from trueport.backends.tensorflow._tf import tf
from trueport.fidelity import BITWISE
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Relu", fidelity=BITWISE)
def relu(t, X):
    return tf.maximum(X, tf.zeros([], X.dtype))


@maps("Softmax")
def softmax(t, input, *, axis):
    return tf.nn.softmax(input, axis)
