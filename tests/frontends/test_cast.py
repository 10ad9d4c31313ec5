"""Conversions between element types."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree

X = np.array([0.0, -0.0, 0.9, -0.9, 1.5, -1.5, 100.7, -100.7])


@pytest.mark.parametrize("target", ["int8", "int16", "int32", "int64", "bool", "float16", "float64"])
@pytest.mark.parametrize("source", [np.float16, np.float32, np.float64, np.int32, np.int64])
def test_numbers_in_range(source: type, target: str) -> None:
    x = X.astype(source)
    agree(lambda v: tf.cast(v, target), [x], [x[:2]])


def test_integers_lose_their_high_bits() -> None:
    x = np.array([300, -300, 70000, 2**31 - 1], np.int32)
    agree(lambda v: (tf.cast(v, tf.int8), tf.cast(v, tf.uint8), tf.cast(v, tf.int16)), [x], [x[:2]])


@pytest.mark.parametrize("target", ["int32", "int64"])
def test_what_does_not_fit_is_the_least_integer(target: str) -> None:
    x = np.array([1e30, -1e30, np.inf, -np.inf, np.nan], np.float32)
    agree(lambda v: tf.cast(v, target), [x], [x[:2]])
