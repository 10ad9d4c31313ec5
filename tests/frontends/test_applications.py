"""Every model family of keras.applications: agrees with TensorFlow, and no transpose stands between convolutions."""

from __future__ import annotations

import inspect
from typing import Any

import keras
import numpy as np
import onnx
import pytest

from tests.frontends.harness import agree

ALL = sorted(name for name, item in vars(keras.applications).items() if inspect.isfunction(item))
FAMILIES = {
    "ConvNeXtTiny": 32,
    "DenseNet121": 32,
    "EfficientNetB0": 32,
    "EfficientNetV2B0": 32,
    "InceptionV3": 75,
    "MobileNet": 32,
    "MobileNetV2": 32,
    "MobileNetV3Small": 32,
    "ResNet50": 32,
    "ResNet50V2": 32,
    "VGG16": 32,
    "Xception": 71,
}
"""One of each, at the smallest size it takes; InceptionResNetV2 and NASNet are too large for a quick test."""


GROWING = {"EfficientNetV2L": 0.5, "EfficientNetV2M": 0.5}
"""Scales of batch norms. With fresh weights activations grow to 10^8 over these depths, and small differences with
them: TensorFlow's own result in float32 is off its result in float64 by 0.7 of its magnitude then."""


def image(model: Any, count: int) -> list[np.ndarray]:
    shape = [dim or 224 for dim in model.input_shape[1:]]
    return [np.random.default_rng(count).uniform(0, 255, (count, *shape)).astype(np.float32)]


def transposes_between_convolutions(model: onnx.ModelProto) -> list[str]:
    """Transposes that see a convolution before them and one behind them."""
    after, before = reachable(model, forward=True), reachable(model, forward=False)
    return [
        node.name
        for node in model.graph.node
        if node.op_type == "Transpose" and after & set(node.input) and before & set(node.output)
    ]


def reachable(model: onnx.ModelProto, *, forward: bool) -> set[str]:
    """Values that a convolution leads to, or that lead to one."""
    found: set[str] = set()
    for node in model.graph.node if forward else reversed(model.graph.node):
        ends = (
            (node.input, node.output)
            if forward
            else (node.output, node.input[:1] if node.op_type == "Conv" else node.input)
        )
        if node.op_type == "Conv" or found & set(ends[0]):
            found.update(ends[1])
    return found


QUICK = ("ConvNeXtTiny", "EfficientNetB0", "MobileNet", "ResNet50V2")
"""Of which all others are relatives."""


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in FAMILIES])
def test_family(name: str) -> None:
    size = FAMILIES[name]
    keras.utils.clear_session()
    model = getattr(keras.applications, name)(
        weights=None, input_shape=(size, size, 3), classes=10, classifier_activation=None
    )
    written = agree(model, image(model, 1), image(model, 2))
    assert not transposes_between_convolutions(written)
    assert sum(node.op_type == "Transpose" for node in written.graph.node) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_at_its_default_size(name: str) -> None:
    keras.utils.clear_session()
    model = getattr(keras.applications, name)(weights=None, classifier_activation=None)
    for layer in model.layers:
        if isinstance(layer, keras.layers.BatchNormalization) and name in GROWING:
            layer.gamma.assign(layer.gamma * GROWING[name])
    written = agree(model, image(model, 1))
    assert not transposes_between_convolutions(written)
    assert sum(node.op_type == "Transpose" for node in written.graph.node) <= 2
