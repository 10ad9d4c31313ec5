"""Graphs without a signature: frozen GraphDefs, and functions that are cut at named tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueport.errors import InvalidModel, UsageError
from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.capture import Border, Captured, Spec, capture
from trueport.frontends.tensorflow.functions import FunctionLibrary
from trueport.ir.files import check_regular
from trueport.quoting import one_line, plain_text

__all__ = ["cut_function", "graph_function", "holds_state", "read_graph_def", "stateful_function"]


def read_graph_def(path: Path) -> Any:
    """A binary GraphDef."""
    check_regular(path)
    graph_def = tf.compat.v1.GraphDef()
    try:
        graph_def.ParseFromString(path.read_bytes())
    except Exception as error:  # protobuf's error type differs between its implementations
        raise InvalidModel(
            f"is no binary GraphDef: {plain_text(error)}",
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
    try:
        with graph.as_default():
            tf.graph_util.import_graph_def(graph_def, name="")
    except (TypeError, ValueError, tf.errors.OpError) as error:
        raise InvalidModel(
            f"TensorFlow can't read the graph: {one_line(error, 200)}",
            remedy="write it again with tf.io.write_graph(graph, folder, name, as_text=False)",
        ) from error
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
    inner = _innermost(function)
    names = list(inputs or inner.own)
    feeds = [_tensor_name(name) for name in inputs] if inputs else list(inner.own.values())
    fetches = [_tensor_name(name) for name in outputs] if outputs else list(inner.outputs)
    specs = [Spec(_plain(name), _spec(inner.graph, feed)) for name, feed in zip(names, feeds, strict=True)]
    _check_fed(inner.graph, [*feeds, *inner.captured], fetches)
    graph_def = inner.graph.as_graph_def()

    def call(*tensors: Any) -> list[Any]:
        graph = tf.compat.v1.get_default_graph()
        weights = {name: graph.capture(tensor) for name, tensor in inner.captured.items()}
        fed = {**weights, **dict(zip(feeds, tensors, strict=True))}
        found: list[Any] = tf.graph_util.import_graph_def(graph_def, input_map=fed, return_elements=fetches, name="")
        return found

    return capture(call, specs, border=border, output_names=[_plain(name) for name in fetches], held=held)


@dataclass(frozen=True)
class _Inner:
    """A graph, and which of its tensors are the inputs by name, the captured ones, and the outputs."""

    graph: Any
    own: Mapping[str, str]
    captured: Mapping[str, Any]
    outputs: Sequence[str]


def _innermost(function: Any) -> _Inner:
    """The graph in which the model's operations stand: saved functions only call one that calls another."""
    graph, captured = function.graph, function.captured_inputs
    split = len(graph.inputs) - len(captured)
    own = {_plain(tensor.name): tensor.name for tensor in graph.inputs[:split]}
    taken = {tensor.name: held for tensor, held in zip(graph.inputs[split:], captured, strict=True)}
    found = _Inner(graph, own, taken, [tensor.name for tensor in graph.outputs])
    library = FunctionLibrary()
    while (call := _only_call(found)) is not None:
        body = library.body(found.graph, call.get_attr("f").name, [tensor.shape for tensor in call.inputs])
        inside = {outer.name: inner.name for outer, inner in zip(call.inputs, body.inputs, strict=True)}
        made = {outer.name: inner.name for outer, inner in zip(call.outputs, body.outputs, strict=True)}
        found = _Inner(
            body,
            {name: inside[tensor] for name, tensor in found.own.items() if tensor in inside},
            {inside[tensor]: held for tensor, held in found.captured.items() if tensor in inside},
            [made[_made_by(found.graph.get_tensor_by_name(name)).name] for name in found.outputs],
        )
    return found


def _only_call(inner: _Inner) -> Any:
    """The call that makes all outputs of a graph from nothing but its inputs, if there is one."""
    makers = {_made_by(inner.graph.get_tensor_by_name(name)).op for name in inner.outputs}
    given = {*inner.own.values(), *inner.captured}
    if len(makers) != 1:
        return None
    maker = makers.pop()
    plain = all(tensor.name in given for tensor in maker.inputs) and len(
        {tensor.name for tensor in maker.inputs}
    ) == len(maker.inputs)
    return maker if maker.type in ("PartitionedCall", "StatefulPartitionedCall") and plain else None


def _made_by(tensor: Any) -> Any:
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor


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
            f"the outputs also depend on {', '.join(sorted(missing))}, which is not among them",
            where="inputs",
            remedy="name all that the outputs depend on",
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
        raise UsageError(f"the graph has no tensor {name!r}", remedy=f"name one of its operations: {some}") from error
    return tf.TensorSpec(tensor.shape, tensor.dtype)
