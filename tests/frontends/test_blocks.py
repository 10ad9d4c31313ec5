"""Blocks of space exchanged for channels or for the batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types
from tests.frontends.test_shape import ramp

IMAGES = [(1, 4, 6, 8), (3, 4, 6, 8)]
OPEN_IMAGES = [(1, 4, 4, 8), (3, 8, 6, 8)]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64, np.int32, np.int64, np.uint8, np.int16, bool])
@pytest.mark.parametrize("shapes", [IMAGES, OPEN_IMAGES], ids=["known", "open"])
def test_space_and_depth(dtype: Any, shapes: list[tuple[int, ...]]) -> None:
    agree(
        lambda x: (tf.nn.space_to_depth(x, 2), tf.nn.depth_to_space(x, 2)),
        *([ramp(*shape, dtype=dtype)] for shape in shapes),
    )


def test_floats_take_one_operator() -> None:
    images = [[ramp(*shape)] for shape in OPEN_IMAGES]
    assert op_types(agree(lambda x: tf.nn.space_to_depth(x, 2), *images)) == ["Transpose", "SpaceToDepth", "Transpose"]
    assert op_types(agree(lambda x: tf.nn.depth_to_space(x, 2), *images)) == ["Transpose", "DepthToSpace", "Transpose"]


def test_space_to_batch() -> None:
    agree(lambda x: tf.space_to_batch(x, [2, 3], [[1, 1], [0, 3]]), *([ramp(*shape)] for shape in IMAGES))
    agree(lambda x: tf.space_to_batch(x, [2, 2], [[1, 1], [0, 2]]), *([ramp(*shape)] for shape in OPEN_IMAGES))
    agree(lambda x: tf.space_to_batch(x, [2], [[1, 0]]), [ramp(2, 3, 4)], [ramp(4, 5, 4)])
    agree(lambda x: tf.space_to_batch(x, [2, 2, 1], [[0, 0]] * 3), [ramp(2, 2, 4, 3)], [ramp(1, 4, 2, 3)])
    agree(
        lambda x: tf.raw_ops.SpaceToBatch(input=x, paddings=[[1, 1], [0, 0]], block_size=2),
        [ramp(1, 4, 4, 2)],
        [ramp(2, 4, 4, 2)],
    )
    agree(
        lambda x, p: tf.space_to_batch(x, [2, 2], p),
        [ramp(1, 3, 3, 2), np.int32([[1, 0], [2, 1]])],
        [ramp(2, 5, 5, 2), np.int32([[0, 1], [0, 1]])],
    )


def test_batch_to_space() -> None:
    agree(lambda x: tf.batch_to_space(x, [2, 3], [[1, 1], [0, 2]]), [ramp(6, 4, 4, 2)], [ramp(12, 4, 4, 2)])
    agree(lambda x: tf.batch_to_space(x, [2, 3], [[1, 1], [0, 0]]), [ramp(6, 4, 4, 2)], [ramp(12, 3, 5, 2)])
    agree(lambda x: tf.batch_to_space(x, [2], [[1, 0]]), [ramp(2, 3, 4)], [ramp(4, 5, 4)])
    agree(
        lambda x: tf.raw_ops.BatchToSpace(input=x, crops=[[1, 1], [0, 0]], block_size=2),
        [ramp(4, 4, 4, 2)],
        [ramp(8, 4, 4, 2)],
    )
    agree(
        lambda x, c: tf.batch_to_space(x, [2, 2], c),
        [ramp(4, 3, 3, 2), np.int32([[1, 0], [2, 1]])],
        [ramp(8, 5, 5, 2), np.int32([[0, 0], [0, 1]])],
    )
    agree(
        tf.function(
            lambda x, c: tf.batch_to_space(x, [2, 2], c),
            input_signature=[tf.TensorSpec([None, 3, 3, 2]), tf.TensorSpec([None, 2], tf.int32)],
        ),
        [ramp(4, 3, 3, 2), np.int32([[1, 0], [2, 1]])],
    )
