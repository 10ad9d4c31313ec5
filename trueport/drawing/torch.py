"""A captured PyTorch program as plain data; it is handed in, so PyTorch is not imported here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from trueport.drawing.graph import Graph, GraphNode, GraphValue

__all__ = ["torch_graph"]

_LONGEST = 80


def torch_graph(program: Any, line_of: Callable[[str], str], outputs: Sequence[str] = ()) -> Graph:
    """An ExportedProgram, its nodes under the paths of the modules that they ran in, with the lines of code."""
    signature = program.graph_signature
    nodes = list(program.graph.nodes)
    given = set(signature.user_inputs)
    held = [node for node in nodes if node.op == "placeholder" and node.name not in given]
    made = [node for node in nodes if node.op == "call_function"]
    return Graph(
        "PyTorch",
        tuple(_node(node, line_of) for node in made),
        tuple(_value(node) for node in nodes if node.op == "placeholder" and node.name in given),
        tuple(str(name) for name in signature.user_outputs),
        tuple(outputs) if len(outputs) == len(signature.user_outputs) else (),
        tuple(_value(node) for node in held),
        producer="torch.export",
    )


def _node(node: Any, line_of: Callable[[str], str]) -> GraphNode:
    plain = {str(index): value for index, value in enumerate(node.args) if not list(_names(value))}
    attributes = {**plain, **{name: value for name, value in node.kwargs.items() if not list(_names(value))}}
    return GraphNode(
        node.name,
        _operator(node.target),
        _scope(node),
        {name: str(value)[:_LONGEST] for name, value in attributes.items()},
        tuple(name for value in (*node.args, *node.kwargs.values()) for name in _names(value)),
        (_value(node),),
        place=line_of(node.meta.get("stack_trace") or ""),
    )


def _operator(target: Any) -> str:
    return str(target).removesuffix(".default") if "::" not in str(target) else str(target)


def _scope(node: Any) -> str:
    stack = node.meta.get("nn_module_stack") or {}
    paths = [path for path, _ in stack.values() if path]
    return str(paths[-1]).replace(".", "/") if paths else ""


def _names(value: Any) -> Iterator[str]:
    """Values that an argument holds, also inside of lists."""
    if hasattr(value, "op") and hasattr(value, "target"):
        yield value.name
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _names(item)


def _value(node: Any) -> GraphValue:
    found = node.meta.get("val")
    if not hasattr(found, "shape"):
        return GraphValue(node.name)
    dims = tuple(size if isinstance(size, int) else str(size) for size in found.shape)
    return GraphValue(node.name, str(found.dtype).removeprefix("torch."), dims)
