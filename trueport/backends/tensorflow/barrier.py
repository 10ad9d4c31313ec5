"""Constants that TensorFlow's graph optimizer must not reckon with.

Grappler turns ``x / c`` into ``x * (1 / c)`` and ``x * c * d`` into ``x * (c * d)`` when ``c`` and ``d`` are
constants: faster, but rounded elsewhere. Where the last bit counts, a constant goes through :func:`opaque`.
"""

from __future__ import annotations

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.context import Tensor

__all__ = ["opaque"]


def opaque(value: Tensor) -> Tensor:
    """The same value, not known to be constant; a tensor that is none anyway is left as it is."""
    tensor = tf.convert_to_tensor(value)
    if tf.get_static_value(tensor) is None:
        return tensor
    return tf.raw_ops.PlaceholderWithDefault(input=tensor, shape=tensor.shape)
