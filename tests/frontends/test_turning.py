"""Elements in another order along an axis, and numbers in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types
from tests.frontends.test_shape import OPEN, TWO, ramp
from trueport.errors import TrueportError

raw = tf.raw_ops


def test_reversed_axes() -> None:
    written = agree(lambda x: tf.reverse(x, [0, -1]), *OPEN)
    assert op_types(written) == ["Slice"]
    agree(lambda x: (tf.reverse(x, []), raw.Reverse(tensor=x, dims=[True, False, True])), *TWO)


@pytest.mark.parametrize(("time", "batch"), [(0, 1), (1, 0), (2, 0), (0, 2), (2, 1)])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_reversed_sequences(time: int, batch: int, kind: Any) -> None:
    agree(
        lambda x, n: tf.reverse_sequence(x, n, seq_axis=time, batch_axis=batch),
        [ramp(3, 3, 3), kind([0, 3, 2])],
        [ramp(3, 3, 3) - 5, kind([1, 2, 3])],
    )
    agree(lambda x, n: tf.reverse_sequence(x, n, 1), [ramp(2, 4), kind([0, 3])], [ramp(3, 5), kind([5, 1, 2])])


def test_rolled() -> None:
    agree(
        lambda x: (
            tf.roll(x, 1, 1),
            tf.roll(x, [1, -2], [1, -1]),
            tf.roll(x, [3, -7], [0, 0]),
            tf.roll(x, -11, 0),
            tf.roll(x, 4, -1),
        ),
        *OPEN,
    )
    agree(lambda x, s: tf.roll(x, s, 1), [ramp(2, 3), np.int32(-5)], [ramp(2, 4), np.int32(7)])
    agree(lambda x, s: tf.roll(x, s, [0, 1]), [ramp(2, 3), np.int64([-5, 1])], [ramp(2, 4), np.int64([0, 9])])


def scalars(dtype: Any, *numbers: float) -> list[np.ndarray]:
    return [np.array(number, dtype) for number in numbers]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ranges_of_floats(dtype: Any) -> None:
    agree(
        lambda a, b, d: tf.range(a, b, d),
        scalars(dtype, 0.1, 9.0, 0.3),
        scalars(dtype, 5, -3, -0.7),
        scalars(dtype, 0, 1, 0.1),
        scalars(dtype, -1, -1, 0.1),
        scalars(dtype, 0, 100, 0.01),
    )


def test_ranges_of_half_precision() -> None:
    agree(lambda n: tf.range(0, n, 1), scalars(np.float16, 5), scalars(np.float16, 2.5))
    with pytest.raises(TrueportError, match="rounding"):
        agree(lambda n, d: tf.range(0, n, d), scalars(np.float16, 5, 0.1), scalars(np.float16, 2, 0.1))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_ranges_of_integers(dtype: Any) -> None:
    agree(
        lambda a, b, d: tf.range(a, b, d),
        scalars(dtype, 0, 9, 2),
        scalars(dtype, 5, -3, -3),
        scalars(dtype, 4, 4, 1),
    )
    agree(lambda x: tf.range(tf.shape(x)[0]), *TWO)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_evenly_spaced(dtype: Any) -> None:
    agree(lambda a, b: raw.LinSpace(start=a, stop=b, num=7), scalars(dtype, 0.1, 9), scalars(dtype, 5, -3))
    agree(lambda a, b: raw.LinSpace(start=a, stop=b, num=1), scalars(dtype, 0.1, 9), scalars(dtype, 5, -3))
    agree(
        lambda a, b, n: raw.LinSpace(start=a, stop=b, num=n),
        [*scalars(dtype, 0.1, 9), np.int32(5)],
        [*scalars(dtype, 5, -3), np.int32(1)],
    )


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_places_of_flat_indices(dtype: Any) -> None:
    agree(lambda i: tf.unravel_index(i, tf.constant([3, 4, 5], dtype)), [dtype([0, 7, 59])], [dtype([21, 20])])
    agree(lambda i: tf.unravel_index(i, tf.constant([7], dtype)), [dtype([0, 6])], [dtype([1])])
    agree(lambda i: tf.unravel_index(i, tf.constant([3, 4], dtype)), [dtype(5)], [dtype(11)])
