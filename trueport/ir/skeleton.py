"""A model without its large weights, for ONNX's own tools, which work on protobufs of at most 2 GB."""

from __future__ import annotations

import onnx
import onnx_ir as ir

from trueport.ir.maps import to_proto

__all__ = ["skeleton"]

_SMALL_BYTES = 1024
"""Larger initializers are never shapes or axes: their types are enough for checking and inference."""


def skeleton(model: ir.Model) -> onnx.ModelProto:
    """The model as a protobuf in which large initializers are inputs of the same type and shape."""
    graph = model.graph
    declared = len(graph.inputs)
    large = [
        (value, value.const_value)
        for value in graph.initializers.values()
        if value.const_value is not None and value.const_value.nbytes > _SMALL_BYTES
    ]
    for value, tensor in large:
        value.type = ir.TensorType(tensor.dtype)
        value.shape = ir.Shape(tensor.shape.numpy())
        graph.initializers.pop(value.name or "")
        if not value.is_graph_input():
            graph.inputs.append(value)
    try:
        return to_proto(model)
    finally:
        while len(graph.inputs) > declared:
            graph.inputs.pop()
        for value, tensor in large:
            value.const_value = tensor
            graph.register_initializer(value)
