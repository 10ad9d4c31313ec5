"""Rows that belong together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree

RNG = np.random.default_rng(17)
SORTED = [tf.math.segment_sum, tf.math.segment_mean, tf.math.segment_max, tf.math.segment_min, tf.math.segment_prod]
UNSORTED = [
    tf.math.unsorted_segment_sum,
    tf.math.unsorted_segment_mean,
    tf.math.unsorted_segment_sqrt_n,
    tf.math.unsorted_segment_max,
    tf.math.unsorted_segment_min,
    tf.math.unsorted_segment_prod,
]


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.asarray(RNG.integers(-9, 9, size=shape)).astype(dtype)


@pytest.mark.parametrize("function", SORTED)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_sorted(function: Callable[..., Any], dtype: Any) -> None:
    if function is tf.math.segment_mean and dtype in (np.int32, np.int64):
        pytest.skip("TensorFlow's mean of integers is its own")
    first = [numbers(4, 3, dtype=dtype), np.array([0, 0, 2, 5], np.int32)]
    second = [numbers(6, 3, dtype=dtype), np.array([1, 1, 1, 2, 2, 3], np.int32)]
    agree(function, first, second)


@pytest.mark.parametrize("function", SORTED)
def test_sorted_of_none(function: Callable[..., Any]) -> None:
    ids = np.array([0, 0, 1])
    agree(function, [numbers(3), ids], [numbers(0), ids[:0]])


@pytest.mark.parametrize("function", SORTED)
def test_sorted_of_infinities(function: Callable[..., Any]) -> None:
    rows = np.array([[np.inf, -np.inf], [1, -np.inf], [-0.0, np.nan]], np.float32)
    agree(function, [rows, np.array([1, 1, 2])])


@pytest.mark.parametrize("function", UNSORTED)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_unsorted(function: Callable[..., Any], dtype: Any) -> None:
    if "mean" in function.__name__ or "sqrt" in function.__name__:
        dtype = np.dtype(dtype) if np.dtype(dtype).kind == "f" else np.float32
    first = [numbers(4, 3, dtype=dtype), np.array([4, -1, 0, 0], np.int32)]
    second = [numbers(6, 3, dtype=dtype), np.array([1, -7, 3, 1, 1, 3], np.int32)]
    agree(lambda x, i: function(x, i, 5), first, second)


@pytest.mark.parametrize("function", UNSORTED)
def test_unsorted_of_many_dims(function: Callable[..., Any]) -> None:
    samples = [[numbers(n, 2, 3), RNG.integers(-1, 4, size=(n, 2)), np.int32(4)] for n in (2, 5)]
    agree(function, *samples)
    agree(lambda x, i: function(x, i, 4), *([numbers(n, 2), RNG.integers(-1, 4, size=(n, 2))] for n in (2, 5)))


@pytest.mark.parametrize("function", [tf.math.unsorted_segment_max, tf.math.unsorted_segment_min])
@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.uint8, np.int16])
def test_unsorted_of_none_is_the_smallest_or_largest(function: Callable[..., Any], dtype: Any) -> None:
    agree(lambda x, i: function(x, i, 3), [numbers(2, dtype=dtype), np.array([0, 2])])


@pytest.mark.parametrize("count", [None, 6])
@pytest.mark.parametrize(
    "function", [tf.sparse.segment_sum, tf.sparse.segment_mean, tf.sparse.segment_sqrt_n], ids=lambda f: f.__name__
)
def test_sparse(function: Callable[..., Any], count: int | None) -> None:
    first = [numbers(5, 3), np.array([0, 4, 4]), np.array([0, 0, 2])]
    second = [numbers(5, 3), np.array([1, 2, 3, 0]), np.array([1, 3, 3, 3])]
    agree(lambda x, i, s: function(x, i, s, num_segments=count), first, second)


def test_many_rows_that_meet() -> None:
    samples = [[np.ones(100_000, np.float32), RNG.integers(0, 3, size=100_000)]]
    agree(lambda x, i: tf.math.unsorted_segment_sum(x, i, 3), *samples)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
@pytest.mark.parametrize("function", [UNSORTED[0], *UNSORTED[3:]])
def test_halves(function: Callable[..., Any], dtype: Any) -> None:
    """Of numbers that stay whole: ONNX Runtime leaves out roundings between nodes that it runs in float32."""

    def over_halves(x: Any, i: Any) -> Any:
        return tf.cast(function(tf.cast(x, dtype), i, 3), tf.float32)

    agree(over_halves, *([np.abs(numbers(n, 2)) % 4 + 1, RNG.integers(0, 3, size=n)] for n in (2, 3)))


@pytest.mark.parametrize("shape", [(2, 0), (0, 3), (2, 0, 3)])
def test_no_elements_at_all(shape: tuple[int, ...]) -> None:
    ids = np.zeros(shape[:2], np.int32)
    agree(lambda x, rows: tf.math.unsorted_segment_sum(x, rows, 4), [numbers(*shape), ids], [numbers(*shape), ids])
