"""Sparse tensors, made from their parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree

RNG = np.random.default_rng(29)
SHAPE = (4, 5)


def parts(count: int, *, shape: tuple[int, ...] = SHAPE, ordered: bool = True, dtype: Any = np.float32) -> list[Any]:
    chosen = RNG.choice(int(np.prod(shape)), size=count, replace=False)
    rows = np.stack(np.unravel_index(np.sort(chosen) if ordered else chosen, shape), axis=-1)
    return [rows.astype(np.int64), RNG.integers(-9, 9, size=count).astype(dtype), np.array(shape, np.int64)]


def dense(*shape: int) -> np.ndarray:
    return RNG.integers(1, 9, size=shape).astype(np.float32)


def sparse(function: Callable[..., Any], count: int = 1) -> Callable[..., Any]:
    """The function over the components of sparse tensors, then plain ones; sparse results as their components."""

    def over_parts(*inputs: Any) -> Any:
        given = [tf.SparseTensor(*inputs[3 * i : 3 * i + 3]) for i in range(count)]
        made = function(*given, *inputs[3 * count :])
        return tuple(tf.nest.flatten(made, expand_composites=True))

    return over_parts


UNARY: dict[str, Callable[..., Any]] = {
    "to_dense": lambda x: tf.sparse.to_dense(x, 7.0),
    "reorder": tf.sparse.reorder,
    "transpose": tf.sparse.transpose,
    "reshape": lambda x: tf.sparse.reshape(x, [2, -1, 5]),
    "reshape to a vector": lambda x: tf.sparse.reshape(x, [20]),
    "expand": lambda x: tf.sparse.expand_dims(x, 1),
    "slice": lambda x: tf.sparse.slice(x, [1, 2], [2, 9]),
    "split": lambda x: tf.sparse.split(x, 3, axis=1),
    "concat": lambda x: tf.sparse.concat(1, [x, x]),
    "concat rows": lambda x: tf.sparse.concat(0, [x, x, x]),
    "softmax": tf.sparse.softmax,
    "sum": lambda x: tf.sparse.reduce_sum(x),
    "sum of columns": lambda x: tf.sparse.reduce_sum(x, 0, keepdims=True),
    "max": lambda x: tf.sparse.reduce_max(x, 1),
    "max of all": lambda x: tf.sparse.reduce_max(x, keepdims=True),
    "sparse sum": lambda x: tf.sparse.reduce_sum(x, -1, output_is_sparse=True),
    "sparse sum, kept": lambda x: tf.sparse.reduce_sum(x, 1, keepdims=True, output_is_sparse=True),
    "sparse max": lambda x: tf.sparse.reduce_max(x, 0, output_is_sparse=True),
    "fill rows": lambda x: tf.sparse.fill_empty_rows(x, -1.0),
    "retain": lambda x: tf.sparse.retain(x, x.values > 0),
    "map": lambda x: tf.sparse.map_values(tf.abs, x),
}


@pytest.mark.parametrize("name", UNARY)
def test_one(name: str) -> None:
    agree(sparse(UNARY[name]), parts(3), parts(9))


@pytest.mark.parametrize("name", ["reorder", "transpose", "to_dense"])
def test_of_any_order(name: str) -> None:
    agree(sparse(UNARY[name]), parts(5, ordered=False) if name != "to_dense" else parts(5), parts(8))


@pytest.mark.parametrize("name", ["reorder", "to_dense", "slice", "concat", "sum", "max", "sparse sum", "fill rows"])
def test_of_nothing(name: str) -> None:
    agree(sparse(UNARY[name]), parts(0), parts(2))


def test_rows_in_any_order_are_filled() -> None:
    agree(sparse(UNARY["fill rows"]), parts(5, ordered=False), parts(3, ordered=False))


BINARY: dict[str, Callable[..., Any]] = {
    "add": tf.sparse.add,
    "add with threshold": lambda x, y: tf.sparse.add(x, y, threshold=3.0),
    "maximum": tf.sparse.maximum,
    "minimum": tf.sparse.minimum,
}


@pytest.mark.parametrize("name", BINARY)
def test_two(name: str) -> None:
    agree(sparse(BINARY[name], 2), [*parts(3), *parts(6)], [*parts(8), *parts(9)], [*parts(0), *parts(2)])


WITH_DENSE: dict[str, Callable[..., Any]] = {
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "mul a row": lambda x, y: x * y[:1],
    "add": tf.sparse.add,
    "cwise add": lambda x, y: tf.raw_ops.SparseDenseCwiseAdd(
        sp_indices=x.indices, sp_values=x.values, sp_shape=x.dense_shape, dense=y[0]
    ),
    "matmul": lambda x, y: tf.sparse.sparse_dense_matmul(x, tf.transpose(y)),
    "matmul b'": lambda x, y: tf.sparse.sparse_dense_matmul(x, y, adjoint_b=True),
    "matmul a'": lambda x, y: tf.sparse.sparse_dense_matmul(x, y, adjoint_a=True),
}


@pytest.mark.parametrize("name", WITH_DENSE)
def test_with_a_dense_one(name: str) -> None:
    agree(sparse(WITH_DENSE[name]), [*parts(3), dense(*SHAPE)], [*parts(9), dense(*SHAPE)])


def test_infinity_is_multiplied_only_by_what_is_there() -> None:
    other = np.full((5, 2), np.inf, np.float32)
    agree(sparse(tf.sparse.sparse_dense_matmul), [*parts(3), other], [*parts(4), other])


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64, object])
def test_to_dense_of_every_kind(dtype: Any) -> None:
    empty = "" if dtype is object else 0
    samples = [parts(n, dtype=str if dtype is object else dtype) for n in (2, 5)]
    for sample in samples:
        sample[1] = sample[1].astype(dtype)
    agree(sparse(lambda x: tf.sparse.to_dense(x, empty)), *samples)


def test_from_dense() -> None:
    agree(
        lambda x: tuple(tf.nest.flatten(tf.sparse.from_dense(x), expand_composites=True)),
        *([RNG.integers(0, 2, size=(n, 3)).astype(np.float32)] for n in (2, 4)),
    )


def test_vector() -> None:
    agree(sparse(lambda x: (tf.sparse.to_dense(x), tf.sparse.reorder(x))), *(parts(n, shape=(6,)) for n in (2, 4)))


def test_three_dims() -> None:
    function = sparse(lambda x: (tf.sparse.softmax(x), tf.sparse.reduce_sum(x, [0, 2]), tf.sparse.reduce_max(x, 1)))
    agree(function, *(parts(n, shape=(2, 3, 4)) for n in (6, 12)))


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("lookup", [tf.nn.embedding_lookup_sparse, tf.nn.safe_embedding_lookup_sparse])
def test_embeddings(lookup: Callable[..., Any], combiner: str) -> None:
    table = tf.Variable(dense(10, 3))

    def function(indices: Any, values: Any, shape: Any, weights: Any) -> Any:
        ids = tf.SparseTensor(indices, tf.cast(tf.abs(values), tf.int64), shape)
        weighted = tf.SparseTensor(indices, weights, shape)
        return lookup(table, ids, None, combiner=combiner), lookup(table, ids, weighted, combiner=combiner)

    samples = [[np.array([[0, 0], [1, 2], [1, 3], [2, 0], [3, 4]])[:n], *parts(n)[1:], dense(n)] for n in (3, 5)]
    agree(function, *samples)
