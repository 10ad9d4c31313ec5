"""Comparison, logic and choice."""

from __future__ import annotations

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.narrow import to_float32
from trueport.fidelity import BITWISE
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("IsNaN", audited=20, fidelity=BITWISE)
def is_nan(t: Emission, X: Tensor) -> Tensor:
    return tf.math.is_nan(_plain(t, X))


@maps("IsInf", audited=20, fidelity=BITWISE)
def is_inf(t: Emission, X: Tensor, *, detect_negative: int, detect_positive: int) -> Tensor:
    x = _plain(t, X)
    if detect_negative and detect_positive:
        return tf.math.is_inf(x)
    if detect_positive or detect_negative:
        return tf.equal(x, tf.constant(float("inf" if detect_positive else "-inf"), x.dtype))
    return tf.zeros_like(x, tf.bool)


def _plain(t: Emission, x: Tensor) -> Tensor:
    """A float with kernels of its own as it is, a narrow one in float32."""
    return x if x.dtype in (tf.float16, tf.bfloat16, tf.float32, tf.float64) else to_float32(x, t.input_type(0))
