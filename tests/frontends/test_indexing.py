"""Gathers, one-hot vectors, positions."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types

RNG = np.random.default_rng(7)


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.asarray(RNG.integers(0, 100, size=shape)).astype(dtype)


def indices(limit: int, *shape: int, dtype: Any = np.int32) -> np.ndarray:
    return RNG.integers(0, limit, size=shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather(axis: int, dtype: Any) -> None:
    samples = [[numbers(n, 4, 5), indices(2, n, 3, dtype=dtype)] for n in (2, 3)]
    assert op_types(agree(lambda x, i: tf.gather(x, i, axis=axis), *samples)) == ["Gather"]


def test_gather_by_short_indices_and_by_one() -> None:
    agree(lambda x, i: tf.gather(x, i), [numbers(3, 4), indices(3, 2, dtype=np.int16)])
    agree(lambda x, i: tf.gather(x, i), [numbers(3, 4), np.int32(1)], [numbers(5, 4), np.int32(4)])


@pytest.mark.parametrize("axis, batch_dims", [(1, 1), (2, 1), (2, 2), (3, 2), (-1, 1), (3, -1)])
def test_gather_in_batches(axis: int, batch_dims: int) -> None:
    samples = [[numbers(n, 3, 4, 5), indices(3, n, 3, 2)] for n in (1, 4)]
    agree(lambda x, i: tf.gather(x, i, axis=axis, batch_dims=batch_dims), *samples)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.uint16, np.int64, bool, object])
def test_gather_of_every_kind(dtype: Any) -> None:
    samples = [[numbers(n, 4, dtype=str if dtype is object else dtype).astype(dtype), indices(2, 3)] for n in (2, 3)]
    agree(lambda x, i: tf.gather(x, i), *samples)


def test_gather_of_a_variable() -> None:
    table = tf.Variable(numbers(6, 3))
    assert op_types(agree(lambda i: tf.nn.embedding_lookup(table, i), [indices(6, 2)], [indices(6, 5)])) == ["Gather"]
    assert op_types(agree(table.gather_nd, [indices(3, 2, 2)], [indices(3, 5, 2)]))[-1] == "GatherND"


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_what_keras_does_for_negative_indices_is_done_by_gather(axis: int) -> None:
    samples = [[numbers(n, 3, 4), RNG.integers(-2, 2, size=(2, n))] for n in (2, 5)]
    assert op_types(agree(lambda x, i: keras.ops.take(x, i, axis=axis), *samples)) == ["Gather"]
    other = agree(lambda x, i: tf.gather(x, tf.where(i < 0, i + 2, i), axis=axis), *samples)
    assert "Where" in op_types(other)


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_gather_nd(depth: int) -> None:
    agree(tf.gather_nd, *([numbers(2, 3, 4), indices(2, n, depth)] for n in (1, 3)))


@pytest.mark.parametrize("depth", [1, 2])
def test_gather_nd_of_what_is_outside(depth: int) -> None:
    samples = [[numbers(2, 3), RNG.integers(-2, 5, size=(n, depth))] for n in (5, 9)]
    agree(lambda x, i: tf.gather_nd(x, i, bad_indices_policy="IGNORE"), *samples)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.int8])
def test_one_hot(axis: int, dtype: Any) -> None:
    samples = [[np.array([[-1, 0, 2], [3, 1, 100]] * n).astype(dtype)] for n in (1, 2)]
    agree(lambda i: tf.one_hot(i, 3, axis=axis), *samples)
    agree(lambda i: tf.one_hot(i, 3, on_value=7, off_value=-2, axis=axis), *samples)


def test_one_hot_of_an_open_depth() -> None:
    agree(lambda i, d: tf.one_hot(i, d, dtype=tf.int64), [indices(4, 2), np.int32(3)], [indices(4, 5), np.int32(4)])
    agree(lambda i: tf.one_hot(i, 3, True, False), [np.int32(1)], [np.int32(-1)])


@pytest.mark.parametrize("dtype", [bool, np.float32, np.float64, np.int8, np.int64, np.uint8])
def test_where_it_is_true(dtype: Any) -> None:
    samples = [[RNG.integers(0, 2, size=(n, 3)).astype(dtype)] for n in (2, 4)]
    agree(tf.where, *samples)


def test_where_nan_counts_and_minus_zero_does_not() -> None:
    agree(tf.where, [np.array([np.nan, -0.0, np.inf, 1e-3], np.float32)], [np.zeros(0, np.float32)])


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_invert_permutation(dtype: Any) -> None:
    agree(tf.math.invert_permutation, *([RNG.permutation(n).astype(dtype)] for n in (3, 6)))
