"""Random draws: with a seed the same at every call, without one new at every call."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Tensor

__all__ = ["categorical", "normal", "uniform"]


def _key(seed: float) -> list[int]:
    return [int(np.float32(seed).view(np.int32)), 0]


def normal(shape: Any, dtype: Any, mean: float, scale: float, seed: float | None) -> Tensor:
    """Normally distributed values."""
    if seed is None:
        return tf.random.normal(shape, mean, scale, dtype)
    return tf.random.stateless_normal(shape, _key(seed), mean, scale, dtype)


def uniform(shape: Any, dtype: Any, low: float, high: float, seed: float | None) -> Tensor:
    """Values in [low, high)."""
    if seed is None:
        return tf.random.uniform(shape, low, high, dtype)
    return tf.random.stateless_uniform(shape, _key(seed), low, high, dtype)


def categorical(logits: Tensor, count: int, dtype: Any, seed: float | None) -> Tensor:
    """``count`` classes for each row, by their unnormalized log-probabilities."""
    if seed is None:
        return tf.random.categorical(logits, count, dtype)
    return tf.random.stateless_categorical(logits, count, _key(seed), dtype)
