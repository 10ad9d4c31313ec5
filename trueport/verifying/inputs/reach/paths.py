"""Which values of a graph depend on its inputs' numbers, and which of them without any rounding on the way."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import onnx_ir as ir

from trueport.operators.record import Kind, Trait, Widening
from trueport.operators.table import facts_of

__all__ = ["Paths", "nodes_of"]

_SELECTS = (Kind.ELEMENTWISE, Kind.MOVEMENT, Kind.POOLING, Kind.REDUCTION)
"""Operators of these kinds that do not round return numbers that they were given, or integers."""


class Paths:
    """Of the values of a graph and of the graphs inside it."""

    def __init__(self, graph: ir.Graph, bounded: Collection[str] = ()) -> None:
        """``bounded``: inputs that are indices, lengths or parameters, which not every number can be."""
        self.depends: set[ir.Value] = set()
        """values that the inputs' numbers decide, not only their sizes"""
        self.exact: set[ir.Value] = set()
        """those among them that are made without rounding"""
        self.free: set[ir.Value] = set()
        """those among them that are not made of bounded inputs"""
        for value in graph.inputs:
            if value.name not in graph.initializers:
                self.depends.add(value)
                self.exact.add(value)
                if value.name not in bounded:
                    self.free.add(value)
        for node in nodes_of(graph):
            self._look(node)

    def _look(self, node: ir.Node) -> None:
        operator = facts_of(node)
        used = [value for value in _reads(node) if value in self.depends]
        if operator.kind is Kind.SHAPE or not used:
            return
        exact = operator.kind in _SELECTS and (operator.error is None or operator.widening is Widening.TYPE)
        moves = operator.has(Trait.MOVES_FIRST) or operator.has(Trait.SAME_NUMBERS) or exact
        integers = all(value.dtype is not None and value.dtype.is_integer() for value in node.outputs)
        for value in node.outputs:
            self.depends.add(value)
            if (moves or integers) and all(value in self.exact for value in used):
                self.exact.add(value)
            if all(value in self.free for value in used):
                self.free.add(value)
        for graph in node.attributes.values():
            if graph.type == ir.AttributeType.GRAPH:
                self._body(node, graph.as_graph())

    def _body(self, node: ir.Node, graph: ir.Graph) -> None:
        """What a loop or scan hands its body depends on what it was given."""
        self.depends.update(graph.inputs)


def nodes_of(graph: ir.Graph) -> Iterator[ir.Node]:
    """Yield all nodes, those of a node's graphs after the node."""
    for node in graph:
        yield node
        for attribute in node.attributes.values():
            if attribute.type == ir.AttributeType.GRAPH:
                yield from nodes_of(attribute.as_graph())


def _reads(node: ir.Node) -> Iterator[ir.Value]:
    yield from (value for value in node.inputs if value is not None)
    for attribute in node.attributes.values():
        if attribute.type == ir.AttributeType.GRAPH:
            yield from (
                value for inner in attribute.as_graph().all_nodes() for value in inner.inputs if value is not None
            )
