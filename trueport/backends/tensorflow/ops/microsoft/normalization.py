"""ONNX Runtime's layer normalizations that were fused with what comes before them."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.build.dtypes import tf_dtype
from trueport.backends.tensorflow.ops.normalization import layer_normalization
from trueport.mapping.declare import maps

__all__: list[str] = []

_MS = "com.microsoft"


@maps("LayerNormalization", domain=_MS)
def layer_normalization_before_17(
    t: Emission,
    X: Tensor,
    Scale: Tensor,
    B: Tensor | None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
) -> tuple[Tensor, Tensor, Tensor]:
    return layer_normalization(t, X, Scale, B, axis=axis, epsilon=epsilon, stash_type=stash_type)


@maps("SimplifiedLayerNormalization", domain=_MS)
def simplified_layer_normalization(
    t: Emission, X: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> tuple[Tensor, Tensor]:
    rank = X.shape.rank
    axes = list(range(axis % rank, rank))
    x = tf.cast(X, _wider(X.dtype, tf_dtype(ir.DataType(stash_type))))
    inverse = tf.math.rsqrt(tf.reduce_mean(tf.square(x), axes, keepdims=True) + epsilon)
    made = tf.cast(tf.cast(x * inverse, scale.dtype) * scale, scale.dtype)
    return made, tf.cast(inverse, tf.float32)


@maps("SkipLayerNormalization", domain=_MS)
def skip_layer_normalization(
    t: Emission,
    input: Tensor,
    skip: Tensor,
    gamma: Tensor,
    beta: Tensor | None,
    bias: Tensor | None,
    *,
    epsilon: float = 1e-12,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    total = _skipped(input, skip, bias)
    y, mean, inverse = _layer(total, gamma, beta, epsilon)
    return y, mean, inverse, total


@maps("SkipSimplifiedLayerNormalization", domain=_MS)
def skip_simplified_layer_normalization(
    t: Emission, input: Tensor, skip: Tensor, gamma: Tensor, bias: Tensor | None, *, epsilon: float = 1e-12
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    total = _skipped(input, skip, bias)
    wide = tf.cast(total, _wider(total.dtype, tf.float32))
    inverse = tf.math.rsqrt(tf.reduce_mean(tf.square(wide), -1, keepdims=True) + epsilon)
    y = tf.cast(wide * inverse * tf.cast(gamma, wide.dtype), total.dtype)
    return y, tf.zeros_like(inverse), inverse, total


@maps("EmbedLayerNormalization", domain=_MS)
def embed_layer_normalization(
    t: Emission,
    input_ids: Tensor,
    segment_ids: Tensor | None,
    word_embedding: Tensor,
    position_embedding: Tensor,
    segment_embedding: Tensor | None,
    gamma: Tensor,
    beta: Tensor,
    mask: Tensor | None,
    position_ids: Tensor | None,
    *,
    epsilon: float = 1e-12,
    mask_index_type: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Words, positions and segments; ``mask_index`` counts the words that are there (zeros, if they do not tell)."""
    positions = tf.range(tf.shape(input_ids)[1])[tf.newaxis] if position_ids is None else position_ids
    total = tf.gather(word_embedding, input_ids) + tf.gather(position_embedding, positions)
    if segment_embedding is not None:
        total += tf.gather(segment_embedding, segment_ids)
    counted = mask is not None and mask_index_type != 0
    lengths = tf.reduce_sum(mask, 1) if counted else tf.zeros(tf.shape(input_ids)[:1], tf.int32)
    return _layer(total, gamma, beta, epsilon)[0], lengths, total


def _skipped(x: Tensor, skip: Tensor, bias: Tensor | None) -> Tensor:
    total = x + skip
    return total if bias is None else total + bias


def _layer(x: Tensor, gamma: Tensor, beta: Tensor | None, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    wide = tf.cast(x, _wider(x.dtype, tf.float32))
    mean = tf.reduce_mean(wide, -1, keepdims=True)
    centred = wide - mean
    inverse = tf.math.rsqrt(tf.reduce_mean(tf.square(centred), -1, keepdims=True) + epsilon)
    y = centred * inverse * tf.cast(gamma, wide.dtype)
    y = y if beta is None else y + tf.cast(beta, wide.dtype)
    return tf.cast(y, x.dtype), mean, inverse


def _wider(dtype: Any, least: Any) -> Any:
    """The type to compute in: the data's own where it is wider."""
    return dtype if dtype.size > least.size else least
