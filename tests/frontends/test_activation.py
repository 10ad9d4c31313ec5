"""Activations, doubles included, for which runtimes have few kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree

X = np.array([[-30, -3, -1, -1e-6, -0.0], [0, 1e-6, 1, 6.5, 30], [np.inf, 1, 2, 3, 4]])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", ["Relu", "Relu6", "LeakyRelu", "Elu", "Selu", "Softplus", "Softsign"])
def test_agrees(name: str, dtype: Any) -> None:
    x = X.astype(dtype)
    agree(lambda v: getattr(tf.raw_ops, name)(features=v), [x], [x[:1]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax"])
def test_over_the_last_axis(name: str, dtype: Any) -> None:
    x = X[:2].astype(dtype)
    agree(lambda v: getattr(tf.raw_ops, name)(logits=v), [x], [x[:1]])
