"""Scatters, partitions, stitches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types

RNG = np.random.default_rng(19)
SCATTERS = [
    tf.tensor_scatter_nd_update,
    tf.tensor_scatter_nd_add,
    tf.tensor_scatter_nd_sub,
    tf.tensor_scatter_nd_min,
    tf.tensor_scatter_nd_max,
]


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.asarray(RNG.integers(-9, 9, size=shape)).astype(dtype)


def places(count: int, *dims: int) -> np.ndarray:
    """Different indices."""
    chosen = RNG.choice(int(np.prod(dims)), size=count, replace=False)
    return np.stack(np.unravel_index(chosen, dims), axis=-1).astype(np.int32)


@pytest.mark.parametrize("function", SCATTERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint8, np.int8])
def test_rows(function: Callable[..., Any], dtype: Any) -> None:
    samples = [[numbers(n, 3, dtype=dtype), places(2, n), numbers(2, 3, dtype=dtype)] for n in (2, 5)]
    agree(function, *samples)


@pytest.mark.parametrize("function", SCATTERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_depths(function: Callable[..., Any], depth: int) -> None:
    def sample(n: int) -> list[Any]:
        dims = (n, 3, 4)
        return [numbers(*dims), places(2, *dims[:depth]), numbers(2, *dims[depth:])]

    agree(function, sample(2), sample(5))


@pytest.mark.parametrize("function", SCATTERS[1:], ids=lambda f: f.__name__)
@pytest.mark.parametrize("depth", [1, 2])
def test_rows_that_meet(function: Callable[..., Any], depth: int) -> None:
    def sample(n: int) -> list[Any]:
        return [numbers(2, 3), RNG.integers(0, 2, size=(n, 2, depth)), numbers(n, 2, *(2, 3)[depth:])]

    agree(function, sample(3), sample(4))


@pytest.mark.parametrize("function", SCATTERS[3:], ids=lambda f: f.__name__)
def test_nan_neither_comes_nor_goes(function: Callable[..., Any]) -> None:
    tensor = np.array([1, np.nan, 3, -np.inf], np.float32)
    updates = np.array([np.nan, 2, np.inf, np.nan], np.float32)
    agree(function, [tensor, np.arange(4)[:, None], updates])


def test_constant_indices_that_differ_are_one_node() -> None:
    written = agree(
        lambda x, u: tf.tensor_scatter_nd_add(x, [[0], [2]], u), *([numbers(4, n), numbers(2, n)] for n in (2, 3))
    )
    assert op_types(written) == ["ScatterND"]


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, bool])
@pytest.mark.parametrize("depth", [1, 2])
def test_scatter_nd_adds_up(dtype: Any, depth: int) -> None:
    def sample(n: int) -> list[Any]:
        return [RNG.integers(0, 3, size=(n, depth)), numbers(n, *(4, 4)[depth:]).astype(dtype)]

    agree(lambda i, u: tf.scatter_nd(i, u, [4, 4]), sample(5), sample(9))


def test_scatter_nd_of_a_computed_shape() -> None:
    samples = [[RNG.integers(0, n, size=(6, 2)), numbers(6), np.array([n, n])] for n in (2, 4)]
    agree(tf.scatter_nd, *samples)


def test_scatter_nd_of_strings() -> None:
    agree(lambda u: tf.scatter_nd([[1], [3]], u, [4]), [np.array(["a", "b"], object)])


@pytest.mark.parametrize("function", [tf.raw_ops.TensorScatterUpdate, tf.raw_ops.TensorScatterAdd])
def test_indices_outside_are_ignored_when_asked(function: Callable[..., Any]) -> None:
    samples = [[numbers(3, 2), np.array([[1], [-1], [3], [0]])[:n], numbers(n, 2)] for n in (3, 4)]
    agree(lambda x, i, u: function(tensor=x, indices=i, updates=u, bad_indices_policy="IGNORE"), *samples)


@pytest.mark.parametrize("shape", [(0,), (0, 1)])
def test_partition(shape: tuple[int, ...]) -> None:
    def sample(n: int) -> list[Any]:
        dims = (n, 2)
        return [numbers(*dims, 3), RNG.integers(0, 3, size=[dims[i] for i in shape]).astype(np.int32)]

    agree(lambda x, p: tuple(tf.dynamic_partition(x, p, 4)), sample(3), sample(6))


@pytest.mark.parametrize("function", [tf.dynamic_stitch, tf.raw_ops.ParallelDynamicStitch])
def test_stitch(function: Callable[..., Any]) -> None:
    def sample(n: int) -> list[Any]:
        order = RNG.permutation(3 * n).astype(np.int32)
        return [order[:n], order[n:].reshape(n, 2), numbers(n, 4), numbers(n, 2, 4)]

    agree(lambda i, j, x, y: function(indices=[i, j], data=[x, y]), sample(2), sample(3))


def test_stitch_of_nothing() -> None:
    samples = [[np.arange(n, dtype=np.int32), numbers(n, 2)] for n in (0, 1)]
    agree(lambda i, x: tf.dynamic_stitch([i], [x]), *samples)
