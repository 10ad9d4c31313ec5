"""A representative set of models at old and new opsets: each file says the opset that was asked for, and agrees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree
from trueport.passes.to_onnx import NEWEST_OPSET

L = keras.layers


def _drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def _network(shape: tuple[int, ...], *layers: Any) -> Any:
    keras.utils.set_random_seed(0)
    return keras.Sequential([keras.Input(shape), *layers])


def _attention() -> Any:
    keras.utils.set_random_seed(0)
    x = keras.Input((5, 8))
    y = L.LayerNormalization()(L.MultiHeadAttention(2, 4)(x, x) + x)
    return keras.Model(x, L.Dense(8, activation="gelu")(y))


def _loop() -> Any:
    @tf.function(input_signature=[tf.TensorSpec([None, 4])])
    def grow(x: Any) -> Any:
        return tf.while_loop(lambda i, v: tf.reduce_sum(v) < 50.0, lambda i, v: (i + 1, v * 1.5 + 1.0), [0, x])

    return grow


def _sorting(x: Any) -> tuple[Any, ...]:
    return tf.sort(x, axis=-1), tf.cumsum(x, axis=1), tf.math.segment_sum(x[0], [0, 0, 1, 1])


MODELS: Mapping[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "cnn": (
        lambda: _network(
            (8, 8, 3),
            L.Conv2D(4, 3, padding="same", strides=2),
            L.BatchNormalization(),
            L.ReLU(),
            L.MaxPooling2D(),
            L.Flatten(),
            L.Dense(5, activation="softmax"),
        ),
        (8, 8, 3),
    ),
    "upsampling": (lambda: _network((4, 4, 2), L.UpSampling2D(interpolation="bilinear"), L.ZeroPadding2D()), (4, 4, 2)),
    "transposed": (lambda: _network((4, 4, 2), L.Conv2DTranspose(3, 3, strides=2, padding="same")), (4, 4, 2)),
    "lstm": (lambda: _network((6, 3), L.Bidirectional(L.LSTM(4, return_sequences=True)), L.GRU(3)), (6, 3)),
    "attention": (_attention, (5, 8)),
    "groups": (lambda: _network((4, 4, 4), L.GroupNormalization(2), L.UnitNormalization()), (4, 4, 4)),
    "loop": (_loop, (4,)),
    "sorting": (lambda: _sorting, (4,)),
}


@pytest.mark.parametrize("opset", [13, 15, 18, 21, NEWEST_OPSET])
@pytest.mark.parametrize("name", MODELS)
def test_agrees_at_the_opset(name: str, opset: int) -> None:
    make, shape = MODELS[name]
    written = agree(make(), [_drawn(1, *shape)], [_drawn(3, *shape)], opset=opset)
    assert {entry.domain: entry.version for entry in written.opset_import}[""] == opset
