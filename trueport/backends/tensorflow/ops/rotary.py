"""Rotary position embedding."""

from __future__ import annotations

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.context import Tensor, Translation
from trueport.backends.tensorflow.sizes import size_of
from trueport.fidelity import accumulation
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("RotaryEmbedding", audited=23, error=accumulation(2))
def rotary_embedding(
    t: Translation,
    X: Tensor,
    cos_cache: Tensor,
    sin_cache: Tensor,
    position_ids: Tensor | None,
    *,
    interleaved: int,
    num_heads: int | None,
    rotary_embedding_dim: int,
) -> Tensor:
    packed = X.shape.rank == 3
    # Heads stand before the sequence in 4-D and behind it in 3-D; the angles get their axis in that place.
    x = tf.reshape(X, [size_of(X, 0), size_of(X, 1), num_heads, size_of(X, 2) // num_heads]) if packed else X
    cos, sin = (_angles(cache, position_ids, 2 if packed else 1) for cache in (cos_cache, sin_cache))
    width = rotary_embedding_dim or size_of(x, 3)
    rotated, rest = x[..., :width], x[..., width:]
    first, second = _pairs(rotated, interleaved)
    parts = [cos * first - sin * second, sin * first + cos * second]
    turned = tf.reshape(tf.stack(parts, -1), tf.shape(rotated)) if interleaved else tf.concat(parts, -1)
    made = tf.concat([turned, rest], -1) if rotary_embedding_dim else turned
    return tf.ensure_shape(tf.reshape(made, tf.shape(X)), X.shape)


def _angles(cache: Tensor, position_ids: Tensor | None, axis: int) -> Tensor:
    return tf.expand_dims(cache if position_ids is None else tf.gather(cache, position_ids), axis)


def _pairs(x: Tensor, interleaved: int) -> tuple[Tensor, Tensor]:
    if interleaved:
        return x[..., 0::2], x[..., 1::2]
    half = size_of(x, 3) // 2
    return x[..., :half], x[..., half:]
