"""Channel-last models become channel-first ones: transposes at the ends, none between convolutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import onnx
import pytest

from tests.frontends.harness import agree, op_types
from tests.frontends.test_applications import transposes_between_convolutions

L = keras.layers


def conv(x: Any, channels: int = 4, **options: Any) -> Any:
    return L.Conv2D(channels, 3, padding="same", **options)(x)


def squeeze_and_excite(x: Any) -> Any:
    weights = L.GlobalAveragePooling2D(keepdims=True)(x)
    weights = L.Conv2D(4, 1, activation="sigmoid")(L.Conv2D(2, 1, activation="relu")(weights))
    return L.Multiply()([x, weights])


def attention_by_reshape(x: Any) -> Any:
    weights = L.Reshape((1, 1, 4))(L.GlobalAveragePooling2D()(x))
    return x * L.Conv2D(4, 1, activation="sigmoid")(weights)


def inverted_bottleneck(x: Any) -> Any:
    y = L.LayerNormalization()(L.DepthwiseConv2D(3, padding="same")(x))
    return x + L.Dense(4)(L.Dense(8, activation="gelu")(y))


BETWEEN: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda x: x,
    "activation": L.ReLU(6.0),
    "leaky": L.LeakyReLU(),
    "prelu": L.PReLU(shared_axes=[1, 2]),
    "batch norm": L.BatchNormalization(),
    "batch norm without scale": L.BatchNormalization(scale=False),
    "residual": lambda x: L.Add()([x, conv(x)]),
    "concat": lambda x: L.Concatenate()([x, conv(x)]),
    "split": lambda x: keras.ops.concatenate(keras.ops.split(x, 2, axis=-1)[::-1], axis=-1),
    "pad": L.ZeroPadding2D(1),
    "crop": L.Cropping2D(1),
    "max pool": L.MaxPool2D(),
    "average pool": L.AveragePooling2D(2, padding="same"),
    "upsampling": L.UpSampling2D(2, interpolation="bilinear"),
    "nearest upsampling": L.UpSampling2D(2),
    "squeeze and excite": squeeze_and_excite,
    "attention by reshape": attention_by_reshape,
    "inverted bottleneck": inverted_bottleneck,
    "depthwise": L.DepthwiseConv2D(3),
    "transposed": L.Conv2DTranspose(4, 2, strides=2),
    "normalization": L.GroupNormalization(2),
    "softmax over channels": L.Softmax(-1),
    "dropout": L.SpatialDropout2D(0.5),
}


@pytest.mark.parametrize("name", BETWEEN)
def test_no_transpose_between_convolutions(name: str) -> None:
    inputs = keras.Input((8, 8, 3))
    model = keras.Model(inputs, conv(BETWEEN[name](conv(inputs))))
    written = agree(model, *([np.random.default_rng(n).normal(size=(n, 8, 8, 3)).astype(np.float32)] for n in (1, 2)))
    assert not transposes_between_convolutions(written), op_types(written)
    assert op_types(written).count("Transpose") == 2


@pytest.mark.parametrize("rank", [1, 3])
def test_lines_and_volumes(rank: int) -> None:
    shape = (6,) * rank
    layer = getattr(L, f"Conv{rank}D")
    pool = getattr(L, f"MaxPool{rank}D")
    model = keras.Sequential(
        [
            keras.Input((*shape, 2)),
            layer(3, 2),
            L.BatchNormalization(),
            L.ReLU(),
            pool(),
            layer(2, 1),
            L.Flatten(),
            L.Dense(2),
        ]
    )
    written = agree(model, *([np.random.default_rng(n).normal(size=(n, *shape, 2)).astype(np.float32)] for n in (1, 2)))
    assert not transposes_between_convolutions(written)


def test_a_convolution_holds_its_bias() -> None:
    model = keras.Sequential([keras.Input((8, 8, 3)), L.Conv2D(4, 3), L.ReLU(), L.Conv2DTranspose(2, 3)])
    written = agree(model, [np.ones((2, 8, 8, 3), np.float32)])
    assert op_types(written) == ["Transpose", "Conv", "Relu", "ConvTranspose", "Transpose"]
    assert all(len(node.input) == 3 for node in written.graph.node if node.op_type.startswith("Conv"))


def test_a_transformer_stays_as_it_is() -> None:
    model = keras.Sequential([keras.Input((9, 6)), L.LayerNormalization(), L.Dense(8, activation="gelu"), L.Dense(6)])
    written = agree(model, [np.random.default_rng(0).normal(size=(2, 9, 6)).astype(np.float32)])
    assert op_types(written) == ["LayerNormalization", "MatMul", "Add", "Gelu", "MatMul", "Add"]


def test_a_transpose_of_the_model_itself_stays_one() -> None:
    def shuffled(x: Any) -> Any:
        groups = keras.ops.reshape(x, (-1, 8, 8, 2, 2))
        return keras.ops.reshape(keras.ops.transpose(groups, (0, 1, 2, 4, 3)), (-1, 8, 8, 4))

    inputs = keras.Input((8, 8, 3))
    model = keras.Model(inputs, conv(shuffled(conv(inputs))))
    written = agree(model, [np.random.default_rng(0).normal(size=(2, 8, 8, 3)).astype(np.float32)])
    assert len(transposes_between_convolutions(written)) == 1


def small_network() -> keras.Model:
    inputs = keras.Input((16, 16, 3))
    x = L.ReLU()(L.BatchNormalization()(conv(inputs, 8)))
    x = L.Add()([x, L.Dense(8, activation="gelu")(L.LayerNormalization()(L.DepthwiseConv2D(3, padding="same")(x)))])
    x = L.UpSampling2D(2, interpolation="bilinear")(L.MaxPool2D()(x))
    x = L.GroupNormalization(2)(L.Conv2DTranspose(4, 3, strides=2, padding="same")(x))
    return keras.Model(inputs, L.Dense(3, activation="softmax")(L.GlobalAveragePooling2D()(x)))


@pytest.mark.parametrize("opset", [13, 15, 18, 21, 26])
def test_every_opset(opset: int) -> None:
    samples = [[np.random.default_rng(n).normal(size=(n, 16, 16, 3)).astype(np.float32)] for n in (1, 2)]
    written = agree(small_network(), *samples, opset=opset)
    assert op_types(written).count("Transpose") == 1


@pytest.mark.parametrize("policy", ["mixed_float16", "float16"])
def test_half_precision(policy: str) -> None:
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        model = small_network()
    finally:
        keras.config.set_dtype_policy(before)
    written = agree(model, [np.random.default_rng(0).normal(size=(2, 16, 16, 3)).astype(np.float32)])
    assert op_types(written).count("Transpose") == 1
    kernels = [t for t in written.graph.initializer if t.name.endswith("kernel")]
    assert kernels and all(t.data_type == onnx.TensorProto.FLOAT16 for t in kernels)
