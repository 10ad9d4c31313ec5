"""Small networks for the examples, built with nothing but onnx and seeded random weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
from onnx import TensorProto

__all__ = ["digit_classifier", "make", "save", "weight"]


def weight(name: str, array: Any) -> onnx.TensorProto:
    """An initializer."""
    return onnx.numpy_helper.from_array(np.asarray(array), name)


def _weights(seed: int, **shapes: tuple[int, ...]) -> list[onnx.TensorProto]:
    generator = np.random.default_rng(seed)
    made = []
    for name, shape in shapes.items():
        fan_in = max(1, int(np.prod(shape[1:])))
        array = generator.normal(size=shape) / np.sqrt(fan_in)
        if name.endswith("var"):
            array = np.abs(array) + 0.5
        made.append(onnx.numpy_helper.from_array(array.astype(np.float32), name.replace("__", ".")))
    return made


def digit_classifier() -> onnx.ModelProto:
    """A convolutional classifier of 28×28 grey images, channel-first, any batch."""
    nodes = [
        oh.make_node("Conv", ["image", "conv1.weight", "conv1.bias"], ["c1"], "conv1", pads=[1, 1, 1, 1]),
        oh.make_node("BatchNormalization", ["c1", "bn.scale", "bn.bias", "bn.mean", "bn.var"], ["b1"], "bn"),
        oh.make_node("Relu", ["b1"], ["r1"], "relu1"),
        oh.make_node("MaxPool", ["r1"], ["p1"], "pool1", kernel_shape=[2, 2], strides=[2, 2]),
        oh.make_node("Conv", ["p1", "conv2.weight", "conv2.bias"], ["c2"], "conv2", pads=[1, 1, 1, 1]),
        oh.make_node("Relu", ["c2"], ["r2"], "relu2"),
        oh.make_node("GlobalAveragePool", ["r2"], ["g"], "pool2"),
        oh.make_node("Flatten", ["g"], ["f"], "flatten"),
        oh.make_node("Gemm", ["f", "fc.weight", "fc.bias"], ["logits"], "fc", transB=1),
        oh.make_node("Softmax", ["logits"], ["probabilities"], "softmax", axis=1),
    ]
    weights = _weights(
        7,
        conv1__weight=(8, 1, 3, 3),
        conv1__bias=(8,),
        bn__scale=(8,),
        bn__bias=(8,),
        bn__mean=(8,),
        bn__var=(8,),
        conv2__weight=(16, 8, 3, 3),
        conv2__bias=(16,),
        fc__weight=(10, 16),
        fc__bias=(10,),
    )
    graph = oh.make_graph(
        nodes,
        "digits",
        [oh.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 28, 28])],
        [oh.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", 10])],
        weights,
    )
    return make(graph)


def make(graph: onnx.GraphProto, opset: int = 22, **fields: Any) -> onnx.ModelProto:
    """A checked model around a graph."""
    opsets = [oh.make_opsetid("", opset), *fields.pop("opsets", [])]
    model = oh.make_model(graph, opset_imports=opsets, ir_version=10, **fields)
    onnx.checker.check_model(model)
    return model


def save(model: onnx.ModelProto, path: str) -> str:
    """Write the model and return where."""
    onnx.save(model, path)
    return path
