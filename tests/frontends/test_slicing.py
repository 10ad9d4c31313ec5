"""Parts of tensors, and parts overwritten."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types
from tests.frontends.test_shape import OPEN, TWO, ramp

raw = tf.raw_ops


def test_one_operator_for_one_slice() -> None:
    assert op_types(agree(lambda x: x[:, 1:, ::2], *OPEN)) == ["Slice"]
    assert op_types(agree(lambda x: x[:, -1], *TWO)) == ["Gather"]
    assert op_types(agree(lambda x: x[..., tf.newaxis], *TWO)) == ["Unsqueeze"]
    assert op_types(agree(lambda x: x[:, 0, 1:3], *TWO)) == ["Slice", "Squeeze"]


def test_indices_ranges_and_new_axes() -> None:
    agree(
        lambda x: (
            x[0],
            x[-1, ..., 1],
            x[..., -1],
            x[:, None, ::2, None],
            x[0, ..., None, 1],
            x[None, ..., None],
            x[:, 1:2, -3:-1],
            x[:, 5:9],
            x[:, 2:1],
            x[:, -9:2],
            x[1:-1],
            x[..., 1:3, 0],
            x[0, 1, 2],
        ),
        *TWO,
    )


def test_backwards() -> None:
    agree(
        lambda x: (
            x[::-1],
            x[:, ::-2],
            x[-1::-1],
            x[-3::-1],
            x[-3:-5:-1],
            x[3:0:-1],
            x[9:-9:-2],
            x[:, -9::-1],
            x[:, 2:-9:-1],
            x[2:-1:-1],
            x[:, -4:-9:-1, 1],
        ),
        *OPEN,
    )


def test_bounds_that_are_computed() -> None:
    agree(
        lambda x, a, b: (
            x[a:b],
            x[a : b + 1, 1:],
            x[a],
            x[:, a],
            x[a, b],
            x[a:, ..., b],
            x[b:a:-1],
            x[b::-1],
            x[: tf.shape(x)[0] - 1, tf.shape(x)[1] // 2 :],
            tf.shape(x)[:-1],
            tf.shape(x)[a],
        ),
        [ramp(3, 3, 4), np.int32(0), np.int32(2)],
        [ramp(5, 4, 4), np.int32(-2), np.int32(-1)],
        [ramp(3, 3, 4), np.int32(-1), np.int32(-3)],
    )
    agree(
        lambda x, a, b: raw.StridedSlice(input=x, begin=a, end=b, strides=np.int64([1, 2]), end_mask=2),
        [ramp(3, 4), np.int64([0, 1]), np.int64([2, 3])],
        [ramp(5, 6), np.int64([-2, 1]), np.int64([9, 3])],
    )


def test_steps_that_are_computed() -> None:
    samples = [
        [ramp(n, 3), *(np.int32(v) for v in bounds)]
        for n, *bounds in [
            (5, [0, 0], [4, 9], [2, 1]),
            (6, [-2, -4], [-9, -9], [-1, -1]),
            (4, [-1, 2], [0, 0], [-2, -1]),
        ]
    ]
    agree(lambda x, b, e, s: raw.StridedSlice(input=x, begin=b, end=e, strides=s), *samples)
    agree(lambda x, b, e, s: raw.StridedSlice(input=x, begin=b, end=e, strides=s, begin_mask=1, end_mask=3), *samples)


def test_parts_by_begin_and_size() -> None:
    agree(
        lambda x: (
            tf.slice(x, [0, 1, 0], [-1, 2, 3]),
            tf.slice(x, [0, 0, 0], tf.shape(x)),
            tf.slice(x, [0, 0, 0], [-1, -1, 4]),
        ),
        *OPEN,
    )
    agree(
        lambda x, b, s: (tf.slice(x, b, s), tf.slice(x, b, [1, 1]), tf.slice(x, [1, 1], s), tf.slice(x, b, [-1, 2])),
        [ramp(3, 4), np.int32([0, 1]), np.int32([2, -1])],
        [ramp(5, 6), np.int32([2, 0]), np.int32([-1, 3])],
    )


@pytest.mark.parametrize(
    "options",
    [
        {"begin": [1], "end": [3], "strides": [1]},
        {"begin": [-1, 0], "end": [0, 9], "strides": [-2, 1]},
        {"begin": [0, 1], "end": [0, 0], "strides": [1, 1], "begin_mask": 1, "end_mask": 1, "shrink_axis_mask": 2},
        {"begin": [0, 1], "end": [0, 2], "strides": [1, 1], "new_axis_mask": 1},
        {"begin": [3], "end": [1], "strides": [1]},
    ],
)
def test_overwritten_slices(options: dict[str, Any]) -> None:
    agree(
        lambda x, v: raw.TensorStridedSliceUpdate(input=x, value=v, **options),
        [ramp(4, 3), np.float32(-1)],
        [ramp(6, 3), np.float32(9)],
    )
    agree(
        lambda x: raw.TensorStridedSliceUpdate(input=x, value=-x[1:2], begin=[0], end=[2], strides=[1]),
        [ramp(4, 3)],
        [ramp(4, 3)],
    )


def test_windows_overwritten_where_they_fit() -> None:
    update = keras.ops.slice_update
    agree(
        lambda x, u, i: update(x, i, u),
        [ramp(4, 3), -ramp(2, 2), np.int32([1, 5])],
        [ramp(4, 3), -ramp(2, 2), np.int32([-1, 0])],
    )
    agree(
        lambda x, u, i: update(x, [0, i, 0], u),
        [ramp(2, 4, 3), -ramp(2, 1, 3), np.int32(1)],
        [ramp(4, 4, 3), -ramp(4, 1, 3), np.int32(9)],
    )
    static = agree(lambda x, u: update(x, [0, 1], u), *[[ramp(2, 4), -ramp(2, 2)]] * 2)
    assert op_types(static) == ["Slice", "Slice", "Concat"]


def test_overwritten_slices_of_variables() -> None:
    class Holder(tf.Module):
        def __init__(self) -> None:
            self.held = tf.Variable(ramp(4, 3))

        @tf.function(input_signature=[tf.TensorSpec((2, 3))])
        def __call__(self, x: Any) -> Any:
            start = tf.identity(self.held)
            self.held[1:3].assign(x)
            return self.held + 1, self.held.assign(start)

    agree(Holder(), [-ramp(2, 3)], [ramp(2, 3) * 9])
