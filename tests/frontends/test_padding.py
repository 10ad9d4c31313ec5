"""Borders around tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types
from tests.frontends.test_shape import DTYPES, OPEN, TWO, ramp

raw = tf.raw_ops


@pytest.mark.parametrize("mode", ["CONSTANT", "REFLECT"])
def test_one_operator_for_one_padding(mode: str) -> None:
    assert op_types(agree(lambda x: tf.pad(x, [[0, 0], [1, 2], [0, 1]], mode), *TWO)) == ["Pad"]


def test_borders_of_a_number() -> None:
    agree(
        lambda x: (
            tf.pad(x, [[1, 0], [0, 2], [1, 1]]),
            tf.pad(x, [[1, 0], [0, 2], [1, 1]], constant_values=-np.inf),
            tf.pad(x, [[0, 0], [0, 0], [0, 0]]),
            raw.PadV2(input=x, paddings=[[0, 0], [3, 0], [0, 0]], constant_values=np.nan),
        ),
        *OPEN,
    )


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_borders_that_are_computed(kind: Any) -> None:
    agree(
        lambda x, p, c: (tf.pad(x, p), tf.pad(x, p, constant_values=c), tf.pad(x, p, "REFLECT")),
        [ramp(3, 4), kind([[1, 0], [2, 1]]), np.float32(3)],
        [ramp(5, 4), kind([[0, 0], [0, 3]]), np.float32(-7)],
    )
    agree(lambda x: tf.pad(x, [[0, tf.shape(x)[0]], [1, 0]]), [ramp(2, 3)], [ramp(5, 3)])


def test_mirrors() -> None:
    agree(
        lambda x: (
            tf.pad(x, [[2, 3], [0, 2]], "SYMMETRIC"),
            tf.pad(x, [[0, 0], [1, 0]], "SYMMETRIC"),
            tf.pad(x, [[2, 0], [1, 2]], "REFLECT"),
            tf.pad(x, [[0, 0], [0, 0]], "SYMMETRIC"),
        ),
        [ramp(3, 3)],
        [ramp(6, 3)],
    )


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d not in (np.uint16, np.uint32, np.uint64)])
def test_mirrors_of_every_type(dtype: Any) -> None:
    samples = [[ramp(n, 3, dtype=dtype)] for n in (3, 5)]
    agree(lambda x: (tf.pad(x, [[1, 2], [0, 2]], "REFLECT"), tf.pad(x, [[1, 2], [0, 3]], "SYMMETRIC")), *samples)
