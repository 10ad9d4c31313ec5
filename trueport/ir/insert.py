"""Building nodes in the midst of a graph that is there already."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir

from trueport.ir.build import Builder
from trueport.ir.provenance import ORIGIN

__all__ = ["Inserter", "Workshop"]


class Workshop(Builder):
    """Knows all names of a model; appends nowhere itself, but lends names and constants to inserters."""

    def __init__(self, model: ir.Model) -> None:
        super().__init__(model.graph)
        self._names.update(_names(model))


class Inserter(Builder):
    """Puts nodes before a node; they go back to what that node goes back to."""

    def __init__(self, shop: Builder, node: ir.Node) -> None:
        assert node.graph is not None and not isinstance(node.graph, ir.Function)
        super().__init__(node.graph, shop)
        self.node = node
        self.made: list[ir.Node] = []
        origin = node.metadata_props.get(ORIGIN)
        self.metadata = {ORIGIN: origin} if origin else {}

    def _place(self, node: ir.Node) -> None:
        self.graph.insert_before(self.node, node)
        self.made.append(node)


def _names(model: ir.Model) -> Iterator[str]:
    for graph in model.graphs():
        yield from (value.name or "" for value in graph.inputs)
        yield from graph.initializers
        for node in graph:
            yield node.name or ""
            yield from (value.name or "" for value in node.outputs)
