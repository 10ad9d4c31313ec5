"""The smallest networks, end to end."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from tests.frontends.harness import agree, op_types


def test_a_function_of_two_inputs() -> None:
    rng = np.random.default_rng(0)
    samples = [[rng.normal(size=(n, 3)).astype(np.float32), rng.normal(size=(3, 4)).astype(np.float32)] for n in (1, 5)]
    written = agree(lambda x, w: tf.nn.relu(tf.matmul(x, w)), *samples)
    assert op_types(written) == ["MatMul", "Relu"]


def test_a_convolution_takes_channel_last_data() -> None:
    model = keras.Sequential([keras.Input((8, 8, 3)), keras.layers.Conv2D(4, 3, use_bias=False, activation="relu")])
    rng = np.random.default_rng(0)
    agree(model, *([rng.normal(size=(n, 8, 8, 3)).astype(np.float32)] for n in (1, 3)))
