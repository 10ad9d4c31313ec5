"""A TensorFlow graph as plain data, and its constants."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.drawing.graph import Graph, GraphNode, GraphValue
from trueport.ir.artifact import ArtifactMap, InnerValue
from trueport.ir.layouts import source_names
from trueport.ir.ports import Port
from trueport.ir.provenance import origins
from trueport.lazy import LazyModule
from trueport.runtimes.tensorflow_functions import FunctionLibrary

__all__ = ["holders", "owners", "tensorflow_constants", "tensorflow_graph"]

tf: Any = LazyModule("tensorflow", "TensorFlow", "tensorflow")

_CONSTANTS = ("Const", "VarHandleOp", "ReadVariableOp", "Placeholder")
"""Shown with the operations that read them, not as nodes of their own."""
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
_HIDDEN = ("T", "Tidx", "Tindices", "Tparams", "Tshape", "Tperm", "Tpaddings", "dtype", "DstT", "SrcT", "N")
"""Attributes that repeat what the tensors' types and counts say."""
_LONGEST = 80


def tensorflow_graph(
    graph: Any,
    outputs: Sequence[Port] = (),
    came_from: Mapping[str, tuple[str, ...]] | None = None,
    holds: Mapping[str, tuple[str, ...]] | None = None,
) -> Graph:
    """A FuncGraph whose outputs are called as ``outputs`` say; functions that it calls are written out.

    Where it was made from a source, ``came_from`` are the source's nodes by outermost name scope, and ``holds`` those
    by the operation whose tensor holds what they make.
    """
    drawing = _Drawing(came_from or {}, holds or {})
    drawing.draw(graph, _given(graph))
    fed = [tensor for tensor in graph.inputs if tensor.dtype.name != "resource"]
    return Graph(
        "TensorFlow",
        tuple(drawing.nodes),
        tuple(_value(tensor, _name(tensor)) for tensor in fed),
        tuple(drawing.names[tensor.name] for tensor in graph.outputs),
        _output_names(graph, outputs),
        tuple(drawing.constants.values()),
    )


def tensorflow_constants(graph: Any) -> dict[str, Callable[[], np.ndarray]]:
    """The constants of a graph under the names they are drawn with, each read when it is called for."""
    drawing = _Drawing({}, {})
    drawing.draw(graph, _given(graph))
    values = {inner.name: outer for outer, inner in graph.captures}
    variables = {_name(tensor): variable for tensor, variable in _variables(graph)}
    found: dict[str, Callable[[], np.ndarray]] = dict(drawing.numbers)
    for tensor in graph.inputs:
        if tensor.name in values and tensor.dtype.name != "resource":
            found[_name(tensor)] = values[tensor.name].numpy
    return found | {variable.name.removesuffix(":0"): variable.numpy for variable in variables.values()}


def _given(graph: Any) -> dict[str, str]:
    """Names of a graph's inputs: a variable's own where it is one."""
    named = {tensor.name: str(variable.name).removesuffix(":0") for tensor, variable in _variables(graph)}
    return {tensor.name: named.get(tensor.name, _name(tensor)) for tensor in graph.inputs}


def _variables(graph: Any) -> list[tuple[Any, Any]]:
    """The inputs of a graph that stand for variables, with these; two of one name are not told apart by it."""
    held = {id(variable.handle): variable for variable in graph.variables}
    found = [(inner, held[id(outer)]) for outer, inner in graph.captures if id(outer) in held]
    names = Counter(variable.name for _, variable in found)
    return [(inner, variable) for inner, variable in found if names[variable.name] == 1]


