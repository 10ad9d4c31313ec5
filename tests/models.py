"""Tiny models for tests."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime as ort
from onnx import TensorProto

__all__ = ["model_of", "relu_chain", "weighted"]
from trueport.versions.onnxruntime import newest_opset

_OPSET = min(22, newest_opset(ort))


def model_of(nodes: list[onnx.NodeProto], inputs: list[Any], outputs: list[Any], **options: Any) -> onnx.ModelProto:
    """A model around nodes; ``opset``, ``initializers``, ``opsets`` (further domains) as options."""
    graph = oh.make_graph(nodes, "test", inputs, outputs, options.pop("initializers", []))
    opsets = [oh.make_opsetid("", options.pop("opset", _OPSET)), *options.pop("opsets", [])]
    return oh.make_model(graph, opset_imports=opsets, ir_version=options.pop("ir_version", 10), **options)


def relu_chain(length: int = 2) -> onnx.ModelProto:
    """x → Relu → … → y, float32 [n, 3]."""
    names = ["x", *(f"h{i}" for i in range(1, length)), "y"]
    nodes = [oh.make_node("Relu", [a], [b], f"relu{i}") for i, (a, b) in enumerate(itertools.pairwise(names))]
    return model_of(
        nodes,
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
    )


def weighted(size: int = 600) -> onnx.ModelProto:
    """y = x · w with a weight large enough to be stored outside."""
    weight = np.random.default_rng(0).normal(size=(3, size)).astype(np.float32)
    return model_of(
        [oh.make_node("MatMul", ["x", "w"], ["y"], "matmul")],
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, ["n", size])],
        initializers=[onnx.numpy_helper.from_array(weight, "w")],
    )
