"""Types and shapes of all values, by ONNX's own inference."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import onnx
import onnx.shape_inference
import onnx_ir as ir

from trueport.errors import InvalidModel

__all__ = ["infer_shapes"]

_SMALL_BYTES = 1024
"""Larger initializers are never shapes or axes: inference does not need their values, only their types."""


def infer_shapes(model: ir.Model, *, check_types: bool = False) -> None:
    """Fill in what inference finds; with ``check_types`` a node that contradicts its schema is an error."""
    with _without_large_initializers(model):
        proto = ir.to_proto(model)
    try:
        inferred = onnx.shape_inference.infer_shapes(
            proto, check_type=check_types, strict_mode=False, data_prop=True
        )
    except onnx.shape_inference.InferenceError as error:
        raise InvalidModel(
            f"the types in the model contradict each other: {_first_line(error)}",
            remedy="check it with onnx.checker.check_model(model, full_check=True)",
        ) from error
    for mine, theirs in zip(model.graphs(), ir.from_proto(inferred).graphs(), strict=True):
        _take_over(mine, theirs)


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:400]


def _take_over(graph: ir.Graph, inferred: ir.Graph) -> None:
    """Nodes stand in the same order in both, so values are matched by place, not by name."""
    for node, twin in zip(graph, inferred, strict=True):
        for value, found in zip(node.outputs, twin.outputs, strict=False):
            if found.type is not None:
                value.type = found.type
            if found.shape is not None:
                value.shape = found.shape


@contextmanager
def _without_large_initializers(model: ir.Model) -> Iterator[None]:
    graph = model.graph
    declared = len(graph.inputs)
    large = [
        (value, value.const_value)
        for value in graph.initializers.values()
        if value.const_value is not None and value.const_value.nbytes > _SMALL_BYTES
    ]
    for value, tensor in large:
        value.type = ir.TensorType(tensor.dtype)
        value.shape = ir.Shape(tensor.shape)
        graph.initializers.pop(value.name or "")
        if not value.is_graph_input():
            graph.inputs.append(value)
    try:
        yield
    finally:
        del graph.inputs[declared:]
        for value, tensor in large:
            value.const_value = tensor
            graph.register_initializer(value)
