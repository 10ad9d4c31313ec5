"""Graphs without a signature: frozen GraphDefs, and functions that are cut at named tensors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trueport.errors import InvalidModel, UsageError
from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.capture import Border, Captured, Spec, capture

__all__ = ["cut_function", "graph_function", "holds_state", "read_graph_def", "stateful_function"]


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


def graph_function(graph_def: Any, inputs: Sequence[str] | None, outputs: Sequence[str], border: Border) -> Captured:
    """A GraphDef between named tensors; its placeholders are the inputs when none are named."""
    placeholders = [f"{node.name}:0" for node in graph_def.node if node.op == "Placeholder"]
    feeds = [_tensor_name(name) for name in inputs or placeholders]
    graph = tf.Graph()
    with graph.as_default():
        tf.graph_util.import_graph_def(graph_def, name="")
    specs = [Spec(_plain(name), _spec(graph, name)) for name in feeds]
    fetches = [_tensor_name(name) for name in outputs]
    _check_fed(graph, feeds, fetches)

    def call(*tensors: Any) -> list[Any]:
        fed = dict(zip(feeds, tensors, strict=True))
        found: list[Any] = tf.graph_util.import_graph_def(graph_def, input_map=fed, return_elements=fetches, name="")
        return found

    return capture(call, specs, border=border, output_names=[_plain(name) for name in outputs], held=graph_def)


_VARIABLES = frozenset(("Variable", "VariableV2"))
_TABLES = frozenset(("HashTable", "HashTableV2", "MutableHashTable", "MutableHashTableV2", "MutableDenseHashTableV2"))


def holds_state(function: Any) -> bool:
    """Whether variables or tables stand in the graph itself, as TensorFlow 1 has them, not as captured handles."""
    return any(_is_state(operation) for operation in function.graph.get_operations())


def stateful_function(function: Any, loaded: Any, border: Border) -> Captured:
    """A signature of TensorFlow 1: its variables and tables taken out of the loaded graph with what they hold."""
    graph, captured = function.graph, function.captured_inputs
    own = [tensor.name for tensor in graph.inputs[: len(graph.inputs) - len(captured)]]
    taken = [tensor.name for tensor in graph.inputs[len(own) :]]
    state = {
        f"{operation.name}:0": _state(operation, loaded) for operation in graph.get_operations() if _is_state(operation)
    }
    names = list(function._arg_keywords)
    specs = [Spec(name, _spec(graph, feed)) for name, feed in zip(names, own, strict=True)]
    results = dict(zip(sorted(function.structured_outputs), (t.name for t in function.outputs), strict=True))
    graph_def = graph.as_graph_def()

    def read(value: Any) -> Any:
        is_variable = isinstance(value, tf.Variable)
        return value.read_value() if is_variable else tf.compat.v1.get_default_graph().capture(value)

    def call(*tensors: Any) -> dict[str, Any]:
        weights = [tf.compat.v1.get_default_graph().capture(tensor) for tensor in captured]
        held = {name: read(value) for name, value in state.items()}
        fed = {**dict(zip(own, tensors, strict=True)), **dict(zip(taken, weights, strict=True)), **held}
        fetches = list(results.values())
        found = tf.graph_util.import_graph_def(graph_def, input_map=fed, return_elements=fetches, name="")
        return dict(zip(results, found, strict=True))

    return capture(call, specs, border=border, held=(loaded, state))


def _is_state(operation: Any) -> bool:
    return operation.type in _VARIABLES | _TABLES


def _state(operation: Any, loaded: Any) -> Any:
    """A variable with the stored value, or a table's handle."""
    with loaded.graph.as_default():
        # A function can't return a reference: what it refers to is read by an operation of its own.
        read = tf.identity(loaded.graph.get_tensor_by_name(f"{operation.name}:0"))
    value = loaded.prune([], read)()
    return tf.Variable(value, trainable=False, name=operation.name) if operation.type in _VARIABLES else value


def cut_function(
    function: Any, inputs: Sequence[str] | None, outputs: Sequence[str] | None, border: Border, held: Any
) -> Captured:
    """A traced function between named tensors of its graph; what is not named stays the function's own."""
    graph = function.graph
    captured = function.captured_inputs
    own = [tensor.name for tensor in graph.inputs[: len(graph.inputs) - len(captured)]]
    taken = [tensor.name for tensor in graph.inputs[len(own) :]]
    feeds = [_tensor_name(name) for name in inputs] if inputs else own
    fetches = [_tensor_name(name) for name in outputs] if outputs else [tensor.name for tensor in graph.outputs]
    specs = [Spec(_plain(name), _spec(graph, name)) for name in feeds]
    _check_fed(graph, [*feeds, *taken], fetches)
    graph_def = graph.as_graph_def()

    def call(*tensors: Any) -> list[Any]:
        weights = [tf.compat.v1.get_default_graph().capture(tensor) for tensor in captured]
        fed = {**dict(zip(feeds, tensors, strict=True)), **dict(zip(taken, weights, strict=True))}
        found: list[Any] = tf.graph_util.import_graph_def(graph_def, input_map=fed, return_elements=fetches, name="")
        return found

    return capture(call, specs, border=border, output_names=[_plain(name) for name in fetches], held=held)


def _check_fed(graph: Any, feeds: Sequence[str], fetches: Sequence[str]) -> None:
    """All tensors exist, and the outputs need no placeholder that is not fed."""
    for name in fetches:
        _spec(graph, name)
    waiting = [graph.get_tensor_by_name(name) for name in fetches if name not in feeds]
    seen = {tensor.name for tensor in waiting}
    missing = []
    while waiting:
        operation = waiting.pop().op
        if operation.type == "Placeholder":
            missing.append(operation.name)
        fresh = [tensor for tensor in operation.inputs if tensor.name not in seen and tensor.name not in feeds]
        seen.update(tensor.name for tensor in fresh)
        waiting += fresh
    if missing:
        raise UsageError(
            f"the outputs also depend on {', '.join(sorted(missing))}", where="inputs", remedy="name these, too"
        )


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
