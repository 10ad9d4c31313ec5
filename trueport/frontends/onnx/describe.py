"""What a model says of itself, taken down before anything changes it: the artifact keeps it."""

from __future__ import annotations

from typing import Any

import onnx
import onnx_ir as ir

from trueport.fidelity import Loss

__all__ = ["describe", "left_out", "note_left_out"]

_LEFT_OUT = "trueport.left_out"


def describe(model: ir.Model) -> dict[str, Any]:
    """Producer, versions, doc strings, metadata properties, and each node's name and operator."""
    graph = model.graph
    return {
        "format": "onnx",
        "ir_version": model.ir_version,
        "opsets": dict(model.opset_imports),
        "producer": model.producer_name or "",
        "producer_version": model.producer_version or "",
        "domain": model.domain or "",
        "model_version": model.model_version or 0,
        "doc": model.doc_string or "",
        "metadata": dict(model.metadata_props),
        "graph": {"name": graph.name or "", "doc": graph.doc_string or "", "metadata": dict(graph.metadata_props)},
        "values": {value.name: value.doc_string for value in _values(graph) if value.doc_string},
        "nodes": [_node(node) for node in graph],
    }


def _values(graph: ir.Graph) -> list[ir.Value]:
    return [*graph.inputs, *graph.outputs, *graph.initializers.values()]


def _node(node: ir.Node) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": node.name or "",
        "op": node.op_type,
        "domain": node.domain,
        "outputs": [value.name or "" for value in node.outputs],
    }
    if node.doc_string:
        described["doc"] = node.doc_string
    if node.metadata_props:
        described["metadata"] = dict(node.metadata_props)
    return described


def note_left_out(model: ir.Model, proto: onnx.ModelProto) -> None:
    """Keep, with the model, what its file holds and the IR has no place for."""
    losses = []
    if proto.training_info:
        losses.append(
            Loss(
                "the model",
                f"{len(proto.training_info)} training graph{'s' * (len(proto.training_info) != 1)} left out",
                "what is converted is the inference graph",
            )
        )
    if proto.graph.quantization_annotation:
        names = ", ".join(repr(note.tensor_name) for note in proto.graph.quantization_annotation)
        losses.append(
            Loss("the model", f"quantization annotations of {names} left out", "only quantizing operators are carried")
        )
    model.meta[_LEFT_OUT] = losses


def left_out(model: ir.Model) -> list[Loss]:
    """What was noted when the model was read."""
    return list(model.meta.get(_LEFT_OUT, ()))
