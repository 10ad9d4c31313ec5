"""Heads of attention: their axis, and the rotation of their elements by position."""

from __future__ import annotations

import math
from typing import Any

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Tensor
from trueport.backends.tensorflow.kernels.sizes import size_of

__all__ = ["heads_of", "inverse_root_of_width", "packed_heads", "rotated", "turned"]


def heads_of(x: Tensor, count: Any) -> Tensor:
    """[B, L, H·D] → [B, H, L, D]; four dimensions stay."""
    if x.shape.rank == 4:
        return x
    split = tf.reshape(x, [size_of(x, 0), size_of(x, 1), count, size_of(x, 2) // count])
    return tf.transpose(split, [0, 2, 1, 3])


def packed_heads(x: Tensor) -> Tensor:
    """The inverse: [B, H, L, D] → [B, L, H·D]."""
    return tf.reshape(tf.transpose(x, [0, 2, 1, 3]), [size_of(x, 0), size_of(x, 2), size_of(x, 1) * size_of(x, 3)])


def inverse_root_of_width(x: Tensor) -> Any:
    """What scores are scaled by unless a node says otherwise."""
    width = size_of(x, 3)
    return 1 / math.sqrt(width) if isinstance(width, int) else tf.math.rsqrt(tf.cast(width, x.dtype))


def rotated(x: Tensor, positions: Tensor, cos_cache: Tensor, sin_cache: Tensor, interleaved: int, width: int) -> Tensor:
    """``x`` [B, H, L, D] with the pairs of its first ``width`` elements turned by the angles of their positions."""
    cos, sin = (tf.gather(cache, positions)[:, tf.newaxis] for cache in (cos_cache, sin_cache))
    return turned(x, cos, sin, interleaved, width or 2 * size_of(cos_cache, 1))


def turned(x: Tensor, cos: Tensor, sin: Tensor, interleaved: int, width: Any = None) -> Tensor:
    """``x`` with the pairs of its last axis's first ``width`` elements (all, if None) turned by angles."""
    part = x if width is None else x[..., :width]
    half = size_of(part, 3) // 2
    first, second = (part[..., 0::2], part[..., 1::2]) if interleaved else (part[..., :half], part[..., half:])
    parts = [cos * first - sin * second, sin * first + cos * second]
    made = tf.reshape(tf.stack(parts, -1), tf.shape(part)) if interleaved else tf.concat(parts, -1)
    return made if width is None else tf.concat([made, x[..., width:]], -1)
