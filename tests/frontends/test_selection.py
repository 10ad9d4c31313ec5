"""Choices by condition, rank and order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types

RNG = np.random.default_rng(11)


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.asarray(RNG.integers(-9, 9, size=shape)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.float16, bool, object])
def test_select_broadcasts(dtype: Any) -> None:
    def sample(n: int) -> list[Any]:
        kind = str if dtype is object else dtype
        return [numbers(n, 1) > 0, numbers(1, 3, dtype=kind).astype(dtype), numbers(n, 3, dtype=kind).astype(dtype)]

    assert op_types(agree(tf.where, sample(2), sample(3)))[-1:] == ["Where"] or dtype is not np.float32


@pytest.mark.parametrize("shape", [(), (0,), (0, 1)])
def test_select_by_scalar_row_or_element(shape: tuple[int, ...]) -> None:
    def sample(n: int) -> list[Any]:
        dims = [(n, 3)[i] for i in shape]
        return [numbers(*dims) > 0, numbers(n, 3), numbers(n, 3)]

    agree(lambda c, x, y: tf.raw_ops.Select(condition=c, x=x, y=y), sample(2), sample(4))


NAN = np.array([[1, np.nan, 3, 3], [np.nan] * 4, [-np.inf, np.nan, -np.inf, -np.inf]], np.float32)


@pytest.mark.parametrize("function", [tf.argmax, tf.argmin])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("output", [tf.int64, tf.int32])
def test_arg_extremes(function: Callable[..., Any], axis: int, output: Any) -> None:
    agree(lambda x: function(x, axis, output_type=output), [NAN], [np.repeat(-NAN, 2, 0)])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64, np.float16, np.float64, bool])
def test_arg_extremes_take_the_first_of_equals(dtype: Any) -> None:
    samples = [[RNG.integers(0, 2, size=(n, 4)).astype(dtype)] for n in (3, 5)]
    agree(lambda x: (tf.argmax(x, 1), tf.argmin(x, 0)), *samples)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.int16, np.int32, np.int64, np.uint8])
def test_top_k(dtype: Any) -> None:
    agree(lambda x: tf.math.top_k(x, 3), *([numbers(n, 6, dtype=dtype)] for n in (1, 4)))


def test_top_k_of_a_count_that_is_computed() -> None:
    agree(
        lambda x, k: tf.math.top_k(x, k, index_type=tf.int64),
        [numbers(2, 6), np.int32(0)],
        [numbers(2, 6), np.int32(6)],
    )


@pytest.mark.parametrize("direction", ["ASCENDING", "DESCENDING"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64, np.uint8])
def test_sort(direction: str, dtype: Any) -> None:
    samples = [[numbers(n, 5, dtype=dtype)] for n in (2, 3)]
    agree(lambda x: (tf.sort(x, 0, direction), tf.argsort(x, 1, direction)), *samples)
