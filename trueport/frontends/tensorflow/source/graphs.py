"""Graphs without a signature: frozen GraphDefs, and functions that are cut at named tensors."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from trueport.errors import InvalidModel, UsageError
from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.source.capture import Border, Captured, Spec, capture
from trueport.frontends.tensorflow.source.tf1_flow import uses_tf1_flow
from trueport.frontends.tensorflow.source.tf1_replay import instantiate
from trueport.ir.files import check_regular
from trueport.ir.ports import natural_order
from trueport.quoting import one_line, plain_text
from trueport.runtimes.tensorflow_functions import FunctionLibrary

__all__ = [
    "cut_function",
    "flat_function",
    "graph_function",
    "holds_state",
    "read_graph_def",
    "replayed",
]


def read_graph_def(path: Path) -> Any:
    """A GraphDef, binary or as text (``tf.io.write_graph`` writes text unless it is told not to)."""
    check_regular(path)
    content = path.read_bytes()
    graph_def = tf.compat.v1.GraphDef()
    try:
        graph_def.ParseFromString(content)
    except Exception as error:  # protobuf's error type differs between its implementations
        graph_def = _parsed_text(content)
        if graph_def is None:
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


def _parsed_text(content: bytes) -> Any:
    """A GraphDef written as text; None for anything else."""
    text_format = importlib.import_module("google.protobuf.text_format")
    try:
        return text_format.Parse(content.decode(), tf.compat.v1.GraphDef())
    except (UnicodeDecodeError, text_format.ParseError):
        return None


def graph_function(
    graph_def: Any, inputs: Sequence[str] | None, outputs: Sequence[str] | None, border: Border
) -> Captured:
    """A GraphDef between named tensors; its placeholders are the inputs when none are named.

    When no outputs are named, they are all tensors that no operation takes.
    """
    graph = _imported(graph_def)
    fetches = [_tensor_name(name) for name in outputs or _results(graph)]
    feeds = [_tensor_name(name) for name in inputs or _placeholders(graph, fetches if outputs is None else None)]
    specs = _specs(graph, [_plain(name) for name in feeds], feeds)
    _check_fed(graph, feeds, fetches)
    _refuse_variables(graph, feeds, fetches)

    def call(*tensors: Any) -> list[Any]:
        return instantiate(graph, dict(zip(feeds, tensors, strict=True)), fetches)

    return capture(call, specs, border=border, output_names=[_plain(name) for name in fetches], held=graph)


def _imported(graph_def: Any) -> Any:
    graph = tf.Graph()
    try:
        with graph.as_default():
            tf.graph_util.import_graph_def(without_references(graph_def), name="")
    except (TypeError, ValueError, tf.errors.OpError) as error:
        raise InvalidModel(
            f"TensorFlow can't read the graph: {one_line(error, 200)}",
            remedy="write it again with tf.io.write_graph(graph, folder, name, as_text=False)",
        ) from error
    return graph


def without_references(graph_def: Any) -> Any:
    """The graph with control flow on values where it has that on references, whose variables are frozen."""
    kinds = {node.name: node.op for node in graph_def.node}
    if set(kinds.values()) & _VARIABLES or not any(kind in _ON_REFERENCES for kind in kinds.values()):
        return graph_def
    copied = tf.compat.v1.GraphDef()
    copied.CopyFrom(graph_def)
    for node in copied.node:
        if node.op in _ON_REFERENCES:
            node.op = node.op.removeprefix("Ref")
    return copied


_ON_REFERENCES = frozenset(f"Ref{kind}" for kind in ("Switch", "Merge", "Enter", "Exit", "NextIteration", "Identity"))
_NO_RESULTS = frozenset(("Const", "Placeholder", "PlaceholderWithDefault", "NoOp", "VarHandleOp", "LoopCond"))


def _results(graph: Any) -> list[str]:
    """Tensors of numbers or strings that no operation takes, in the order of the graph."""
    found = [
        operation.outputs[0].name
        for operation in graph.get_operations()
        if operation.outputs
        and operation.type not in _NO_RESULTS
        and not any(tensor.consumers() for tensor in operation.outputs)
        and not operation._control_outputs
        and operation.outputs[0].dtype.name not in ("resource", "variant")
    ]
    if not found:
        raise UsageError(
            "a GraphDef does not say which tensors are its outputs, and in this one each is taken by an operation",
            remedy="name the outputs: --outputs y:0",
        )
    return found


def _placeholders(graph: Any, fetches: Sequence[str] | None) -> list[str]:
    """Placeholders; where the outputs are ``fetches``, those that they depend on."""
    kept = {f"{operation.name}:0" for operation in graph.get_operations() if operation.type == "Placeholder"}
    if fetches is not None:
        kept &= {tensor.name for tensor in _ancestors(graph, fetches, ())}
    return [f"{op.name}:0" for op in graph.get_operations() if f"{op.name}:0" in kept]


def _refuse_variables(graph: Any, feeds: Sequence[str], fetches: Sequence[str]) -> None:
    """A GraphDef holds no values of variables."""
    reached = {tensor.op for tensor in _ancestors(graph, fetches, feeds) if tensor.name not in feeds}
    held = sorted(op.name for op in reached if op.type in _VARIABLES | {"VarHandleOp"})
    if held:
        raise InvalidModel(
            f"does not hold the values of the variables that it reads: {', '.join(held[:5])}{', …' * (len(held) > 5)}",
            where="the GraphDef",
            remedy="freeze it: tf.compat.v1.graph_util.convert_variables_to_constants(session, graph_def, outputs); "
            "or convert the SavedModel",
        )


_VARIABLES = frozenset(("Variable", "VariableV2"))
_TABLES = frozenset(("HashTable", "HashTableV2", "MutableHashTable", "MutableHashTableV2", "MutableDenseHashTableV2"))


def holds_state(function: Any) -> bool:
    """Whether variables or tables stand in the graph itself, as TensorFlow 1 has them, not as captured handles."""
    return any(_is_state(operation) for operation in function.graph.get_operations())


def flat_function(function: Any, owner: Any, border: Border) -> Captured:
    """A function by its graph: one without a signature, or whose graph holds variables, tables or TensorFlow 1's loops.

    Variables and tables that stand in the graph itself are taken out with what they hold.
    """
    graph, captured = function.graph, function.captured_inputs
    own = [tensor.name for tensor in graph.inputs[: len(graph.inputs) - len(captured)]]
    taken = [tensor.name for tensor in graph.inputs[len(own) :]]
    state = _states(graph, owner)
    names = list(function._arg_keywords or ())
    names = names if len(names) == len(own) else [_plain(name) for name in own]
    specs = _specs(graph, names, own)
    fetches = [tensor.name for tensor in function.outputs]

    def call(*tensors: Any) -> Any:
        weights = [tf.compat.v1.get_default_graph().capture(tensor) for tensor in captured]
        fed = {**dict(zip(own, tensors, strict=True)), **dict(zip(taken, weights, strict=True)), **_read_states(state)}
        return _structured(function.structured_outputs, instantiate(graph, fed, fetches))

    output_names = [_plain(name) for name in fetches]
    return capture(call, specs, border=border, output_names=output_names, held=(function, owner, state))


def replayed(function: Any) -> Callable[..., Any]:
    """The function; where it has control flow of TensorFlow 1, its graph with that in its newer form."""
    if not uses_tf1_flow(function.graph, FunctionLibrary()):
        return cast(Callable[..., Any], function)
    graph, captured = function.graph, function.captured_inputs
    own = [tensor.name for tensor in graph.inputs[: len(graph.inputs) - len(captured)]]
    taken = [tensor.name for tensor in graph.inputs[len(own) :]]
    fetches = [tensor.name for tensor in function.outputs]

    def call(*positional: Any, **named: Any) -> Any:
        given = [leaf for leaf in tf.nest.flatten((positional, named), expand_composites=True) if tf.is_tensor(leaf)]
        order = list(function._arg_keywords or ())
        tensors = [named[name] for name in order] if named and len(order) == len(own) == len(named) else given
        weights = [tf.compat.v1.get_default_graph().capture(tensor) for tensor in captured]
        fed = {**dict(zip(own, tensors, strict=True)), **dict(zip(taken, weights, strict=True))}
        return _structured(function.structured_outputs, instantiate(graph, fed, fetches))

    return call


def _structured(structure: Any, tensors: Sequence[Any]) -> Any:
    """Tensors as a function returns them: sorted dicts by key; None where it returns an operation."""
    leaves = tf.nest.flatten(structure, expand_composites=True)
    remaining = iter(tensors)
    filled = [None if leaf is None else next(remaining, None) for leaf in leaves]
    if sum(leaf is not None for leaf in leaves) != len(tensors):
        return list(tensors)
    packed = tf.nest.pack_sequence_as(structure, filled, expand_composites=True)
    return {name: packed[name] for name in sorted(packed, key=natural_order)} if isinstance(packed, dict) else packed


def _states(graph: Any, owner: Any) -> dict[str, Any]:
    """Variables and tables in a graph, by the name of their tensor."""
    held = [operation for operation in graph.get_operations() if _is_state(operation)]
    return {f"{operation.name}:0": _state(operation, owner) for operation in held}


def _read_states(states: Mapping[str, Any]) -> dict[str, Any]:
    graph = tf.compat.v1.get_default_graph()
    return {
        name: value.read_value() if isinstance(value, tf.Variable) else graph.capture(value)
        for name, value in states.items()
    }


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
    specs = _specs(inner.graph, [_plain(name) for name in names], feeds)
    _check_fed(inner.graph, [*feeds, *inner.captured], fetches)
    state = _states(inner.graph, held if hasattr(held, "prune") else function)

    def call(*tensors: Any) -> list[Any]:
        graph = tf.compat.v1.get_default_graph()
        weights = {name: graph.capture(tensor) for name, tensor in inner.captured.items()}
        fed = {**weights, **_read_states(state), **dict(zip(feeds, tensors, strict=True))}
        return instantiate(inner.graph, fed, fetches)

    names = [_plain(name) for name in fetches]
    return capture(call, specs, border=border, output_names=names, held=(held, state))


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
    reached = [tensor for tensor in _ancestors(graph, fetches, feeds) if tensor.name not in feeds]
    missing = {tensor.op.name for tensor in reached if tensor.op.type == "Placeholder"}
    if missing:
        raise UsageError(
            f"the outputs also depend on {', '.join(sorted(missing))}, which is not among them",
            where="inputs",
            remedy="name all that the outputs depend on",
        )


def _ancestors(graph: Any, fetches: Sequence[str], feeds: Sequence[str]) -> list[Any]:
    """Tensors that ``fetches`` depend on, themselves included; nothing beyond ``feeds``."""
    waiting = [graph.get_tensor_by_name(name) for name in fetches]
    found = {tensor.name: tensor for tensor in waiting}
    while waiting:
        tensor = waiting.pop()
        fresh = [] if tensor.name in feeds else [t for t in tensor.op.inputs if t.name not in found]
        found.update({t.name: t for t in fresh})
        waiting += fresh
    return list(found.values())


def _tensor_name(name: str) -> str:
    return name if ":" in name else f"{name}:0"


def _plain(name: str) -> str:
    return name.removesuffix(":0")


def _specs(graph: Any, names: Sequence[str], feeds: Sequence[str]) -> list[Spec]:
    specs = [Spec(name, _spec(graph, feed)) for name, feed in zip(names, feeds, strict=True)]
    handles = [spec.name for spec in specs if spec.spec.dtype == tf.resource]
    if handles:
        raise InvalidModel(
            f"takes the handle of a variable or a table as an input ({', '.join(handles)}): freezing kept no contents",
            where="the graph",
            remedy="convert the function or the SavedModel that it was frozen from",
        )
    return specs


def _spec(graph: Any, name: str) -> Any:
    try:
        tensor = graph.get_tensor_by_name(name)
    except (KeyError, ValueError) as error:
        known = [operation.name for operation in graph.get_operations()]
        some = ", ".join(known[:10]) + (f", … ({len(known)} in all)" if len(known) > 10 else "")
        raise UsageError(f"the graph has no tensor {name!r}", remedy=f"name one of its operations: {some}") from error
    return tf.TensorSpec(tensor.shape, tensor.dtype)
