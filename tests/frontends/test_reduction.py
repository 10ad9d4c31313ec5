"""Reductions: axes known and computed, none at all, nothing to reduce."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree

NAMES = ["Sum", "Mean", "Max", "Min", "Prod", "EuclideanNorm"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int32, np.uint8])
@pytest.mark.parametrize("name", NAMES)
def test_over_known_axes(name: str, dtype: Any) -> None:
    x = np.arange(24).reshape(4, 3, 2).astype(dtype) % 5
    agree(lambda v: getattr(tf.raw_ops, name)(input=v, axis=[1, -1], keep_dims=True), [x], [x[:1]])


@pytest.mark.parametrize("name", NAMES)
def test_over_no_axes_and_over_computed_ones(name: str) -> None:
    x = np.arange(-6, 6).reshape(4, 3).astype(np.float32)
    none = np.zeros(0, np.int32)
    agree(lambda v: getattr(tf.raw_ops, name)(input=v, axis=none), [x], [x[:1]])
    agree(lambda v, a: getattr(tf.raw_ops, name)(input=v, axis=a, keep_dims=True), [x, np.array([0], np.int32)])


def test_an_empty_batch_has_no_mean() -> None:
    x = np.ones((3, 2), np.float32)
    agree(tf.reduce_mean, [x], [x[:0]])


@pytest.mark.parametrize("name", ["All", "Any"])
def test_of_no_truths(name: str) -> None:
    x = np.array([[True, False], [True, True]])
    agree(lambda v: getattr(tf.raw_ops, name)(input=v, axis=[0]), [x], [x[:0]])
