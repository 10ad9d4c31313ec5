"""Running sums and products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types
from trueport.passes.to_onnx import NEWEST_OPSET

RNG = np.random.default_rng(13)
RUNNING = [tf.cumsum, tf.math.cumprod, tf.math.cumulative_logsumexp]


@pytest.mark.parametrize("function", RUNNING)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, -1])
def test_running(function: Callable[..., Any], exclusive: bool, reverse: bool, axis: int) -> None:
    samples = [[RNG.normal(size=(n, 3, 4)).astype(np.float32)] for n in (2, 5)]
    agree(lambda x: function(x, axis, exclusive=exclusive, reverse=reverse), *samples)


@pytest.mark.parametrize("function", RUNNING[:2])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64, np.float64])
def test_running_integers_overflow(function: Callable[..., Any], dtype: Any) -> None:
    samples = [[RNG.integers(0, 100, size=(n, 4)).astype(dtype)] for n in (3, 8)]
    agree(function, *samples)
    assert "Scan" not in op_types(agree(function, *samples, opset=NEWEST_OPSET))


@pytest.mark.parametrize("function", RUNNING)
def test_running_over_infinities(function: Callable[..., Any]) -> None:
    row = np.array([-np.inf, -np.inf, 1, 800, -800, np.inf, 2, np.nan, 1], np.float32)
    agree(function, [row], [row[:5]])


def test_running_double() -> None:
    agree(tf.math.cumulative_logsumexp, [RNG.normal(size=9) * 30], [RNG.normal(size=3)])


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("function", [tf.math.cumprod, tf.math.cumulative_logsumexp, tf.cumsum])
def test_of_nothing(function: Any, axis: int) -> None:
    """Neither no steps nor no rows: both end the process, or the run, in some releases of ONNX Runtime."""
    rows = [np.linspace(-2, 2, 3 * count, dtype=np.float32).reshape(count, 3) for count in (4, 0, 1)]
    agree(lambda x: function(x, axis, exclusive=True, reverse=True), *((x,) for x in rows))
    agree(lambda x: function(x, axis), *((x.T,) for x in rows))
