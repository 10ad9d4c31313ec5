"""Reductions over axes. Sums of 16-bit floats are made in float32 and rounded once."""

from __future__ import annotations

from collections.abc import Callable

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.context import Tensor, Translation
from trueport.backends.tensorflow.shapes import rank_of
from trueport.fidelity import accumulation, ulps
from trueport.mapping.declare import maps

__all__: list[str] = []

Reduction = Callable[..., Tensor]


def _axes(t: Translation, data: Tensor, axes: Tensor | None, noop: int) -> list[int] | Tensor | None:
    """What TensorFlow takes as axes: None reduces all, an empty list nothing."""
    if axes is None:
        return [] if noop else None
    known = t.static(axes)
    if known is not None:
        return known.tolist() if known.size or noop else None
    if noop:
        return axes
    return tf.cond(tf.size(axes) > 0, lambda: axes, lambda: tf.range(tf.cast(rank_of(data), axes.dtype)))


def _reduce(
    t: Translation, reduction: Reduction, data: Tensor, axes: Tensor | None, keepdims: int, noop: int
) -> Tensor:
    return reduction(data, _axes(t, data, axes, noop), keepdims=bool(keepdims))


def _wider(reduction: Reduction) -> Reduction:
    """The reduction, of 16-bit floats in float32."""

    def reduce(data: Tensor, axes: list[int] | Tensor | None, keepdims: bool) -> Tensor:
        if data.dtype not in (tf.float16, tf.bfloat16):
            return reduction(data, axes, keepdims=keepdims)
        return tf.cast(reduction(tf.cast(data, tf.float32), axes, keepdims=keepdims), data.dtype)

    return reduce


@maps("ReduceSum", audited=13, error=accumulation(), static=("axes",))
def reduce_sum(
    t: Translation, data: Tensor, axes: Tensor | None, *, keepdims: int, noop_with_empty_axes: int
) -> Tensor:
    return _reduce(t, _wider(tf.reduce_sum), data, axes, keepdims, noop_with_empty_axes)


@maps("ReduceMean", audited=18, error=accumulation(), static=("axes",))
def reduce_mean(
    t: Translation, data: Tensor, axes: Tensor | None, *, keepdims: int, noop_with_empty_axes: int
) -> Tensor:
    return _reduce(t, _wider(tf.reduce_mean), data, axes, keepdims, noop_with_empty_axes)


@maps("ReduceProd", audited=18, error=accumulation(), static=("axes",))
def reduce_prod(
    t: Translation, data: Tensor, axes: Tensor | None, *, keepdims: int, noop_with_empty_axes: int
) -> Tensor:
    return _reduce(t, _wider(tf.reduce_prod), data, axes, keepdims, noop_with_empty_axes)


@maps("ReduceMax", audited=20, error=ulps(0), static=("axes",))
def reduce_max(
    t: Translation, data: Tensor, axes: Tensor | None, *, keepdims: int, noop_with_empty_axes: int
) -> Tensor:
    reduction = tf.reduce_any if data.dtype == tf.bool else tf.reduce_max
    return _reduce(t, reduction, data, axes, keepdims, noop_with_empty_axes)


@maps("ReduceMin", audited=20, error=ulps(0), static=("axes",))
def reduce_min(
    t: Translation, data: Tensor, axes: Tensor | None, *, keepdims: int, noop_with_empty_axes: int
) -> Tensor:
    reduction = tf.reduce_all if data.dtype == tf.bool else tf.reduce_min
    return _reduce(t, reduction, data, axes, keepdims, noop_with_empty_axes)
