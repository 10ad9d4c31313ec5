"""Ragged tensors: rows of different lengths, as values and the splits between rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree

raw = tf.raw_ops
I64 = np.int64


def ragged(values: Any, *splits: Any) -> Any:
    return tf.RaggedTensor.from_nested_row_splits(values, splits, validate=False)


VALUES = [np.arange(n, dtype=np.float32) + 1 for n in (5, 8)]
SPLITS = [np.array([0, 2, 2, 5], I64), np.array([0, 0, 3, 4, 8], I64)]
ONE = [[v, s] for v, s in zip(VALUES, SPLITS, strict=True)]
TWO = [
    [np.arange(5, dtype=np.float32), np.array([0, 2, 3], I64), np.array([0, 2, 2, 5], I64)],
    [np.arange(8, dtype=np.float32), np.array([0, 0, 3, 4], I64), np.array([0, 0, 3, 4, 8], I64)],
]
WIDE = [[np.stack([v, -v], 1), s] for v, s in zip(VALUES, SPLITS, strict=True)]

ONE_LEVEL: dict[str, Callable[..., Any]] = {
    "to a tensor": lambda v, s: ragged(v, s).to_tensor(),
    "to a tensor, filled": lambda v, s: ragged(v, s).to_tensor(default_value=-7.0),
    "to a tensor of a shape": lambda v, s: ragged(v, s).to_tensor(shape=[None, 2]),
    "to a wider tensor": lambda v, s: ragged(v, s).to_tensor(default_value=9.0, shape=[2, 6]),
    "to sparse": lambda v, s: ragged(v, s).to_sparse(),
    "gathered": lambda v, s: tf.gather(ragged(v, s), [2, 0, 2, 1]),
    "gathered in a matrix": lambda v, s: tf.gather(ragged(v, s), [[2, 0], [2, 1]]),
    "summed": lambda v, s: tf.reduce_sum(ragged(v, s), axis=1),
    "mean": lambda v, s: tf.reduce_mean(ragged(v, s) + 1.0, axis=0),
    "row lengths": lambda v, s: ragged(v, s).row_lengths(),
    "row ids": lambda v, s: ragged(v, s).value_rowids(),
    "one row": lambda v, s: ragged(v, s)[2],
    "rows": lambda v, s: ragged(v, s)[1:],
    "columns": lambda v, s: ragged(v, s)[:, :2],
    "joined": lambda v, s: tf.concat([ragged(v, s), ragged(-v, s)], axis=1),
    "stacked": lambda v, s: tf.stack([ragged(v, s), ragged(-v, s)]),
    "tiled": lambda v, s: tf.tile(ragged(v, s), [1, 2]),
    "masked": lambda v, s: tf.ragged.boolean_mask(ragged(v, s), ragged(v, s) > 2.0),
    "softmax of flat values": lambda v, s: tf.ragged.map_flat_values(tf.nn.relu, ragged(v, s)),
    "added to a column": lambda v, s: ragged(v, s) + tf.cast(ragged(v, s).row_lengths(), tf.float32)[:, None],
    "from row ids": lambda v, s: tf.RaggedTensor.from_value_rowids(
        v, tf.cast(tf.range(tf.size(v)) // 2, tf.int64), nrows=7, validate=False
    ).to_tensor(),
}


@pytest.mark.parametrize("function", ONE_LEVEL.values(), ids=ONE_LEVEL)
def test_one_level(function: Callable[..., Any]) -> None:
    agree(function, *ONE)


@pytest.mark.parametrize(
    "function",
    [
        lambda v, a, b: ragged(v, a, b).to_tensor(-1.0),
        lambda v, a, b: ragged(v, a, b).to_tensor(-1.0, shape=[None, 1, 2]),
        lambda v, a, b: ragged(v, a, b).to_sparse(),
        lambda v, a, b: tf.gather(ragged(v, a, b), [1, 0]),
        lambda v, a, b: tf.reduce_sum(ragged(v, a, b), axis=2),
    ],
)
def test_two_levels(function: Callable[..., Any]) -> None:
    agree(function, *TWO)


@pytest.mark.parametrize(
    "function",
    [
        lambda v, s: ragged(v, s).to_tensor(),
        lambda v, s: ragged(v, s).to_tensor([1.0, 2.0]),
        lambda v, s: ragged(v, s).to_sparse(),
    ],
)
def test_values_that_are_rows(function: Callable[..., Any]) -> None:
    agree(function, *WIDE)


def test_no_values() -> None:
    agree(lambda v, s: ragged(v, s).to_tensor(), [np.zeros(0, np.float32), np.array([0, 0, 0], I64)], ONE[0])


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_ranges(dtype: Any) -> None:
    samples = [
        [np.array(a, dtype), np.array(b, dtype), np.array(c, dtype)]
        for a, b, c in (([0, 5, 2], [3, 0, 2], [1, -2, 1]), ([1, 9, 0, 3], [8, 0, 5, 9], [3, -4, 2, -1]))
    ]
    agree(lambda a, b, c: tf.ragged.range(a, b, c), *samples)
    agree(lambda a, b, c: tf.ragged.range(b), *samples)


def test_empty_rows_filled() -> None:
    samples = [
        [np.array([0, 0, 3], I64), np.array([1, 2, 3], np.int32), np.array(5, I64)],
        [np.array([1, 2], I64), np.array([4, 5], np.int32), np.array(4, I64)],
    ]
    agree(lambda r, v, n: tuple(raw.RaggedFillEmptyRows(value_rowids=r, values=v, nrows=n, default_value=-1)), *samples)


def test_a_ragged_input_is_its_parts() -> None:
    spec = tf.RaggedTensorSpec([None, None], tf.float32)
    function = tf.function(lambda x: tf.reduce_sum(x, axis=1) * 2.0, input_signature=[spec])
    written = agree(function, *([ragged(v, s)] for v, s in ONE))
    assert len(written.graph.input) == 2
