"""Arithmetic in a wider type, and constants in a tensor's own type: what many handlers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Tensor

__all__ = ["erf", "is_half", "is_integer", "is_unsigned", "like", "via", "widened"]


def is_half(x: Tensor) -> bool:
    """Whether a tensor is float16 or bfloat16."""
    return x.dtype in (tf.float16, tf.bfloat16)


def is_integer(x: Tensor) -> bool:
    """Whether a tensor holds integers (not booleans)."""
    return bool(x.dtype.is_integer)


def is_unsigned(x: Tensor) -> bool:
    """Whether a tensor holds integers without sign."""
    return bool(x.dtype.is_unsigned)


def like(value: float, x: Tensor) -> Tensor:
    """A scalar in the type of ``x``, rounded to it as ONNX rounds an attribute that meets a tensor (CastLike)."""
    return tf.constant(int(value) if is_integer(x) else value, x.dtype)


def via(dtype: Any, compute: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
    """``compute`` in another type; the result comes back in the type of the first tensor."""
    result = compute(*(tf.cast(x, dtype) for x in tensors))
    return tf.cast(result, tensors[0].dtype)


def widened(compute: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
    """``compute`` with float16 and bfloat16 widened to float32, so that a chain of steps is rounded once."""
    return via(tf.float32, compute, *tensors) if is_half(tensors[0]) else compute(*tensors)


def erf(x: Tensor) -> Tensor:
    """The error function; beyond ±6 it is ±1 in double precision, where TensorFlow's kernel gives NaN."""
    return tf.math.erf(tf.clip_by_value(x, -6.0, 6.0) if x.dtype == tf.float64 else x)
