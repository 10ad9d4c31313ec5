"""Axes moved to the front and back, also where the rank is not known."""

from __future__ import annotations

from typing import Any

from trueport.backends.tensorflow._tf import tf

__all__ = ["from_front", "to_front"]


def to_front(tensor: Any, axis: int) -> Any:
    """The tensor with ``axis`` as its first."""
    return tensor if axis == 0 else _moved(tensor, axis, 0)


def from_front(tensor: Any, axis: int) -> Any:
    """The tensor with its first axis at ``axis``."""
    return tensor if axis == 0 else _moved(tensor, 0, axis)


def _moved(tensor: Any, source: int, target: int) -> Any:
    rank = tensor.shape.rank
    if rank is not None:
        perm = list(range(rank))
        perm.insert(target % rank, perm.pop(source))
        return tf.transpose(tensor, perm)
    order = tf.range(tf.rank(tensor))
    source, target = (axis + tf.rank(tensor) if axis < 0 else axis for axis in (source, target))
    rest = tf.boolean_mask(order, order != source)
    return tf.transpose(tensor, tf.concat([rest[:target], [source], rest[target:]], 0))
