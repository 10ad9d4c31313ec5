"""Dimensions for index arithmetic: int32, as TensorFlow's ranges, loops and kernels count."""

from __future__ import annotations

from typing import Any

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.context import Tensor

__all__ = ["size"]


def size(x: Tensor, axis: int) -> Any:
    """A dimension: a number where it is known, else an int32 scalar."""
    known = x.shape[axis]
    return tf.shape(x)[axis] if known is None else known
