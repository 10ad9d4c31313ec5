"""Normalizations: operators of TensorFlow, and Keras layers that are recognized as ONNX's operators."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


def statistics(channels: int) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    mean, scale, offset = (rng.normal(size=channels).astype(np.float32) for _ in range(3))
    return [scale, offset, mean, rng.uniform(0.1, 2, size=channels).astype(np.float32)]


@pytest.mark.parametrize("op", [tf.raw_ops.FusedBatchNorm, tf.raw_ops.FusedBatchNormV2, tf.raw_ops.FusedBatchNormV3])
def test_fused_batch_norm(op: Any) -> None:
    scale, offset, mean, variance = statistics(3)
    written = agree(
        lambda x: op(x=x, scale=scale, offset=offset, mean=mean, variance=variance, epsilon=1e-3, is_training=False)[0],
        [normal(2, 5, 4, 3)],
        [normal(1, 5, 4, 3)],
    )
    assert "BatchNormalization" in op_types(written)


def test_fused_batch_norm_gives_its_statistics() -> None:
    scale, offset, mean, variance = statistics(3)

    def normalized(x: Any) -> Any:
        return tf.raw_ops.FusedBatchNormV3(
            x=x, scale=scale, offset=offset, mean=mean, variance=variance, is_training=False
        )[:3]

    agree(normalized, [normal(2, 5, 4, 3)])


@pytest.mark.parametrize("factor", [1.0, 0.25])
def test_fused_batch_norm_of_the_batch_itself(factor: float) -> None:
    scale, offset, mean, variance = statistics(3)

    def normalized(x: Any) -> Any:
        return tf.raw_ops.FusedBatchNormV3(
            x=x,
            scale=scale,
            offset=offset,
            mean=mean,
            variance=variance,
            exponential_avg_factor=factor,
            is_training=True,
        )[:5]

    agree(normalized, [normal(2, 5, 4, 3)], [normal(3, 2, 2, 3)])


@pytest.mark.parametrize("radius", [1, 5])
def test_local_response_normalization(radius: int) -> None:
    agree(
        lambda x: tf.nn.local_response_normalization(x, radius, bias=2.0, alpha=0.5, beta=0.75),
        [normal(2, 3, 4, 7)],
        [normal(1, 3, 4, 7)],
    )


L = keras.layers
LAYERS: list[tuple[Any, str]] = [
    (lambda: L.BatchNormalization(), "BatchNormalization"),
    (lambda: L.BatchNormalization(scale=False), "BatchNormalization"),
    (lambda: L.BatchNormalization(center=False), "BatchNormalization"),
    (lambda: L.BatchNormalization(center=False, scale=False), "BatchNormalization"),
    (lambda: L.BatchNormalization(axis=1), "BatchNormalization"),
    (lambda: L.BatchNormalization(axis=2, scale=False), "BatchNormalization"),
    (lambda: L.LayerNormalization(), "LayerNormalization"),
    (lambda: L.LayerNormalization(scale=False), "LayerNormalization"),
    (lambda: L.LayerNormalization(center=False), "LayerNormalization"),
    (lambda: L.LayerNormalization(axis=[2, 3]), "LayerNormalization"),
    (lambda: L.LayerNormalization(axis=[1, 2]), "ReduceMean"),
    (lambda: L.LayerNormalization(axis=1), "ReduceMean"),
    (lambda: L.GroupNormalization(2), "ReduceMean"),
    (lambda: L.GroupNormalization(-1), "ReduceMean"),
    (lambda: L.RMSNormalization(), "Pow"),
    (lambda: L.UnitNormalization(), "ReduceSum"),
]


@pytest.mark.parametrize(("make", "operator"), LAYERS)
def test_layers(make: Any, operator: str) -> None:
    model = keras.Sequential([keras.Input((4, 5, 6)), make()])
    rng = np.random.default_rng(2)
    for weight in model.weights:
        weight.assign(rng.uniform(0.5, 2, weight.shape))
    written = agree(model, [normal(2, 4, 5, 6)], [normal(1, 4, 5, 6)])
    assert operator in op_types(written)
    if operator.endswith("Normalization"):
        assert set(op_types(written)) <= {operator, "Transpose"}


def test_a_root_mean_square_is_one_operator_where_the_opset_has_it() -> None:
    model = keras.Sequential([keras.Input((4, 6)), L.RMSNormalization()])
    assert op_types(agree(model, [normal(2, 4, 6)], [normal(1, 4, 6)], opset=23)) == ["RMSNormalization"]


def test_the_weights_of_a_batch_norm_are_kept() -> None:
    model = keras.Sequential([keras.Input((6,)), L.BatchNormalization(name="bn")])
    written = agree(model, [normal(2, 6)], [normal(3, 6)])
    assert op_types(written) == ["BatchNormalization"]
    assert {tensor.name.split("/")[-1] for tensor in written.graph.initializer} == {
        "gamma",
        "beta",
        "moving_mean",
        "moving_variance",
    }


def test_what_only_looks_like_a_batch_norm_stays() -> None:
    gamma = tf.Variable(normal(6))

    def other_mean(x: Any, m: Any) -> Any:
        factor = tf.math.rsqrt(gamma * gamma + 0.1) * gamma
        return x * factor + (gamma - m * factor)

    written = agree(other_mean, [normal(2, 6), normal(6)], [normal(3, 6), normal(6)])
    assert "BatchNormalization" not in op_types(written)
