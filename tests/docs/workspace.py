"""The folder that the documentation's snippets run in: two small models and an input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.helper as oh
from onnx import TensorProto

__all__ = ["furnish"]


def furnish(folder: Path) -> None:
    """``model.onnx`` and ``x.npy``; ``custom.onnx``, which has an operator of its own."""
    onnx.save(_classifier(), folder / "model.onnx")
    onnx.save(_custom(), folder / "custom.onnx")
    np.save(folder / "x.npy", np.random.default_rng(1).normal(size=(2, 3, 8, 8)).astype(np.float32))


def _weight(name: str, *shape: int) -> onnx.TensorProto:
    array = np.random.default_rng(len(name)).normal(size=shape) / np.sqrt(np.prod(shape[1:]))
    return onnx.numpy_helper.from_array(array.astype(np.float32), name)


def _classifier() -> onnx.ModelProto:
    """x [batch, 3, 8, 8] → features → logits → probabilities [batch, 10]."""
    nodes = [
        oh.make_node("Conv", ["x", "conv.weight", "conv.bias"], ["convolved"], "conv", pads=[1, 1, 1, 1]),
        oh.make_node("Relu", ["convolved"], ["features"], "relu"),
        oh.make_node("GlobalAveragePool", ["features"], ["pooled"], "pool"),
        oh.make_node("Flatten", ["pooled"], ["flat"], "flatten"),
        oh.make_node("Gemm", ["flat", "fc.weight", "fc.bias"], ["logits"], "fc", transB=1),
        oh.make_node("Softmax", ["logits"], ["probabilities"], "softmax", axis=1),
    ]
    weights = [_weight("conv.weight", 4, 3, 3, 3), _weight("conv.bias", 4)]
    weights += [_weight("fc.weight", 10, 4), _weight("fc.bias", 10)]
    graph = oh.make_graph(
        nodes,
        "classifier",
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 8, 8])],
        [oh.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", 10])],
        weights,
    )
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 22)], ir_version=10)


def _custom() -> onnx.ModelProto:
    nodes = [
        oh.make_node("Bend", ["x"], ["bent"], "bend", domain="com.acme", scale=3.0),
        oh.make_node("Tanh", ["bent"], ["y"], "tanh"),
    ]
    graph = oh.make_graph(
        nodes,
        "custom",
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])],
    )
    opsets = [oh.make_opsetid("", 22), oh.make_opsetid("com.acme", 1)]
    return oh.make_model(graph, opset_imports=opsets, ir_version=10)
