"""Normalizations: to the statistics of a batch, of planes, of groups, of the last axes, of neighbouring channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.build.dtypes import tf_dtype
from trueport.backends.tensorflow.kernels.barrier import before_batch_norm
from trueport.backends.tensorflow.kernels.numeric import widened
from trueport.backends.tensorflow.kernels.sizes import size_of
from trueport.backends.tensorflow.kernels.spatial import per_channel, spatial_axes
from trueport.mapping.declare import maps
from trueport.mapping.needs import known_rank

__all__: list[str] = []


@maps("BatchNormalization", needs=[known_rank(0)], audited=15, channels_last=True)
def batch_normalization(
    t: Emission,
    X: Tensor,
    scale: Tensor,
    B: Tensor,
    input_mean: Tensor,
    input_var: Tensor,
    *,
    epsilon: float,
    momentum: float,
    training_mode: int,
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    wide = tf.float64 if X.dtype == tf.float64 else tf.float32
    scale, bias, mean, variance = (tf.cast(v, wide) for v in (scale, B, input_mean, input_var))
    x = tf.cast(X, wide)
    if not training_mode:
        return tf.cast(_normalize_channels(t, x, scale, bias, mean, variance, epsilon), X.dtype)
    axes = [0, *spatial_axes(t, X)]
    now, spread = tf.nn.moments(x, axes)
    y = _normalize_channels(t, x, scale, bias, now, spread, epsilon)
    running = (old * momentum + new * (1 - momentum) for old, new in ((mean, now), (variance, spread)))
    return tf.cast(y, X.dtype), *(tf.cast(v, input_mean.dtype) for v in running)


def _normalize_channels(
    t: Emission, x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor, epsilon: float
) -> Tensor:
    rank = t.rank(x)
    if t.channels_last and rank == 4 and x.dtype == tf.float32:
        return tf.raw_ops.FusedBatchNormV3(
            x=before_batch_norm(x),
            scale=scale,
            offset=bias,
            mean=mean,
            variance=variance,
            epsilon=epsilon,
            is_training=False,
        )[0]
    factor = scale * tf.math.rsqrt(variance + epsilon)
    return x * per_channel(t, factor, rank) + per_channel(t, bias - mean * factor, rank)


@maps("InstanceNormalization", needs=[known_rank(0)], audited=22, channels_last=True)
def instance_normalization(t: Emission, input: Tensor, scale: Tensor, B: Tensor, *, epsilon: float) -> Tensor:
    axes = spatial_axes(t, input)

    def apply(x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
        rank = x.shape.rank
        return _standardized(x, axes, epsilon) * per_channel(t, scale, rank) + per_channel(t, bias, rank)

    return widened(apply, input, scale, B)


@maps("GroupNormalization", needs=[known_rank(0)], audited=21, channels_last=True)
def group_normalization(
    t: Emission, X: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float, num_groups: int, stash_type: int
) -> Tensor:
    rank = t.rank(X)
    at = rank - 1 if t.channels_last else 1
    shape = tf.unstack(tf.shape(X), num=rank)
    members = size_of(X, at) // num_groups
    split = [*shape[:at], num_groups, members, *shape[at + 1 :]]
    axes = [*range(1, at), *range(at + 1, rank + 1)]
    grouped = tf.reshape(tf.cast(X, tf_dtype(ir.DataType(stash_type))), tf.stack(split))
    normal = tf.cast(tf.reshape(_standardized(grouped, axes, epsilon), tf.shape(X)), X.dtype)
    normal = tf.ensure_shape(normal, X.shape)
    return normal * per_channel(t, scale, rank) + per_channel(t, bias, rank)


@maps("LayerNormalization", audited=17)
def layer_normalization(
    t: Emission, X: Tensor, Scale: Tensor, B: Tensor | None, *, axis: int, epsilon: float, stash_type: int
) -> tuple[Tensor, Tensor, Tensor]:
    axes = _from_axis(X, axis)
    x = tf.cast(X, tf_dtype(ir.DataType(stash_type)))
    mean = tf.reduce_mean(x, axes, keepdims=True)
    centred = x - mean
    inverse = tf.math.rsqrt(tf.reduce_mean(tf.square(centred), axes, keepdims=True) + epsilon)
    y = tf.cast(centred * inverse, X.dtype) * Scale
    return (y if B is None else y + B), mean, inverse


@maps("RMSNormalization", audited=23)
def rms_normalization(t: Emission, X: Tensor, scale: Tensor, *, axis: int, epsilon: float, stash_type: int) -> Tensor:
    x = tf.cast(X, tf_dtype(ir.DataType(stash_type)))
    mean = tf.reduce_mean(tf.square(x), _from_axis(X, axis), keepdims=True)
    return tf.cast(x * tf.math.rsqrt(mean + epsilon), scale.dtype) * scale


def _from_axis(x: Tensor, axis: int) -> Any:
    rank = x.shape.rank
    if rank is not None:
        return list(range(axis % rank, rank))
    return tf.range(axis if axis >= 0 else axis + tf.rank(x), tf.rank(x))


def _standardized(x: Tensor, axes: Sequence[int], epsilon: float) -> Tensor:
    """Zero mean and unit variance along ``axes``."""
    centred = x - tf.reduce_mean(x, axes, keepdims=True)
    return centred * tf.math.rsqrt(tf.reduce_mean(tf.square(centred), axes, keepdims=True) + epsilon)


@maps("MeanVarianceNormalization", audited=13)
def mean_variance_normalization(t: Emission, X: Tensor, *, axes: Sequence[int]) -> Tensor:
    def apply(x: Tensor) -> Tensor:
        mean = tf.reduce_mean(x, axes, keepdims=True)
        spread = tf.sqrt(tf.reduce_mean(tf.square(x), axes, keepdims=True) - tf.square(mean))
        return (x - mean) / (spread + 1e-9)

    return widened(apply, X)


@maps("LpNormalization", audited=22)
def lp_normalization(t: Emission, input: Tensor, *, axis: int, p: int) -> Tensor:
    order, wide = {1: (1, tf.float32), 2: ("euclidean", tf.float64)}[p]

    def apply(x: Tensor) -> Tensor:
        # In float64, whose squares neither overflow nor are flushed to zero.
        norm = tf.norm(tf.cast(x, wide) if x.dtype == tf.float32 else x, order, axis, keepdims=True)
        return tf.math.divide_no_nan(x, tf.cast(norm, x.dtype))

    return widened(apply, input)


@maps("LRN", needs=[known_rank(0)], audited=13, channels_last=True)
def local_response_normalization(
    t: Emission, X: Tensor, *, alpha: float, beta: float, bias: float, size: int
) -> Tensor:
    rank = t.rank(X)
    axis = rank - 1 if t.channels_last else 1

    def apply(x: Tensor) -> Tensor:
        if t.channels_last and x.shape.rank == 4 and size % 2 and x.dtype == tf.float32:
            return tf.nn.local_response_normalization(x, size // 2, bias, alpha / size, beta)
        before = (size - 1) // 2
        pads = [(before, size - 1 - before) if i == axis else (0, 0) for i in range(rank)]
        squares = tf.pad(tf.square(x), pads)
        count = size_of(x, axis)
        total = tf.add_n([squares[(slice(None),) * axis + (slice(i, i + count),)] for i in range(size)])
        return x / (bias + alpha / size * total) ** beta

    return widened(apply, X)
