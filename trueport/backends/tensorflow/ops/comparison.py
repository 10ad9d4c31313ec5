"""Comparison, logic and choice."""

from __future__ import annotations

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.narrow import to_float32
from trueport.fidelity import BITWISE
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Equal", audited=19)
def equal(t: Emission, A: Tensor, B: Tensor) -> Tensor:
    return tf.equal(A, B)


@maps("Greater", audited=13)
def greater(t: Emission, A: Tensor, B: Tensor) -> Tensor:
    return tf.greater(A, B)


@maps("GreaterOrEqual", audited=16)
def greater_or_equal(t: Emission, A: Tensor, B: Tensor) -> Tensor:
    return tf.greater_equal(A, B)


@maps("Less", audited=13)
def less(t: Emission, A: Tensor, B: Tensor) -> Tensor:
    return tf.less(A, B)


@maps("LessOrEqual", audited=16)
def less_or_equal(t: Emission, A: Tensor, B: Tensor) -> Tensor:
    return tf.less_equal(A, B)


@maps("And", audited=7, fidelity=BITWISE)
def and_(t: Emission, A: Tensor, B: Tensor) -> Tensor:
    return tf.logical_and(A, B)


@maps("Or", audited=7, fidelity=BITWISE)
def or_(t: Emission, A: Tensor, B: Tensor) -> Tensor:
    return tf.logical_or(A, B)


@maps("Xor", audited=7, fidelity=BITWISE)
def xor(t: Emission, A: Tensor, B: Tensor) -> Tensor:
    return tf.not_equal(A, B)


@maps("Not", audited=1, fidelity=BITWISE)
def not_(t: Emission, X: Tensor) -> Tensor:
    return tf.logical_not(X)


@maps("Where", audited=16, fidelity=BITWISE)
def where(t: Emission, condition: Tensor, X: Tensor, Y: Tensor) -> Tensor:
    return tf.where(condition, X, Y)


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
