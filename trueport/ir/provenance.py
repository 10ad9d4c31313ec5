"""Where a node comes from and who made it, kept in its metadata through every pass."""

from __future__ import annotations

import re
from collections.abc import Iterable

import onnx_ir as ir

__all__ = [
    "LOCATION",
    "MADE_BY",
    "NOT_FOLDED",
    "ORIGIN",
    "inherit",
    "location",
    "mark_origins",
    "origins",
    "plain_metadata",
    "set_origins",
]

ORIGIN = "trueport.origin"
MADE_BY = "trueport.made_by"
LOCATION = "trueport.location"
"""The layer or the line of the program that a node comes from."""
NOT_FOLDED = "trueport.not_folded"
"""Of a node on constants that stays in the graph: what was raised when it was computed."""

_TORCH_TRACE = "pkg.torch.onnx.stack_trace"
_FRAMES = re.compile(r'File "([^"]+)", line (\d+)|^(\S+\.py)\((\d+)\):', re.MULTILINE)
"""A Python traceback, and the form that PyTorch's older exporter writes into doc strings."""
_LIBRARIES = re.compile(r"[/\\](torch|torchvision|transformers|keras|tensorflow|onnxscript)[/\\]")


def mark_origins(graph: ir.Graph) -> None:
    """Give every node of a freshly loaded graph its own name as its origin."""
    for node in graph.all_nodes():
        made = next((value.name for value in node.outputs if value.name), "")
        node.metadata_props.setdefault(ORIGIN, node.name or made)
        if found := _traced(node):
            node.metadata_props.setdefault(LOCATION, found)


def origins(node: ir.Node) -> tuple[str, ...]:
    """The source nodes a node goes back to."""
    return tuple(filter(None, node.metadata_props.get(ORIGIN, "").split("\n")))


def location(node: ir.Node) -> str:
    """The layer or line that a node comes from, as the source recorded it; empty where it did not."""
    return node.metadata_props.get(LOCATION, "")


def _traced(node: ir.Node) -> str:
    """The innermost line of the user's own program in the trace that an exporter left at a node."""
    trace = node.metadata_props.get(_TORCH_TRACE, "")
    # A traceback ends with its innermost frame; a doc string begins with it.
    frames = _FRAMES.findall(trace)[::-1] or _FRAMES.findall(node.doc_string or "")
    places = [(file or plain, line or number) for file, line, plain, number in frames]
    own = [where for where in places if not _LIBRARIES.search(where[0])] or places
    return ":".join(own[0]) if own else ""


def inherit(made: Iterable[ir.Node], *old: ir.Node, by: str) -> None:
    """New nodes go back to what the old ones went back to; ``by`` names the pass."""
    at = next(filter(None, map(location, old)), "")
    for node in made:
        set_origins(node, *old)
        if at:
            node.metadata_props[LOCATION] = at
        node.metadata_props[MADE_BY] = by
        if not node.name and old:
            node.name = old[0].name


def set_origins(node: ir.Node, *sources: ir.Node) -> None:
    """Let a node go back to what several nodes go back to, in their order."""
    node.metadata_props[ORIGIN] = "\n".join(dict.fromkeys(name for source in sources for name in origins(source)))


def plain_metadata(graph: ir.Graph) -> None:
    """Drop empty entries, which say nothing and only make a file larger."""
    for node in graph.all_nodes():
        for key in [key for key, value in node.metadata_props.items() if not value]:
            del node.metadata_props[key]
