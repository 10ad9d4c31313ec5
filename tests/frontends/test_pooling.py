"""Pooling: windows, paddings, formats, types, places of maxima."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types

PADDINGS = ["SAME", "VALID"]


def some(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return (np.random.default_rng(len(shape)).normal(size=shape) * 9).astype(dtype)


@pytest.mark.parametrize("padding", [*PADDINGS, [[0, 0], [1, 0], [0, 1], [0, 0]]], ids=str)
@pytest.mark.parametrize(("kernel", "stride"), [(2, 2), (3, 1), (3, 2), (2, 3)])
def test_max_pool(padding: Any, kernel: int, stride: int) -> None:
    agree(lambda x: tf.nn.max_pool2d(x, kernel, stride, padding), [some(2, 7, 8, 3)], [some(1, 7, 8, 3)])


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize(("kernel", "stride"), [(2, 2), (3, 1), (3, 2), (2, 3)])
def test_average_pool_does_not_count_padding(padding: str, kernel: int, stride: int) -> None:
    agree(lambda x: tf.nn.avg_pool2d(x, kernel, stride, padding), [some(2, 7, 8, 3)], [some(1, 7, 8, 3)])


@pytest.mark.parametrize("pool", [tf.nn.max_pool2d, tf.nn.avg_pool2d])
@pytest.mark.parametrize("padding", PADDINGS)
def test_open_sizes(pool: Any, padding: str) -> None:
    agree(lambda x: pool(x, 3, 2, padding), [some(2, 7, 8, 3)], [some(1, 6, 9, 3)])


@pytest.mark.parametrize("pool", [tf.nn.max_pool3d, tf.nn.avg_pool3d])
@pytest.mark.parametrize("padding", PADDINGS)
def test_volumes(pool: Any, padding: str) -> None:
    agree(lambda x: pool(x, [2, 3, 2], 2, padding), [some(2, 5, 6, 7, 3)], [some(1, 5, 6, 7, 3)])


@pytest.mark.parametrize("dtype", [np.int32, np.int16, np.uint16, np.int8, np.uint8, np.float16, np.float64])
def test_max_pool_of_each_type(dtype: Any) -> None:
    agree(
        lambda x: tf.raw_ops.MaxPool(input=x, ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="SAME"),
        [some(1, 4, 4, 2, dtype=dtype)],
    )


def test_max_over_channels() -> None:
    written = agree(
        lambda x: tf.nn.max_pool(x, [1, 1, 1, 2], [1, 1, 1, 2], "VALID"), [some(2, 3, 4, 6)], [some(1, 3, 4, 6)]
    )
    assert op_types(written) == ["MaxPool"]


def test_window_as_an_input() -> None:
    agree(
        lambda x: tf.raw_ops.MaxPoolV2(input=x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID"),
        [some(1, 4, 4, 2)],
    )


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("batch", [True, False])
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_places_of_maxima(padding: str, batch: bool, dtype: Any) -> None:
    ties = np.round(some(2, 5, 6, 3) / 9)
    agree(
        lambda x: tf.nn.max_pool_with_argmax(x, 2, 2, padding, output_dtype=dtype, include_batch_in_index=batch),
        [ties],
        [some(1, 7, 6, 3)],
    )
