"""Rotary position embedding."""

from __future__ import annotations

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.heads import turned
from trueport.backends.tensorflow.kernels.sizes import size_of
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("RotaryEmbedding", audited=23)
def rotary_embedding(
    t: Emission,
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
    made = turned(x, cos, sin, interleaved, rotary_embedding_dim or None)
    return tf.ensure_shape(tf.reshape(made, tf.shape(X)), X.shape)


def _angles(cache: Tensor, position_ids: Tensor | None, axis: int) -> Tensor:
    return tf.expand_dims(cache if position_ids is None else tf.gather(cache, position_ids), axis)
