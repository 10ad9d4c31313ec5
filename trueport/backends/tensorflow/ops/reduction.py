"""Reductions over axes. Sums of 16-bit floats are made in float32 and rounded once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.shapes import rank_of
from trueport.mapping.declare import maps

__all__: list[str] = []

Axes = list[int] | Tensor | None
Reduction = Callable[[Tensor, Axes, bool], Tensor]


@maps("ReduceSum", audited=13)
@maps("ReduceMean", audited=18)
@maps("ReduceProd", audited=18)
@maps("ReduceMax", audited=20)
@maps("ReduceMin", audited=20)
@maps("ReduceL1", audited=18)
@maps("ReduceL2", audited=18)
@maps("ReduceSumSquare", audited=18)
@maps("ReduceLogSum", audited=28)
@maps("ReduceLogSumExp", audited=28)
def reduce(t: Emission, data: Tensor, axes: Tensor | None, *, keepdims: int, noop_with_empty_axes: int) -> Tensor:
    return _REDUCTIONS[t.node.op_type](data, _axes(t, data, axes, noop_with_empty_axes), bool(keepdims))


def _axes(t: Emission, data: Tensor, axes: Tensor | None, noop: int) -> Axes:
    """What TensorFlow takes as axes: None reduces all, an empty list nothing."""
    if axes is None:
        return [] if noop else None
    known = t.static(axes)
    if known is not None:
        return known.tolist() if known.size or noop else None
    if noop:
        return axes
    return tf.cond(tf.size(axes) > 0, lambda: axes, lambda: tf.range(tf.cast(rank_of(data), axes.dtype)))


def _in(wide: str, narrow: tuple[str, ...], reduction: Reduction) -> Reduction:
    """The reduction, made in the wide type for data of the narrow ones."""

    def reduce_wider(data: Tensor, axes: Axes, keepdims: bool) -> Tensor:
        if data.dtype.name not in narrow:
            return reduction(data, axes, keepdims)
        return tf.cast(reduction(tf.cast(data, wide), axes, keepdims), data.dtype)

    return reduce_wider


def _halves(reduction: Reduction) -> Reduction:
    return _in("float32", ("float16", "bfloat16"), reduction)


def _floats(reduction: Reduction) -> Reduction:
    """For logarithms of sums near one, where an error of the sum is many units of the result, and roots of squares.

    TensorFlow's float32 flushes the square of 1e-20 to zero.
    """
    return _in("float64", ("float16", "bfloat16", "float32"), reduction)


def _max(data: Tensor, axes: Axes, keepdims: bool) -> Tensor:
    return (tf.reduce_any if data.dtype == tf.bool else tf.reduce_max)(data, axes, keepdims)


def _min(data: Tensor, axes: Axes, keepdims: bool) -> Tensor:
    return (tf.reduce_all if data.dtype == tf.bool else tf.reduce_min)(data, axes, keepdims)


def _l1(data: Tensor, axes: Axes, keepdims: bool) -> Tensor:
    return tf.reduce_sum(data if data.dtype.is_unsigned else tf.abs(data), axes, keepdims)


def _l2(data: Tensor, axes: Axes, keepdims: bool) -> Tensor:
    total = _sum_square(data, axes, keepdims)
    if data.dtype.is_floating:
        return tf.sqrt(total)
    return tf.cast(tf.sqrt(tf.cast(total, tf.float32)), data.dtype)


def _sum_square(data: Tensor, axes: Axes, keepdims: bool) -> Tensor:
    return tf.reduce_sum(data * data, axes, keepdims)


_REDUCTIONS: Mapping[str, Reduction] = {
    "ReduceSum": _halves(lambda x, axes, keep: tf.reduce_sum(x, axes, keep)),
    "ReduceMean": _halves(lambda x, axes, keep: tf.reduce_mean(x, axes, keep)),
    "ReduceProd": _halves(lambda x, axes, keep: tf.reduce_prod(x, axes, keep)),
    "ReduceMax": _max,
    "ReduceMin": _min,
    "ReduceL1": _halves(_l1),
    "ReduceL2": _floats(_l2),
    "ReduceSumSquare": _halves(_sum_square),
    "ReduceLogSum": _floats(lambda x, axes, keep: tf.math.log(tf.reduce_sum(x, axes, keep))),
    "ReduceLogSumExp": _floats(lambda x, axes, keep: tf.reduce_logsumexp(x, axes, keep)),
}
