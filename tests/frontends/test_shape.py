"""Shapes, and data moved as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types

raw = tf.raw_ops
DTYPES = [
    np.float16,
    np.float64,
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
    bool,
]


def ramp(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return (np.arange(np.prod(shape, dtype=int)) % 100).reshape(shape).astype(dtype)


TWO = [[ramp(2, 3, 4)], [ramp(5, 3, 4)]]
"""the first dim open"""
OPEN = [[ramp(2, 3, 4)], [ramp(5, 6, 4)], [ramp(0, 3, 4)]]
"""two dims open, one of them empty in the end"""


def test_shapes_and_sizes() -> None:
    agree(
        lambda x: (tf.shape(x), tf.shape(x, tf.int64), tf.size(x), tf.size(x, tf.int64), tf.rank(x)),
        *OPEN,
    )
    agree(lambda x, y: raw.ShapeN(input=[x, y]), [ramp(2, 3), ramp(4)], [ramp(5, 3), ramp(1)])


@pytest.mark.parametrize(
    ("function", "nodes"),
    [
        (lambda x: tf.reshape(x, [-1, 4]), ["Reshape"]),
        (lambda x: tf.reshape(x, [tf.shape(x)[0], tf.shape(x)[1], 2, 2]), ["Reshape"]),
        (lambda x: tf.reshape(x, tf.shape(x)), ["Reshape"]),
        (lambda x: tf.reshape(x, tf.concat([tf.shape(x)[:2], [2, 2]], 0)), ["Reshape"]),
        (lambda x: tf.reshape(x, [tf.shape(x)[1], tf.shape(x)[0], 2, 2]), ["Shape", "Shape", "Concat", "Reshape"]),
        (lambda x: tf.reshape(x, [tf.shape(x)[0] * tf.shape(x)[1], 4]), ["Reshape"]),
        (lambda x: tf.reshape(x, [2, -1]), ["Reshape"]),
    ],
)
def test_a_reshape_computes_no_more_than_it_must(function: Any, nodes: list[str]) -> None:
    assert op_types(agree(function, *OPEN)) == nodes


def test_reshapes_that_are_computed() -> None:
    agree(lambda x, s: tf.reshape(x, s), [ramp(2, 6), np.int32([3, 4])], [ramp(4, 6), np.int32([2, -1])])
    agree(lambda x: tf.reshape(x, []), [ramp(1, 1)], [ramp(1, 1)])
    agree(lambda x: tf.reshape(x, [3, 0, 7]), [ramp(0, 2)], [ramp(0, 2)])


def test_axes_of_one_come_and_go() -> None:
    agree(
        lambda x: (
            tf.expand_dims(x, 0),
            tf.expand_dims(x, -2),
            raw.ExpandDims(input=x, axis=[1]),
            tf.squeeze(x[:1], 0),
        ),
        *TWO,
    )
    agree(lambda x: (tf.squeeze(x), tf.squeeze(x, [-1]), tf.squeeze(x, [0, 2])), [ramp(1, 3, 1)], [ramp(1, 3, 1)])
    agree(lambda x: tf.squeeze(x, 1), [ramp(2, 1, 3)], [ramp(1, 1, 3)])


def test_transposes() -> None:
    agree(lambda x: (tf.transpose(x), tf.transpose(x, [0, 2, 1]), tf.transpose(x, [0, 1, 2])), *OPEN)
    agree(lambda x: (tf.transpose(x), tf.tile(x, []), tf.broadcast_to(x, [])), [np.float32(3)], [np.float32(4)])


def test_transposes_by_an_order_that_is_computed() -> None:
    samples = [
        [ramp(n, 3, 4), np.array(order, np.int32)] for n, order in ((2, [2, 0, 1]), (5, [1, 2, 0]), (0, [0, 2, 1]))
    ]
    agree(tf.transpose, *samples)
    agree(lambda x, order: tf.transpose(tf.complex(x, -x), order), *samples[:2])
    agree(tf.transpose, [np.float32(3), np.zeros(0, np.int32)], [np.float32(4), np.zeros(0, np.int32)])


def test_packed_and_unpacked() -> None:
    agree(lambda x: (tf.stack([x, x, x], -1), tf.stack([x], 1), tf.stack([x, tf.zeros_like(x)])), *TWO)
    agree(lambda x: (tf.stack([tf.shape(x)[0], 3, 4]), tf.stack([1, 2, tf.size(x)])), *TWO)
    agree(lambda x: (*tf.unstack(x, axis=1), *tf.unstack(x, axis=-1), *tf.unstack(tf.shape(x))), *TWO)
    agree(
        lambda x: (tf.unstack(x, axis=1), raw.ParallelConcat(values=[x, x], shape=[2, 3])),
        [ramp(1, 3)],
        [ramp(1, 3)],
    )


def test_joined_and_split() -> None:
    agree(
        lambda x, y: (tf.concat([x, y, x], 0), tf.concat([x, x], -1)),
        [ramp(2, 3), ramp(1, 3)],
        [ramp(4, 3), ramp(0, 3)],
    )
    agree(lambda x: raw.Concat(concat_dim=1, values=[x, x]), *TWO)
    agree(lambda x: (*tf.split(x, 3, 1), *tf.split(x, 2, -1), *tf.split(x, 1, 0)), *OPEN[:2])
    agree(lambda x: (*tf.split(x, [1, 0, 2], 1), *tf.split(x, [-1, 1], -1)), *TWO)
    agree(lambda x: (*tf.split(x, [1, -1], 0), *tf.split(x, [2, 1, -1], 1)), [ramp(2, 3)], [ramp(5, 6)])
    sizes = [np.int32([1, 2]), np.int32([3, -1])]
    agree(lambda x, s: tf.split(x, s, 0, num=2), [ramp(3, 2), sizes[0]], [ramp(8, 2), sizes[1]])


def test_repeated() -> None:
    agree(lambda x: (tf.tile(x, [1, 2, 3]), tf.tile(x, [0, 1, 1])), *OPEN)
    agree(lambda x, n: tf.tile(x, n), [ramp(2, 3), np.int32([2, 1])], [ramp(3, 3), np.int32([0, 4])])
    agree(
        lambda x: (tf.broadcast_to(x, [2, 3, 4]), tf.broadcast_to(x, tf.stack([tf.shape(x)[0], 3, 0]))),
        [ramp(3, 1)],
        [ramp(3, 1)],
    )
    agree(lambda x: tf.broadcast_to(x, tf.concat([[2], tf.shape(x)], 0)), *TWO)
    agree(
        lambda x, y: raw.BroadcastArgs(s0=tf.shape(x), s1=tf.shape(y)),
        [ramp(2, 1, 4), ramp(3, 1)],
        [ramp(5, 1, 4), ramp(2, 4)],
    )


@pytest.mark.parametrize("dtype", [*DTYPES, object])
def test_every_type_is_moved(dtype: Any) -> None:
    samples = [[ramp(n, 3, 4, dtype=str if dtype is object else dtype).astype(dtype)] for n in (2, 5)]
    agree(
        lambda x: (
            tf.transpose(tf.reshape(x, [-1, 12])),
            tf.concat([x[:, 1:], tf.expand_dims(x[:, 0], 1)], 1),
            tf.stack(tf.unstack(x, axis=2), 1),
            tf.zeros_like(x),
            tf.roll(x, 1, 0),
        ),
        *samples,
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_number_is_filled_and_padded(dtype: Any) -> None:
    samples = [[ramp(n, 3, dtype=dtype)] for n in (2, 5)]
    agree(
        lambda x: (
            tf.fill(tf.shape(x), x[1, 0]),
            tf.fill([tf.shape(x)[0], 2], tf.cast(1, x.dtype)),
            tf.ones_like(x),
            tf.broadcast_to(x, tf.concat([[2], tf.shape(x)], 0)),
            tf.pad(x, [[1, 0], [0, 2]]),
            tf.reverse(x, [0]),
        ),
        *samples,
    )


def test_bits_are_read_as_another_type() -> None:
    values = np.array([0.0, -0.0, 1.5, np.nan, np.inf, 1e-40], np.float32)
    agree(lambda x: (tf.bitcast(x, tf.int32), tf.bitcast(x, tf.uint32)), [values], [values[:2]])
    agree(lambda x: tf.bitcast(x, tf.int8), [ramp(3, dtype=np.uint8) + 150], [ramp(2, dtype=np.uint8)])


def test_copies_and_offsets() -> None:
    agree(lambda x: (raw.DeepCopy(x=x), raw.Empty(shape=tf.shape(x), dtype=tf.float32, init=True)), *TWO)
    agree(
        lambda x, y: raw.ConcatOffset(concat_dim=1, shape=[tf.shape(x), tf.shape(y), tf.shape(x)]),
        [ramp(2, 3), ramp(2, 4)],
        [ramp(3, 4), ramp(3, 3)],
    )
    agree(lambda x: tf.math.invert_permutation(x), [np.int32([2, 0, 1])], [np.int32([1, 0])])
    agree(lambda x: tf.math.invert_permutation(x), [np.int64([2, 0, 1])], [np.int64([1, 0])])
