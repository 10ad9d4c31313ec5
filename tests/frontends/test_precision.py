"""Element types of whole models: half and double precision, mixed policies, quantized and low-rank Keras models."""

from __future__ import annotations

from collections.abc import Iterator

import keras
import numpy as np
import onnx
import pytest
import tensorflow as tf
from keras import layers
from onnx import TensorProto

from tests.frontends.harness import agree, op_types

RNG = np.random.default_rng(0)


def noise(*shape: int, dtype: str = "float32") -> np.ndarray:
    return RNG.normal(size=shape).astype(tf.as_dtype(dtype).as_numpy_dtype)


@pytest.fixture(autouse=True)
def _usual_policy() -> Iterator[None]:
    yield
    keras.config.set_dtype_policy("float32")


def network(policy: str) -> keras.Model:
    keras.config.set_dtype_policy(policy)
    x = keras.Input((6, 8), dtype=keras.config.dtype_policy().variable_dtype)
    y = layers.MultiHeadAttention(2, 4)(x, x)
    y = layers.LayerNormalization()(x + y)
    y = layers.Dense(5, activation="gelu")(y)
    return keras.Model(x, layers.Dense(3, activation="softmax")(layers.GlobalAveragePooling1D()(y)))


def weights_of(model: onnx.ModelProto) -> set[int]:
    return {tensor.data_type for tensor in model.graph.initializer if len(tensor.dims) > 1}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_a_network_of_one_precision(dtype: str) -> None:
    model = network(dtype)
    written = agree(model, *([noise(n, 6, 8, dtype=dtype)] for n in (1, 3)))
    wanted = {"float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16, "float64": TensorProto.DOUBLE}[dtype]
    assert written.graph.output[0].type.tensor_type.elem_type == wanted
    # ONNX Runtime multiplies no bfloat16: small weights are stored in the type that it multiplies.
    assert weights_of(written) == {TensorProto.FLOAT if dtype == "bfloat16" else wanted}


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_a_mixed_policy(policy: str) -> None:
    model = network(policy)
    agree(model, *([noise(n, 6, 8)] for n in (1, 3)))


def test_images_of_half_precision() -> None:
    keras.config.set_dtype_policy("mixed_float16")
    x = keras.Input((8, 8, 3))
    y = layers.BatchNormalization()(layers.Conv2D(4, 3, padding="same")(x))
    model = keras.Model(x, layers.Dense(2)(layers.Flatten()(layers.MaxPooling2D()(layers.ReLU()(y)))))
    agree(model, *([noise(n, 8, 8, 3)] for n in (1, 2)))


@pytest.mark.parametrize("mode", ["int8", "int4", "float8"])
def test_a_quantized_model_keeps_its_integers(mode: str) -> None:
    model = keras.Sequential([keras.Input((6,)), layers.Dense(8, activation="relu"), layers.Dense(3)])
    model.quantize(mode)
    written = agree(model, *([noise(n, 6)] for n in (1, 3)))
    if mode == "int8":
        assert op_types(written).count("MatMulInteger") == 2
    if mode != "float8":
        assert TensorProto.INT8 in weights_of(written)


def test_quantized_embeddings_and_attention() -> None:
    ids = keras.Input((5,), dtype="int32")
    y = layers.Embedding(11, 8)(ids)
    y = layers.MultiHeadAttention(2, 4)(y, y)
    model = keras.Model(ids, layers.EinsumDense("abc,cd->abd", (None, 3), bias_axes="d")(y))
    model.quantize("int8")
    written = agree(model, *([RNG.integers(0, 11, (n, 5)).astype(np.int32)] for n in (1, 3)))
    assert "MatMulInteger" in op_types(written) and TensorProto.INT8 in weights_of(written)


def test_low_rank_updates() -> None:
    model = keras.Sequential([keras.Input((6,)), layers.Dense(4), layers.EinsumDense("ab,bc->ac", 3)])
    for layer in model.layers:
        layer.enable_lora(2)
        for weight in (layer.lora_kernel_a, layer.lora_kernel_b):
            weight.assign(noise(*weight.shape))
    agree(model, *([noise(n, 6)] for n in (1, 3)))


def test_a_quantized_model_with_low_rank_updates() -> None:
    model = keras.Sequential([keras.Input((6,)), layers.Dense(4)])
    model.quantize("int8")
    model.layers[0].enable_lora(2)
    agree(model, *([noise(n, 6)] for n in (1, 3)))
