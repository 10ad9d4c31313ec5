"""A TensorFlow graph as plain data; it is handed in, so TensorFlow is not imported here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import onnx_ir as ir

from trueport.ir.artifact import InnerValue
from trueport.ir.layouts import source_names
from trueport.ir.ports import Port
from trueport.ir.provenance import origins
from trueport.report.graphs import Graph, GraphNode, GraphValue

__all__ = ["owners", "tensorflow_graph"]

_CONSTANTS = ("Const", "VarHandleOp", "ReadVariableOp", "Placeholder")
"""Shown with the operations that read them, not as nodes of their own."""
_HIDDEN = ("T", "Tidx", "Tindices", "Tparams", "Tshape", "Tperm", "Tpaddings", "dtype", "DstT", "SrcT", "N")
"""Attributes that repeat what the tensors' types and counts say."""
_LONGEST = 80


def tensorflow_graph(
    graph: Any, outputs: Sequence[Port] = (), came_from: Mapping[str, tuple[str, ...]] | None = None
) -> Graph:
    """A FuncGraph whose outputs are called as ``outputs`` say.

    ``came_from``: source nodes by outermost name scope, where the graph was made from a source.
    """
    operations = graph.get_operations()
    constants = [operation for operation in operations if operation.type in _CONSTANTS]
    fed = {tensor.name for tensor in graph.inputs if tensor.dtype.name != "resource"}
    return Graph(
        "TensorFlow",
        tuple(_node(operation, came_from or {}) for operation in operations if _shown(operation)),
        tuple(_value(tensor) for tensor in graph.inputs if tensor.name in fed),
        tuple(_name(tensor) for tensor in graph.outputs),
        _output_names(graph, outputs),
        tuple(_value(t) for op in constants for t in op.outputs if t.name not in fed and t.dtype.name != "resource"),
    )


def _output_names(graph: Any, ports: Sequence[Port]) -> tuple[str, ...]:
    """In the order of the graph's outputs; of a part of a port that is no single tensor, the part's own name."""
    named = {part: port.name if port.kind == "tensor" else part for port in ports for part in port.parts}
    made = graph.structured_outputs
    if not isinstance(made, dict) or set(made) != set(named):
        return ()
    by_tensor = {tensor.name: named[part] for part, tensor in made.items()}
    return tuple(by_tensor.get(tensor.name, _name(tensor)) for tensor in graph.outputs)


def _shown(operation: Any) -> bool:
    return operation.type not in _CONSTANTS and operation.type != "NoOp"


def _node(operation: Any, came_from: Mapping[str, tuple[str, ...]]) -> GraphNode:
    scope, _, _ = operation.name.rpartition("/")
    attributes = {
        name: _short(value)
        for name, value in operation.node_def.attr.items()
        if name not in _HIDDEN and not name.startswith("_")
    }
    return GraphNode(
        operation.name,
        operation.type,
        scope,
        attributes,
        tuple(_name(tensor) for tensor in operation.inputs),
        tuple(_value(tensor) for tensor in operation.outputs),
        came_from.get(operation.name.split("/")[0], ()),
    )


def _name(tensor: Any) -> str:
    return str(tensor.name).removesuffix(":0")


def _value(tensor: Any) -> GraphValue:
    shape = None if tensor.shape.rank is None else tuple(tensor.shape.as_list())
    return GraphValue(_name(tensor), str(tensor.dtype.name), shape)


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
