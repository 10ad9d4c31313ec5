"""Running sums and products along an axis; those of 16-bit floats are made in float32 and rounded once each."""

from __future__ import annotations

from collections.abc import Callable

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("CumSum", audited=14)
def cum_sum(t: Emission, x: Tensor, axis: Tensor, *, exclusive: int, reverse: int) -> Tensor:
    return _running(tf.cumsum, x, axis, exclusive, reverse)


@maps("CumProd", audited=26)
def cum_prod(t: Emission, x: Tensor, axis: Tensor, *, exclusive: int, reverse: int) -> Tensor:
    return _running(tf.math.cumprod, x, axis, exclusive, reverse)


def _running(scan: Callable[..., Tensor], x: Tensor, axis: Tensor, exclusive: int, reverse: int) -> Tensor:
    half = x.dtype in (tf.float16, tf.bfloat16)
    data = tf.cast(x, tf.float32) if half else x
    made = scan(data, tf.reshape(axis, []), exclusive=bool(exclusive), reverse=bool(reverse))
    return tf.cast(made, x.dtype) if half else made
