"""As ``test_no_alarm``, for operations and layers of TensorFlow's that are converted to ONNX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from keras import layers

import trueport
from trueport.fidelity import Verdict

RNG = np.random.default_rng(5)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def stirred(layer: Any, x: np.ndarray) -> Callable[[Any], Any]:
    """With numbers in place of the zeros and ones that it begins with."""
    layer.build(x.shape)
    for variable in layer.variables:
        if len(variable.shape) == 1:
            drawn = normal(*variable.shape)
            variable.assign(np.abs(drawn) + 0.1 if "variance" in variable.path else drawn)
    return lambda x: layer(x, training=False)


IMAGE = normal(4, 40, 40, 16)
ROWS = normal(400, 256)
STEPS = normal(32, 20, 16)
SEGMENTS = np.tile(np.arange(40), 100)
CASES: dict[str, tuple[Callable[[Any], Any] | Any, np.ndarray]] = {
    "batch": (layers.BatchNormalization(), IMAGE),
    "layer": (layers.LayerNormalization(), ROWS),
    "layer, off centre": (layers.LayerNormalization(), ROWS + 10),
    "group": (layers.GroupNormalization(4), IMAGE),
    "dense": (layers.Dense(128), ROWS),
    "convolution": (layers.Conv2D(8, 3), IMAGE),
    "transposed": (layers.Conv2DTranspose(8, 3, strides=2), IMAGE),
    "LSTM": (layers.LSTM(32, return_sequences=True), STEPS),
    "GRU": (layers.GRU(32, return_sequences=True), STEPS),
    "RNN": (layers.SimpleRNN(32, return_sequences=True), STEPS),
    "enlarged": (layers.UpSampling2D(3, interpolation="bilinear"), IMAGE),
    "resized": (layers.Resizing(97, 83), IMAGE),
    "bicubic": (lambda x: tf.image.resize(x, [97, 83], "bicubic"), IMAGE),
    "area": (lambda x: tf.image.resize(x, [20, 10], "area"), IMAGE),
    "corners": (lambda x: tf.compat.v1.image.resize_bilinear(x, [97, 83], align_corners=True), IMAGE),
    "cropped": (lambda x: tf.image.crop_and_resize(x, [[0.1, 0.1, 0.8, 0.9]], [0], [31, 29]), IMAGE),
    "variance": (lambda x: tf.nn.moments(x, [1])[1], ROWS + 5),
    "log softmax": (lambda x: tf.nn.log_softmax(x), 10 * ROWS),
    "gelu": (lambda x: tf.nn.gelu(x), 3 * ROWS),
    "swish": (tf.nn.swish, 3 * ROWS),
    "elu": (tf.nn.elu, 3 * ROWS),
    "softplus": (tf.nn.softplus, 9 * ROWS),
    "sigmoid": (tf.nn.sigmoid, 20 * ROWS),
    "expm1": (tf.math.expm1, ROWS),
    "segments": (lambda x: tf.math.segment_sum(x, np.sort(SEGMENTS)), normal(4000, 25)),
    "scattered": (lambda x: tf.scatter_nd(SEGMENTS[:, None], x, [40, 25]), normal(4000, 25)),
    "spectrum": (lambda x: tf.math.real(tf.signal.rfft(x)), normal(40, 256)),
    "spectrogram": (lambda x: tf.abs(tf.signal.stft(x, 256, 128)), normal(4, 4000)),
    "determinant": (tf.linalg.det, normal(400, 4, 4)),
    "contrast": (lambda x: tf.image.adjust_contrast(x, 1.7), normal(4, 20, 20, 3)),
}


@pytest.mark.parametrize("name", CASES)
def test_many_numbers_of_an_operation(name: str) -> None:
    made, x = CASES[name]
    call = stirred(made, x) if isinstance(made, layers.Layer) else made
    source = tf.function(call, input_signature=[tf.TensorSpec(x.shape, tf.float32, name="x")], autograph=False)
    found = trueport.verify(source, trueport.convert(source, to="onnx", verify=False).model, data=[{"x": x}])
    assert found.verdict == Verdict.FAITHFUL, str(found)
    assert found.oracle.startswith("float64")
