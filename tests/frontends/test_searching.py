"""Unique values, bounds, ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree

RNG = np.random.default_rng(23)
ENDS = np.array([np.nan, -np.inf, np.inf, 0, 1, 2.5, 3], np.float32)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64, np.int8, np.uint8, object])
def test_unique(dtype: Any) -> None:
    samples = [[RNG.integers(0, 5, size=n).astype(str if dtype is object else dtype).astype(dtype)] for n in (4, 9)]
    agree(lambda x: (*tf.unique(x), *tf.unique_with_counts(x, tf.int64)), *samples)


@pytest.mark.parametrize("axis", [[], [0], [1]])
def test_unique_along_an_axis(axis: list[int]) -> None:
    def function(x: Any) -> Any:
        return tf.raw_ops.UniqueWithCountsV2(x=x if axis else x[0], axis=tf.constant(axis, tf.int32))

    agree(function, *([RNG.integers(0, 2, size=(n, 3))] for n in (4, 7)))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, object])
def test_list_diff(dtype: Any) -> None:
    kind = str if dtype is object else dtype
    samples = [[RNG.integers(0, 6, size=m).astype(kind).astype(dtype) for m in (n, n - 3)] for n in (3, 8)]
    agree(lambda x, y: tuple(tf.raw_ops.ListDiff(x=x, y=y)), *samples)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_bounds(side: str, dtype: Any) -> None:
    def sample(n: int) -> list[Any]:
        table = np.sort(RNG.integers(0, 9, size=(n, 5)), axis=-1).astype(dtype)
        return [table, RNG.integers(-1, 10, size=(n, 7)).astype(dtype)]

    agree(lambda s, v: tf.searchsorted(s, v, side=side), sample(1), sample(3))


@pytest.mark.parametrize("side", ["left", "right"])
def test_bounds_of_what_has_no_place(side: str) -> None:
    agree(lambda s, v: tf.searchsorted(s, v, side=side), [np.array([0, 1, 3], np.float32), ENDS])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_bucketize(dtype: Any) -> None:
    with np.errstate(invalid="ignore"):
        samples = [[np.tile(ENDS, (n, 1)).astype(dtype)] for n in (1, 2)]
    agree(lambda x: tf.raw_ops.Bucketize(input=x, boundaries=[0.0, 1.0, 2.5]), *samples)


def test_bucketize_rounds_integers_as_cpp_does() -> None:
    agree(
        lambda x: tf.raw_ops.Bucketize(input=x, boundaries=[16777216.0, 16777218.0]),
        [np.array([16777215, 16777216, 16777217, 16777219])],
    )


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
def test_nth_element(reverse: bool, dtype: Any) -> None:
    samples = [[RNG.integers(0, 50, size=(n, 6)).astype(dtype), np.int32(n)] for n in (2, 4)]
    agree(lambda x, n: tf.raw_ops.NthElement(input=x, n=n, reverse=reverse), *samples)
    agree(lambda x, n: tf.raw_ops.NthElement(input=x, n=3, reverse=reverse), *samples)


@pytest.mark.parametrize("k", [0, 1, 2, 9])
def test_in_top_k(k: int) -> None:
    first = np.array([[1, 2, 3, 3], [np.nan, 2, 3, 1], [np.inf, 1, 2, 3], [1, 1, 1, 1]], np.float32)
    samples = [[np.tile(first, (n, 1)), RNG.integers(-1, 6, size=4 * n).astype(np.int32)] for n in (1, 6)]
    agree(lambda p, i: tf.math.in_top_k(i, p, k), *samples)
    agree(lambda p, i: tf.raw_ops.InTopK(predictions=p, targets=i, k=k), *samples)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_bincount(weighted: bool, binary: bool, axis: int | None) -> None:
    if weighted and binary:
        pytest.skip("TensorFlow takes one of them")

    def function(x: Any, w: Any) -> Any:
        options = {"minlength": 4, "maxlength": 6, "axis": axis, "binary_output": binary}
        return tf.math.bincount(x, w if weighted else None, **options)

    samples = [
        [RNG.integers(0, 8, size=(n, 5)).astype(np.int32), RNG.integers(0, 9, size=(n, 5)).astype(np.float32)]
        for n in (2, 3)
    ]
    agree(function, *samples)


def test_raw_bincount() -> None:
    samples = [[RNG.integers(0, 8, size=n).astype(np.int32), np.int32(n)] for n in (3, 6)]
    agree(lambda x, s: tf.raw_ops.Bincount(arr=x, size=s, weights=tf.constant([], tf.int64)), *samples)


@pytest.mark.parametrize("weighted", [False, True])
def test_ragged_bincount(weighted: bool) -> None:
    def function(splits: Any, values: Any, weights: Any) -> Any:
        chosen = weights if weighted else tf.constant([], tf.float32)
        return tf.raw_ops.RaggedBincount(splits=splits, values=values, size=3, weights=chosen)

    first = [np.array([0, 2, 2, 3]), np.array([1, 9, 1]), np.array([1, 2, 4], np.float32)]
    second = [np.array([0, 0, 1]), np.array([2]), np.array([5], np.float32)]
    agree(function, first, second)


@pytest.mark.parametrize("limits", [(-1, -1), (9, -1), (2, 4)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rank", [1, 2])
def test_sparse_counts(limits: tuple[int, int], weighted: bool, rank: int) -> None:
    def function(x: Any, w: Any) -> Any:
        chosen = w if weighted else tf.constant([], tf.int64)
        options = {"minlength": limits[0], "maxlength": limits[1], "binary_output": False}
        return tuple(tf.raw_ops.DenseCountSparseOutput(values=x, weights=chosen, **options))

    shapes = [(n, 3)[:rank] for n in (2, 5)]
    agree(function, *([RNG.integers(0, 6, size=s), RNG.integers(1, 9, size=s)] for s in shapes))


def test_histogram() -> None:
    row = np.array([-1, 0, 1, 2, 5, np.inf, -np.inf, 4.999, 0.1, 0.3], np.float32)
    agree(
        lambda x, r: tf.histogram_fixed_width(x, r, 5),
        [row, np.array([0, 5], np.float32)],
        [row[:5], np.array([0, 0.5], np.float32)],
    )
    agree(lambda x: tf.histogram_fixed_width(x, [0, 5], 3, tf.int64), [np.arange(-2, 9)], [np.arange(3)])


@pytest.mark.parametrize("side", ["left", "right"])
def test_bounds_in_an_empty_table(side: str) -> None:
    samples = [[np.zeros(n, np.float32), np.ones(2, np.float32)] for n in (0, 3)]
    agree(lambda s, v: tf.searchsorted(s, v, side=side), *samples)
