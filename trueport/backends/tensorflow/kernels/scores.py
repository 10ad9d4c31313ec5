"""What the classic models share: rows of features, transforms of scores, labels of classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from trueport.backends.tensorflow._tf import tf

__all__ = ["as_rows", "labelled", "logistic", "probit", "transformed", "two_columns"]

_NEAR_ZERO = 1e-7
_WINITZKI = 0.147
"""The constant in Winitzki's formula for the inverse error function, by which ONNX's runtimes reckon PROBIT."""


def as_rows(X: Any, dtype: Any = None) -> Any:
    """Features as ``[N, C]`` in float32; a vector is one row."""
    rows = X[tf.newaxis] if X.shape.rank == 1 else X
    return tf.cast(rows, dtype or tf.float32)


def labelled(index: Any, ints: Sequence[int] | None, strings: Sequence[str] | None) -> Any:
    """Labels for the indices of classes."""
    return tf.gather(tf.constant(strings) if strings else tf.constant(ints, tf.int64), index)


def transformed(scores: Any, name: str) -> Any:
    """Scores ``[N, C]`` after the transform that ``post_transform`` names."""
    match name:
        case "LOGISTIC":
            return logistic(scores)
        case "SOFTMAX":
            return tf.nn.softmax(scores)
        case "SOFTMAX_ZERO":
            return _softmax_zero(scores)
        case "PROBIT":
            return probit(scores)
    return scores


def two_columns(score: Any, name: str, *, signed: bool) -> Any:
    """One score ``[N, 1]`` as those of two classes: its opposite (-s, or 1 - s if it is unsigned) and itself."""
    opposite = -score if signed or name not in ("NONE", "PROBIT") else 1 - score
    return transformed(tf.concat([opposite, score], 1), name)


def logistic(x: Any) -> Any:
    """``1 / (1 + exp(-x))``."""
    return tf.sigmoid(x)


def probit(p: Any) -> Any:
    """The normal distribution's quantile by Winitzki's formula (four digits, as ONNX's runtimes have it)."""
    x = 2 * p - 1
    # Written so that nothing cancels, neither around p = 1/2 nor at the ends.
    log = tf.where(tf.abs(x) < 0.5, tf.math.log1p(-x * x), tf.math.log((1 - x) * (1 + x)))
    half = 2 / (math.pi * _WINITZKI) + 0.5 * log
    root = tf.sqrt(half * half - log / _WINITZKI)
    size = tf.sqrt(tf.where(half > 0, -log / _WINITZKI / (half + root), root - half))
    return math.sqrt(2) * tf.where(x < 0, -size, size)


def _softmax_zero(scores: Any) -> Any:
    """Softmax among the scores that are not zero; zeros stay."""
    counted = tf.abs(scores) > _NEAR_ZERO
    powers = tf.exp(scores - tf.reduce_max(scores, 1, keepdims=True))
    total = tf.reduce_sum(tf.where(counted, powers, 0), 1, keepdims=True)
    zeros = scores * tf.exp(-tf.reduce_max(scores, 1, keepdims=True))
    return tf.where(counted, powers, zeros) / total
