"""Keras models and the forms that TensorFlow itself can give them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras  # type: ignore[import-untyped]
import numpy as np
import tensorflow as tf
from keras import layers
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

__all__ = ["FORMS", "NETS", "make_net"]


def _cnn() -> keras.Model:
    x = layers.Input((12, 12, 3))
    y = layers.Conv2D(6, 3, padding="same", activation="relu")(x)
    y = layers.MaxPooling2D()(layers.BatchNormalization()(y))
    y = layers.Flatten()(layers.Conv2D(4, 3, activation="swish")(y))
    return keras.Model(x, layers.Dense(5, activation="softmax")(y))


def _depthwise() -> keras.Model:
    x = layers.Input((8, 8, 4))
    y = layers.ReLU(6.0)(layers.BatchNormalization()(layers.DepthwiseConv2D(3, padding="same")(x)))
    y = layers.GlobalAveragePooling2D()(layers.SeparableConv2D(6, 3)(y))
    return keras.Model(x, layers.Dense(3, activation="sigmoid")(y))


def _mlp() -> keras.Model:
    x = layers.Input((9,))
    y = layers.LayerNormalization()(layers.Dense(24, activation="gelu")(x))
    return keras.Model(x, layers.Dense(4, activation="tanh")(y))


def _lstm() -> keras.Model:
    x = layers.Input((8, 3))
    return keras.Model(
        x, layers.Dense(2)(layers.LSTM(5)(layers.Bidirectional(layers.LSTM(4, return_sequences=True))(x)))
    )


def _gru() -> keras.Model:
    x = layers.Input((7, 4))
    return keras.Model(x, layers.GRU(6, return_sequences=True)(x))


def _attention() -> keras.Model:
    x = layers.Input((5, 8))
    y = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, x))
    return keras.Model(x, layers.Dense(8, activation="elu")(y))


def _upsample() -> keras.Model:
    x = layers.Input((6, 5, 3))
    y = layers.Conv2DTranspose(4, 3, strides=2, padding="same", activation="leaky_relu")(x)
    return keras.Model(x, layers.Conv2D(1, 1)(layers.UpSampling2D(2, interpolation="bilinear")(y)))


def _text() -> keras.Model:
    x = layers.Input((6,), dtype="int32")
    y = layers.Conv1D(5, 3, activation="relu")(layers.Embedding(16, 4)(x))
    return keras.Model(x, layers.Dense(2, activation="softmax")(layers.GlobalMaxPooling1D()(y)))


NETS: Mapping[str, Callable[[], keras.Model]] = {
    "cnn": _cnn,
    "depthwise": _depthwise,
    "mlp": _mlp,
    "lstm": _lstm,
    "gru": _gru,
    "attention": _attention,
    "upsample": _upsample,
    "text": _text,
}


def make_net(name: str, seed: int) -> keras.Model:
    """Return the model with weights drawn from the seed; variances are positive."""
    keras.utils.set_random_seed(seed)
    net = NETS[name]()
    rng = np.random.default_rng(seed)
    for layer in net.layers:
        if isinstance(layer, layers.BatchNormalization):
            width = layer.moving_mean.shape
            layer.moving_mean.assign(rng.normal(size=width))
            layer.moving_variance.assign(rng.uniform(0.2, 2, width))
    return net


def _signature(net: keras.Model) -> tf.TensorSpec:
    port = net.inputs[0]
    return tf.TensorSpec((None, *port.shape[1:]), port.dtype, name="x")


def _saved(net: keras.Model, folder: Path) -> Path:
    net.export(str(folder / "saved"), verbose=False)
    return folder / "saved"


def _compiled(net: keras.Model, folder: Path) -> Path:
    """Write a SavedModel whose function XLA compiles."""
    call = tf.function(lambda x: net(x, training=False), jit_compile=True, input_signature=[_signature(net)])
    outer = tf.function(lambda x: {"y": call(x)}, input_signature=[_signature(net)])
    module = tf.Module()
    module.net, module.call, module.outer = net, call, outer
    tf.saved_model.save(module, str(folder / "compiled"), signatures=outer.get_concrete_function())
    return folder / "compiled"


def _file(net: keras.Model, folder: Path) -> Path:
    net.save(folder / "net.keras")
    return folder / "net.keras"


def _function(net: keras.Model, folder: Path) -> Any:
    return tf.function(lambda x: net(x, training=False), input_signature=[_signature(net)])


def _lite(net: keras.Model, folder: Path) -> Path:
    """Write a TFLite file in float32, with the weights as constants and a batch of two."""
    spec = _signature(net)
    fixed = tf.TensorSpec((2, *spec.shape[1:]), spec.dtype, name="x")
    function = tf.function(lambda x: net(x, training=False)).get_concrete_function(fixed)
    # Variables of a Keras 3 model are not initialized in the file: it would compute with zeros.
    frozen = convert_variables_to_constants_v2(function, lower_control_flow=False)
    path = folder / "net.tflite"
    path.write_bytes(tf.lite.TFLiteConverter.from_concrete_functions([frozen]).convert())
    return path


FORMS: Mapping[str, Callable[[keras.Model, Path], Any]] = {
    "saved_model": _saved,
    "xla": _compiled,
    "keras_file": _file,
    "function": _function,
    "tflite": _lite,
}
