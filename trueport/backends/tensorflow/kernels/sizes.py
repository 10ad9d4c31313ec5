"""How many elements a tensor has along an axis: a number where it is known, else found at run time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Tensor

__all__ = ["Size", "size_of", "sizes_of"]

Size = Any
"""A number of elements: an int, or an integer scalar where it is known only at run time."""


def size_of(x: Tensor, axis: int, out_type: Any = None) -> Size:
    """One dim; int32 at run time, as TensorFlow's ranges, loops and kernels count, or ``out_type``."""
    return sizes_of(x, [axis], out_type)[0]


def sizes_of(x: Tensor, axes: Iterable[int] | None = None, out_type: Any = None) -> tuple[Size, ...]:
    """Several dims, or all of a tensor whose rank is known."""
    at = range(x.shape.rank) if axes is None else list(axes)
    known = [x.shape[axis] for axis in at]
    if None not in known:
        return tuple(known)
    found = tf.shape(x, out_type or tf.int32)
    return tuple(found[axis] if number is None else number for axis, number in zip(at, known, strict=True))
