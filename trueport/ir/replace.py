"""Replacing a value, or a node, of a graph: names, aliases and origins are kept.

Reports, `fetch` and the artifact map find a value by the name that the source has for it. A pass that rewires users
by hand forgets one of these names sooner or later; every pass calls :func:`replace_value` instead.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import onnx_ir as ir

from trueport.ir.layouts import LAYOUT, add_alias, held_names, identity
from trueport.ir.provenance import inherit

__all__ = ["can_take_name", "remove_node", "replace_node", "replace_value"]


def replace_value(
    old: ir.Value, new: ir.Value, *, keep_name: bool = False, except_in: Collection[ir.Node] = ()
) -> None:
    """Let a value take another's place: at its users, in this graph and in the graphs inside it, and its aliases.

    By default the new value also takes the old one's name, its metadata and its place among the graph's outputs.
    With ``keep_name`` it is a value with a name of its own: the old name becomes one of its aliases, and a graph's
    output stays the old value. Nodes in ``except_in`` go on using the old value, which is without a name afterwards
    if its name was taken.
    """
    if new.type is None:
        new.type = old.type
    if new.shape is None:
        new.shape = old.shape
    names = held_names(old)
    if keep_name and old.name and not old.is_graph_output():
        names = {old.name: identity(new.shape.rank() if new.shape is not None else 0), **names}
    for alias, perm in names.items():
        add_alias(new, alias, perm)
    if not keep_name:
        new.metadata_props.update({key: text for key, text in old.metadata_props.items() if key != LAYOUT})
        _take_name(old, new)
    for user, index in tuple(old.uses()):
        if user not in except_in:
            user.replace_input_with(index, new)


def _take_name(old: ir.Value, new: ir.Value) -> None:
    name = old.name
    if name and old.is_initializer():
        assert old.graph is not None
        old.graph.initializers.pop(name)
    if name:
        old.name = None
        new.name = name
    graph = old.graph if old.is_graph_output() else None
    for place, value in enumerate(graph.outputs if graph is not None else ()):
        if graph is not None and value is old:
            graph.outputs[place] = new


def can_take_name(old: ir.Value, new: ir.Value) -> bool:
    """True if a value of the graph may be renamed to stand for another: it is made here, and no output itself."""
    return new.producer() is not None and not new.is_graph_output() and new.graph is old.graph


def replace_node(
    node: ir.Node,
    results: Sequence[ir.Value | None],
    made: Sequence[ir.Node] = (),
    *,
    origins: Sequence[ir.Node] = (),
    by: str = "",
) -> None:
    """Remove a node whose outputs are made by others; None stands for an output that nothing uses.

    Nodes in ``made`` are put before it; they come from the same source nodes as ``origins`` and the node itself, and
    ``by`` names the pass that made them. Without them the results are there already.
    """
    if made:
        assert node.graph is not None
        inherit(made, *origins, node, by=by)
        node.graph.insert_before(node, made)
    for old, new in zip(node.outputs, results, strict=False):
        if new is not None:
            replace_value(old, new)
    remove_node(node)


def remove_node(node: ir.Node) -> None:
    """Take a node that nothing uses any more out of its graph."""
    assert node.graph is not None
    node.graph.remove(node, safe=True)
