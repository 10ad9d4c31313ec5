"""Equal nodes are computed once: the same operator with the same inputs and attributes."""

from __future__ import annotations

from collections.abc import Hashable

import onnx_ir as ir

from trueport.ir.provenance import set_origins
from trueport.ir.replace import remove_node, replace_value
from trueport.operators.record import Randomness
from trueport.operators.table import facts_of

__all__ = ["merge_equal"]

_LISTS = frozenset({ir.AttributeType.FLOATS, ir.AttributeType.INTS, ir.AttributeType.STRINGS})
_SINGLE = frozenset({ir.AttributeType.FLOAT, ir.AttributeType.INT, ir.AttributeType.STRING})


def merge_equal(model: ir.Model) -> int:
    """Let the first of equal nodes of a graph stand for all, in place; how many went.

    Operators of other domains, of which nothing is known, and whatever makes a model's output stay. onnx_ir's own pass
    merges those too, forgets where nodes came from, and takes Bernoulli's draws for one.
    """
    return sum(_merge_in(graph) for graph in model.graphs())


def _merge_in(graph: ir.Graph) -> int:
    first: dict[Hashable, ir.Node] = {}
    gone = 0
    for node in list(graph):
        key = _key(node)
        kept = node if key is None else first.setdefault(key, node)
        if kept is not node and not any(value.is_graph_output() for value in node.outputs):
            _stand_for(kept, node)
            remove_node(node)
            gone += 1
    return gone


def _key(node: ir.Node) -> Hashable | None:
    """What equal nodes have in common; None for a node that is like no other."""
    if node.domain or facts_of(node).random is not Randomness.NEVER:  # each draws numbers of its own
        return None
    attributes = []
    for name, attribute in sorted(node.attributes.items()):
        if attribute.type in _LISTS:
            attributes.append((name, tuple(attribute.value)))
        elif attribute.type in _SINGLE:
            attributes.append((name, attribute.value))
        else:
            return None
    return node.op_type, tuple(map(id, node.inputs)), len(node.outputs), tuple(attributes)


def _stand_for(kept: ir.Node, node: ir.Node) -> None:
    """The kept node goes back to what both went back to, and its values are found by the other's names."""
    set_origins(kept, kept, node)
    for mine, value in zip(kept.outputs, node.outputs, strict=True):
        replace_value(value, mine, keep_name=True)
