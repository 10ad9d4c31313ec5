"""Nodes that nothing uses go, and with them what only their own graphs used."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes.common import RemoveUnusedNodesPass

__all__ = ["discard", "prune", "prune_graph"]


def prune(model: ir.Model) -> None:
    """Remove unused nodes, outputs and initializers, in place."""
    prune_graph(model.graph)
    RemoveUnusedNodesPass()(model)


def discard(graph: ir.Graph) -> None:
    """Empty the graph of a node that goes: the values around it are used no more."""
    graph.outputs.clear()
    prune_graph(graph)


def prune_graph(graph: ir.Graph) -> None:
    """Remove unused nodes of one graph and of those in it."""
    for node in reversed(list(graph)):
        graphs = [a.as_graph() for a in node.attributes.values() if a.type == ir.AttributeType.GRAPH]
        if any(value.uses() or value.is_graph_output() for value in node.outputs):
            for inner in graphs:
                prune_graph(inner)
        else:
            for inner in graphs:
                discard(inner)
            graph.remove(node, safe=True)
