"""Model-local functions: how many nodes a model has once they are inlined.

Functions that call each other twice each double that number with every step: a small file stands for more nodes
than fit into memory, and onnx, ONNX Runtime and the passes here all inline.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter

import onnx

from trueport.errors import InvalidModel

__all__ = ["check_functions"]

_NODES = 1_000_000

Key = tuple[str, str, str]


def check_functions(proto: onnx.ModelProto, where: str) -> None:
    """Refuse a model whose functions call themselves, or stand for more than a million nodes."""
    functions = {_key(f.domain, f.name, f.overload): f for f in proto.functions}
    if not functions:
        return
    sizes: dict[Key, int] = {}
    for key in _callees_first(functions, where):
        sizes[key] = _size(functions[key].node, sizes)
    if (nodes := _size(proto.graph.node, sizes)) > _NODES:
        raise InvalidModel(
            f"its functions stand for {nodes if nodes < 10**12 else 'more than 10**12'} nodes",
            where=where,
            remedy="export the model without functions",
        )


def _key(domain: str, name: str, overload: str) -> Key:
    return ("" if domain == "ai.onnx" else domain, name, overload)


def _size(nodes: Iterable[onnx.NodeProto], sizes: dict[Key, int]) -> int:
    return sum(sizes.get(_key(node.domain, node.op_type, node.overload), 1) for node in _all(nodes))


def _all(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Yield nodes, with those of their subgraphs."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from _all(graph.node)


def _callees_first(functions: dict[Key, onnx.FunctionProto], where: str) -> list[Key]:
    """Return all functions, each behind those that it calls."""
    calls = {
        key: {_key(n.domain, n.op_type, n.overload) for n in _all(function.node)} & set(functions)
        for key, function in functions.items()
    }
    try:
        return list(TopologicalSorter(calls).static_order())
    except CycleError as error:
        raise InvalidModel(
            f"its function {error.args[1][0][1]!r} calls itself",
            where=where,
            remedy="a loop is a Loop operator; functions are inlined",
        ) from error