class _Drawing:
    """Nodes of a graph and of the functions it calls, in the order of making."""

    def __init__(self, came_from: Mapping[str, tuple[str, ...]], holds: Mapping[str, tuple[str, ...]]) -> None:
        self.nodes: list[GraphNode] = []
        self.constants: dict[str, GraphValue] = {}
        self.numbers: dict[str, Callable[[], np.ndarray]] = {}
        """constants that stand in the graph itself"""
        self.names: dict[str, str] = {}
        """of the outermost graph: its tensors, and what they are called here"""
        self._came_from, self._holds = came_from, holds
        self._library = FunctionLibrary()

    def draw(self, graph: Any, given: Mapping[str, str], prefix: str = "") -> dict[str, str]:
        """Names of a graph's tensors here; ``given``: those of its inputs."""
        names = dict(given)
        for operation in graph.get_operations():
            if operation.type in _CALLS:
                names |= self._call(graph, operation, names, prefix)
                continue
            own = {tensor.name: prefix + _name(tensor) for tensor in operation.outputs if tensor.name not in names}
            names |= own
            if operation.type == "ReadVariableOp":
                # Every read of one variable is the same constant.
                names |= {tensor.name: names[operation.inputs[0].name] for tensor in operation.outputs}
            if operation.type in _CONSTANTS:
                self._keep(operation, names, given)
            elif operation.type != "NoOp":
                self.nodes.append(self._node(operation, names, prefix))
        self.names = names
        return names

    def _call(self, graph: Any, operation: Any, names: Mapping[str, str], prefix: str) -> dict[str, str]:
        body = self._library.body(graph, operation.node_def.attr["f"].func.name)
        given = {own.name: names[outer.name] for own, outer in zip(body.inputs, operation.inputs, strict=True)}
        made = self.draw(body, given, f"{prefix}{operation.name}/")
        return {outer.name: made[own.name] for outer, own in zip(operation.outputs, body.outputs, strict=True)}

    def _keep(self, operation: Any, names: Mapping[str, str], given: Mapping[str, str]) -> None:
        for tensor in operation.outputs:
            if tensor.name not in given and tensor.dtype.name != "resource":
                name = names[tensor.name]
                self.constants[name] = _value(tensor, name)
                if operation.type == "Const":
                    self.numbers[name] = partial(_array, operation)

    def _node(self, operation: Any, names: Mapping[str, str], prefix: str) -> GraphNode:
        scope, _, _ = operation.name.rpartition("/")
        attributes = {
            name: _short(value)
            for name, value in operation.node_def.attr.items()
            if name not in _HIDDEN and not name.startswith("_")
        }
        return GraphNode(
            prefix + operation.name,
            operation.type,
            scope,
            attributes,
            tuple(names[tensor.name] for tensor in operation.inputs),
            tuple(_value(tensor, names[tensor.name]) for tensor in operation.outputs),
            self._origins(operation.name),
        )

    def _origins(self, name: str) -> tuple[str, ...]:
        known = self._came_from.get(name.split("/")[0], ())
        return tuple(dict.fromkeys((*known, *self._holds.get(name, ()))))


def _output_names(graph: Any, ports: Sequence[Port]) -> tuple[str, ...]:
    """In the order of the graph's outputs; of a part of a port that is no single tensor, the part's own name."""
    named = {part: port.name if port.kind == "tensor" else part for port in ports for part in port.parts}
    made = graph.structured_outputs
    if not isinstance(made, dict) or set(made) != set(named):
        return ()
    by_tensor = {tensor.name: named[part] for part, tensor in made.items()}
    return tuple(by_tensor.get(tensor.name, _name(tensor)) for tensor in graph.outputs)


def _array(operation: Any) -> np.ndarray:
    array: np.ndarray = tf.make_ndarray(operation.node_def.attr["value"].tensor)
    return array


def _name(tensor: Any) -> str:
    return str(tensor.name).removesuffix(":0")


def _value(tensor: Any, name: str) -> GraphValue:
    shape = None if tensor.shape.rank is None else tuple(tensor.shape.as_list())
    return GraphValue(name, str(tensor.dtype.name), shape)


def _short(value: Any) -> str:
    """An AttrValue's content on one line."""
    kind = value.WhichOneof("value")
    if kind == "s":
        return str(value.s.decode(errors="replace"))[:_LONGEST]
    if kind == "func":
        return str(value.func.name)
    if kind in ("i", "f", "b"):
        return f"{getattr(value, kind):g}" if kind == "f" else str(getattr(value, kind))
    text = re.sub(r"\w+: ", "", " ".join(str(getattr(value, kind or "i")).split()))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def holders(stored: ArtifactMap) -> dict[str, tuple[str, ...]]:
    """Operations of a converted model, and the source's nodes whose results stand in their tensors.

    A node that only turns axes leaves no operation behind: it is known by the tensor that it became a name for.
    """
    found: dict[str, list[str]] = {}
    for node in stored.source.get("nodes", ()):
        for value in node["outputs"]:
            if value in stored.values:
                operation = stored.values[value].tensor.rpartition(":")[0]
                found.setdefault(operation, []).append(node["name"] or node["outputs"][0])
    return {operation: tuple(nodes) for operation, nodes in found.items()}


def owners(nodes: Iterable[ir.Node], held: Mapping[str, InnerValue]) -> dict[str, tuple[str, ...]]:
    """Outermost name scopes of a graph that was made of ``nodes``, and the source's nodes behind each.

    A scope bears its node's name, perhaps with a number added; which one, the tensor of the node's output says.
    """
    found: dict[str, tuple[str, ...]] = {}
    for node in nodes:
        plain = re.sub(r"[^A-Za-z0-9_.\-]", "_", node.name or node.op_type)
        stem = plain if plain[0].isalnum() else "n" + plain
        names = [name for value in node.outputs if value.name for name in source_names(value)]
        tensors = [held[name].tensor for name in (*names, *(v.name or "" for v in node.outputs)) if name in held]
        scopes = [tensor.split("/")[0] for tensor in tensors if "/" in tensor]
        fitting = [scope for scope in scopes if scope == stem or scope.startswith(f"{stem}_")]
        found.setdefault(fitting[0] if fitting else stem, origins(node))
    return found
