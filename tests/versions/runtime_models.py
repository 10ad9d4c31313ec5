"""Varied models, of Keras, TensorFlow and PyTorch, that are written as ONNX files for several runtimes."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import torch

from tests.torch.test_pt2e import Folded, calibrated
from tests.torch.zoo.member import Member

__all__ = ["MODELS", "Source"]

L = keras.layers


@dataclass(frozen=True)
class Source:
    """A model and what it is called with."""

    kind: str
    make: Callable[[], Any]
    inputs: Callable[[], Sequence[Any]]
    """arrays by position"""
    options: Mapping[str, Any] = field(default_factory=dict)
    too_new: str = ""
    """why releases before the newest can't run it; empty for all that they must run"""


def _drawn(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def _counted(*shape: int, below: int, dtype: str = "int64") -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(0, below, shape).astype(dtype)


def _keras(kind: str, shape: tuple[int, ...], *layers: Callable[[], Any], dtype: str = "float32") -> Source:
    def make() -> Any:
        keras.utils.set_random_seed(0)
        policy = keras.config.dtype_policy()
        keras.config.set_dtype_policy(dtype)
        try:
            return keras.Sequential([keras.Input(shape, dtype=dtype), *(layer() for layer in layers)])
        finally:
            keras.config.set_dtype_policy(policy)

    return Source(kind, make, lambda: [_drawn(2, *shape, dtype=dtype)])


def _function(kind: str, called: Callable[..., Any], *arrays: Any, too_new: str = "") -> Source:
    def make() -> Any:
        specs = [tf.TensorSpec([None, *array.shape[1:]], tf.as_dtype(array.dtype)) for array in arrays]
        return tf.function(called, input_signature=specs)

    return Source(kind, make, lambda: arrays, too_new=too_new)


def _torch(kind: str, make: Callable[[], Any], *inputs: Any, too_new: str = "") -> Source:
    def seeded() -> Any:
        torch.manual_seed(0)
        return make().eval()

    return Source(
        kind, seeded, lambda: [tensor.numpy() for tensor in inputs], {"example_inputs": inputs}, too_new=too_new
    )


def _member(kind: str, module: str, name: str) -> Source:
    members: Sequence[Member] = importlib.import_module(f"tests.torch.zoo.{module}").MEMBERS
    member = next(member for member in members if member.name == name)
    given = member.inputs(2)
    example = given if isinstance(given, (tuple, dict)) else (given,)
    tensors = list(example.values()) if isinstance(example, dict) else list(example)
    return Source(kind, member.module, lambda: [tensor.numpy() for tensor in tensors], {"example_inputs": example})


def _keras_attention() -> Any:
    keras.utils.set_random_seed(0)
    x = keras.Input((5, 8))
    y = L.LayerNormalization()(L.MultiHeadAttention(2, 4)(x, x) + x)
    return keras.Model(x, L.Dense(8, activation="gelu")(y) + y)


def _keras_words() -> Any:
    keras.utils.set_random_seed(0)
    x = keras.Input((), dtype="string")
    index = L.StringLookup(vocabulary=["red", "green", "blue"])(x)
    return keras.Model(x, L.Dense(3)(L.Embedding(5, 4)(index)))


def _keras_quantized() -> Any:
    kernel = tf.Variable(_drawn(3, 3, 3, 4))

    def called(x: Any) -> Any:
        x = tf.quantization.fake_quant_with_min_max_args(x, -3, 3)
        w = tf.quantization.fake_quant_with_min_max_vars(kernel, -2.0, 2.0, narrow_range=True)
        return tf.quantization.fake_quant_with_min_max_args(tf.nn.relu(tf.nn.conv2d(x, w, 1, "SAME")), 0, 6)

    return tf.function(called, input_signature=[tf.TensorSpec([None, 8, 8, 3])])


def _loop(x: Any) -> Any:
    return tf.while_loop(lambda i, v: tf.reduce_sum(v) < 50.0, lambda i, v: (i + 1, v * 1.5 + 1.0), [0, x])


def _branches(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.nn.softmax(x), lambda: tf.math.top_k(x, 4)[0])


def _texts(x: Any) -> Any:
    return tf.strings.upper(tf.strings.join([x, x], "-")), tf.strings.regex_full_match(x, "[a-c ]*")


def _pieces(x: Any) -> Any:
    order = tf.argsort(x, axis=-1, stable=True)
    return tf.gather(x, order, batch_dims=1), tf.math.unsorted_segment_sum(x[0], order[0] % 3, 3), tf.cumsum(x, 1)


def _spectrum(x: Any) -> Any:
    return tf.abs(tf.signal.stft(x, 16, 8))


def _solved(x: Any) -> Any:
    symmetric = tf.matmul(x, x, transpose_b=True) + 4.0 * tf.eye(4)
    return tf.linalg.solve(symmetric, x), tf.linalg.det(symmetric)


def _scaled(x: Any) -> Any:
    return (
        tf.image.resize(x, (5, 9), antialias=True),
        tf.image.resize(x, (12, 12), "nearest"),
        tf.nn.avg_pool2d(x, 3, 2, "SAME"),
    )


def _bytes(x: Any) -> Any:
    return tf.where(x > 7, x * 3 + 1, x - 2), tf.bitwise.bitwise_xor(x, tf.constant(85, tf.uint8)), tf.maximum(x, 9)


def _products(x: Any) -> Any:
    return tf.math.cumprod(x, 1, exclusive=True), tf.reduce_prod(tf.cast(x * 4, tf.int64), 1)


class _Half(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.out = torch.nn.Conv2d(3, 4, 3).half(), torch.nn.Linear(4, 5).half()

    def forward(self, x: Any) -> Any:
        return torch.softmax(self.out(torch.relu(self.conv(x)).mean((2, 3))), -1)


class _Waves(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.cos(x) + x


MODELS: Mapping[str, Source] = {
    "keras-dense": _keras("dense", (6,), lambda: L.Dense(8, activation="relu"), lambda: L.Dense(3)),
    "keras-cnn": _keras(
        "CNN",
        (12, 12, 3),
        lambda: L.Conv2D(8, 3, padding="same", strides=2),
        L.BatchNormalization,
        L.ReLU,
        L.MaxPooling2D,
        L.Flatten,
        lambda: L.Dense(5, activation="softmax"),
    ),
    "keras-separable": _keras(
        "CNN",
        (12, 12, 3),
        lambda: L.SeparableConv2D(6, 3, activation="swish"),
        lambda: L.AveragePooling2D(3, 2, padding="same"),
        L.GlobalAveragePooling2D,
    ),
    "keras-decoder": _keras(
        "CNN",
        (4, 4, 2),
        lambda: L.Conv2DTranspose(3, 3, strides=2, padding="same"),
        lambda: L.UpSampling2D(interpolation="bilinear"),
        lambda: L.GroupNormalization(3),
    ),
    "keras-recurrent": _keras(
        "RNN", (6, 3), lambda: L.Bidirectional(L.LSTM(4, return_sequences=True)), lambda: L.GRU(3)
    ),
    "keras-attention": Source("transformer", _keras_attention, lambda: [_drawn(2, 5, 8)]),
    "keras-rms-norm": _keras("transformer", (5, 8), L.RMSNormalization, lambda: L.Dense(8), L.RMSNormalization),
    "keras-float16": _keras(
        "float16", (8, 8, 3), lambda: L.Conv2D(4, 3), L.ReLU, L.Flatten, lambda: L.Dense(3), dtype="float16"
    ),
    "keras-words": Source("strings", _keras_words, lambda: [np.array(["red", "blue", "pink"])]),
    "tf-quantized": Source("quantized", _keras_quantized, lambda: [_drawn(2, 8, 8, 3)]),
    "tf-loop": _function("control flow", _loop, _drawn(2, 4)),
    "tf-branches": _function("control flow", _branches, _drawn(3, 4)),
    "tf-texts": Source(
        "strings",
        lambda: tf.function(_texts, input_signature=[tf.TensorSpec([None], tf.string)]),
        lambda: [np.array(["a b", "Hello", ""])],
    ),
    "tf-pieces": _function("indexing", _pieces, _drawn(2, 6)),
    "tf-spectrum": _function("signal", _spectrum, _drawn(2, 64)),
    "tf-solved": _function("linear algebra", _solved, _drawn(2, 4, 4)),
    "tf-scaled": _function("images", _scaled, _drawn(1, 8, 8, 3)),
    "tf-bytes": _function("integers", _bytes, _counted(3, 5, below=200, dtype="uint8")),
    "tf-products": _function("integers", _products, _drawn(3, 5)),
    "tf-bits": _function(
        "bits",
        lambda x: tf.bitcast(x, tf.int32),
        _drawn(3, 5),
        too_new="reading the bits of a float takes BitCast, which came with opset 26",
    ),
    "torch-unet": _member("CNN", "modules_space", "U-Net"),
    "torch-sampled": _member("images", "modules_space", "spatial transformer"),
    "torch-lstm": _member("RNN", "modules_recurrent", "LSTM, two layers, both ways"),
    "torch-transformer": _member("transformer", "modules_attention", "nn.Transformer"),
    "torch-rotary": _member("transformer", "modules_attention", "rotary positions"),
    "torch-bert": _member("transformer", "transformers_text", "Bert"),
    "torch-llama": _member("transformer", "transformers_text", "LlamaForCausalLM"),
    "torch-calibrated": _torch("quantized", calibrated, torch.from_numpy(_drawn(2, 3, 8, 8))),
    "torch-weights-8-bit": _torch("quantized", Folded, torch.from_numpy(_drawn(2, 3, 8, 8))),
    "torch-cond": _member("control flow", "modules_structure", "cond"),
    "torch-while": _member("control flow", "modules_structure", "while_loop"),
    "torch-experts": _member("indexing", "modules_structure", "mixture of experts"),
    "torch-float16": _torch("float16", _Half, torch.from_numpy(_drawn(2, 3, 8, 8, dtype="float16"))),
    "torch-float64": _torch(
        "float64",
        _Waves,
        torch.from_numpy(_drawn(3, 5, dtype="float64")),
        too_new="ONNX Runtime 1.20 to 1.24 have no kernel for Cos of float64",
    ),
}
