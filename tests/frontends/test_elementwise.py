"""Arithmetic, comparisons and bits: TensorFlow's answers at the edges of every element type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types

EDGES = np.array([0.0, -0.0, 1, -1, 2.5, -2.5, 0.5, 7, -7, 1e30, -1e30, np.inf, -np.inf, np.nan])
SIGNED = [np.int8, np.int16, np.int32, np.int64]


def grid(values: Any, dtype: Any) -> list[np.ndarray]:
    """All pairs of values."""
    return [part.ravel() for part in np.meshgrid(np.asarray(values, dtype), np.asarray(values, dtype))]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "name",
    [
        "AddV2",
        "Sub",
        "Mul",
        "RealDiv",
        "FloorDiv",
        "FloorMod",
        "TruncateMod",
        "TruncateDiv",
        "DivNoNan",
        "MulNoNan",
        "Maximum",
        "Minimum",
        "Xdivy",
        "Equal",
        "NotEqual",
        "Less",
        "GreaterEqual",
    ],
)
def test_floats_by_pairs(name: str, dtype: Any) -> None:
    x, y = grid(EDGES, dtype)
    agree(lambda a, b: getattr(tf.raw_ops, name)(x=a, y=b), [x, y], [x[:3], y[:3]])


@pytest.mark.parametrize("dtype", SIGNED)
@pytest.mark.parametrize("name", ["AddV2", "Mul", "FloorDiv", "FloorMod", "TruncateDiv", "BitwiseXor"])
def test_integers_by_pairs(name: str, dtype: Any) -> None:
    info = np.iinfo(dtype)
    x, y = grid([1, 2, 3, 7, 100, -2, -3, -100, info.max, info.min + 1], dtype)
    agree(lambda a, b: getattr(tf.raw_ops, name)(x=a, y=b), [x, y], [x[:3], y[:3]])


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_powers_of_integers_wrap_around(dtype: Any) -> None:
    base, exponent = grid([0, 1, 2, 3, 7, 40], dtype)
    agree(lambda a, b: tf.raw_ops.Pow(x=a, y=b), [base, exponent], [base[:3], exponent[:3]])


@pytest.mark.parametrize("dtype", [*SIGNED, np.uint8, np.uint32, np.uint64])
@pytest.mark.parametrize("name", ["LeftShift", "RightShift"])
def test_shifts_stop_at_the_last_bit(name: str, dtype: Any) -> None:
    info = np.iinfo(dtype)
    x = np.array([1, 5, 100, info.max, info.min, info.min + 1] * 4, dtype)
    y = np.repeat(np.array([0, 3, info.bits - 1, 100], dtype), 6)
    agree(lambda a, b: getattr(tf.raw_ops, name)(x=a, y=b), [x, y], [x[:3], y[:3]])


def test_bits_are_counted() -> None:
    x = np.array([0, 1, -1, 2**31 - 1, -(2**31)], np.int32)
    agree(lambda a: tf.raw_ops.PopulationCount(x=a), [x], [x[:2]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["Neg", "Abs", "Sign", "Sqrt", "Round", "Rint", "Floor", "Ceil", "Log1p", "Expm1"])
def test_floats_one_by_one(name: str, dtype: Any) -> None:
    x = EDGES.astype(dtype)
    agree(lambda a: getattr(tf.raw_ops, name)(x=a), [x], [x[:3]])


def test_the_quadrants_of_atan2() -> None:
    y, x = grid(EDGES, np.float32)
    agree(lambda a, b: tf.raw_ops.Atan2(y=a, x=b), [y, x], [y[:3], x[:3]])


def test_sizes_divide_without_a_correction() -> None:
    written = agree(lambda x: tf.shape(x)[0] // 2, [np.zeros((5, 2), np.float32)], [np.zeros((4, 2), np.float32)])
    assert op_types(written).count("Div") == 1 and "Less" not in op_types(written)


def test_a_factor_of_one_goes():
    made = agree(lambda x: tf.nn.silu(x) - 1.0 * x, [np.array([0.5, -0.0, -2, np.nan], np.float32)])
    assert op_types(made).count("Mul") == 1


def test_a_factor_of_one_that_widens_stays():
    agree(lambda x: x * tf.ones([3, 1]), [np.arange(4, dtype=np.float32)])
