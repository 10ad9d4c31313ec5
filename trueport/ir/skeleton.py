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
    _read_small(model)
    graph = model.graph
    declared = len(graph.inputs)
    large = [
        (value, value.const_value)
        for value in graph.initializers.values()
        if value.const_value is not None and _is_large(value.const_value)
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


def _read_small(model: ir.Model) -> None:
    """Small tensors in files of their own come into memory, with those of subgraphs: ONNX's tools look at them."""
    for graph in model.graphs():
        for value in graph.initializers.values():
            tensor = value.const_value
            if isinstance(tensor, ir.ExternalTensor) and (graph is not model.graph or not _is_large(tensor)):
                value.const_value = ir.Tensor(tensor.numpy().copy(), tensor.dtype, name=tensor.name)


def _is_large(tensor: ir.TensorProtocol) -> bool:
    known = tensor.length if isinstance(tensor, ir.ExternalTensor) else None  # said in the file: nothing to multiply
    return (tensor.nbytes if known is None else known) > _SMALL_BYTES
