"""Where a node comes from and who made it, kept in its metadata through every pass."""

from __future__ import annotations

from collections.abc import Iterable

import onnx_ir as ir

__all__ = ["MADE_BY", "ORIGIN", "inherit", "mark_origins", "origins", "plain_metadata"]

ORIGIN = "trueport.origin"
MADE_BY = "trueport.made_by"


def mark_origins(graph: ir.Graph) -> None:
    """Give every node of a freshly loaded graph its own name as its origin."""
    for node in graph.all_nodes():
        made = next((value.name for value in node.outputs if value.name), "")
        node.metadata_props.setdefault(ORIGIN, node.name or made)


def origins(node: ir.Node) -> tuple[str, ...]:
    """The source nodes a node goes back to."""
    return tuple(filter(None, node.metadata_props.get(ORIGIN, "").split("\n")))


def inherit(made: Iterable[ir.Node], *old: ir.Node, by: str) -> None:
    """New nodes go back to what the old ones went back to; ``by`` names the pass."""
    came_from = "\n".join(dict.fromkeys(name for node in old for name in origins(node)))
    for node in made:
        node.metadata_props[ORIGIN] = came_from
        node.metadata_props[MADE_BY] = by
        if not node.name and old:
            node.name = old[0].name


def plain_metadata(graph: ir.Graph) -> None:
    """Drop empty entries, which say nothing and only make a file larger."""
    for node in graph.all_nodes():
        for key in [key for key, value in node.metadata_props.items() if not value]:
            del node.metadata_props[key]
