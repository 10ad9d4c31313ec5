"""Graphs without a signature: frozen GraphDefs, and functions that are cut at named tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trueport.errors import InvalidModel, UsageError
from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.capture import Captured, Spec, capture

__all__ = ["cut_function", "graph_function", "read_graph_def"]

Shapes = Mapping[str, Sequence[int | None]]


def read_graph_def(path: Path) -> Any:
    """A binary GraphDef."""
    graph_def = tf.compat.v1.GraphDef()
    try:
        graph_def.ParseFromString(path.read_bytes())
    except Exception as error:  # protobuf's error type differs between its implementations
        raise InvalidModel(
            f"is no binary GraphDef: {error}",
            where=str(path),
            remedy="for a SavedModel name the folder, not saved_model.pb",
        ) from error
    if not graph_def.node:
        raise InvalidModel(
            "holds no node", where=str(path), remedy="for a SavedModel name the folder, not saved_model.pb"
        )
    return graph_def


def graph_function(graph_def: Any, inputs: Sequence[str] | None, outputs: Sequence[str], shapes: Shapes) -> Captured:
    """A GraphDef between named tensors; its placeholders are the inputs when none are named."""
    placeholders = [f"{node.name}:0" for node in graph_def.node if node.op == "Placeholder"]
    feeds = [_tensor_name(name) for name in inputs or placeholders]
    graph = tf.Graph()
    with graph.as_default():
        tf.graph_util.import_graph_def(graph_def, name="")
    specs = [Spec(_plain(name), _spec(graph, name)) for name in feeds]
    fetches = [_tensor_name(name) for name in outputs]
    for name in fetches:
        _spec(graph, name)

    def call(*tensors: Any) -> list[Any]:
        fed = dict(zip(feeds, tensors, strict=True))
        found: list[Any] = tf.graph_util.import_graph_def(graph_def, input_map=fed, return_elements=fetches, name="")
        return found

    return capture(call, specs, shapes=shapes, output_names=[_plain(name) for name in outputs], held=graph_def)


def cut_function(
    function: Any, inputs: Sequence[str] | None, outputs: Sequence[str] | None, shapes: Shapes, held: Any
) -> Captured:
    """A traced function between named tensors of its graph; what is not named stays the function's own."""
    graph = function.graph
    captured = function.captured_inputs
    own = [tensor.name for tensor in graph.inputs[: len(graph.inputs) - len(captured)]]
    taken = [tensor.name for tensor in graph.inputs[len(own) :]]
    feeds = [_tensor_name(name) for name in inputs] if inputs else own
    fetches = [_tensor_name(name) for name in outputs] if outputs else [tensor.name for tensor in graph.outputs]
    specs = [Spec(_plain(name), _spec(graph, name)) for name in feeds]
    for name in fetches:
        _spec(graph, name)
    graph_def = graph.as_graph_def()

    def call(*tensors: Any) -> list[Any]:
        weights = [tf.compat.v1.get_default_graph().capture(tensor) for tensor in captured]
        fed = {**dict(zip(feeds, tensors, strict=True)), **dict(zip(taken, weights, strict=True))}
        found: list[Any] = tf.graph_util.import_graph_def(graph_def, input_map=fed, return_elements=fetches, name="")
        return found

    return capture(call, specs, shapes=shapes, output_names=[_plain(name) for name in fetches], held=held)


def _tensor_name(name: str) -> str:
    return name if ":" in name else f"{name}:0"


def _plain(name: str) -> str:
    return name.removesuffix(":0")


def _spec(graph: Any, name: str) -> Any:
    try:
        tensor = graph.get_tensor_by_name(name)
    except (KeyError, ValueError) as error:
        known = [operation.name for operation in graph.get_operations()]
        some = ", ".join(known[:10]) + (f", … ({len(known)} in all)" if len(known) > 10 else "")
        raise UsageError(f"the graph has no tensor {name!r}", remedy=f"its operations: {some}") from error
    return tf.TensorSpec(tensor.shape, tensor.dtype)
