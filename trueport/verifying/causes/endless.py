"""Changed nodes that an evaluation would not come back from: trees whose branches lead back, loops without an end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.mapping.bind import attribute_value

__all__ = ["has_endless_tree", "with_an_end"]

_STEPS = 1000
"""Steps of a loop without a trip count: a longer one is none that a hypothesis explains."""


def with_an_end(node: ir.Node, inputs: Sequence[Any]) -> list[Any]:
    """Return the inputs, with a trip count for a loop that has none."""
    given = list(inputs)
    if node.op_type == "Loop" and not node.domain and given and given[0] is None:
        given[0] = np.asarray(_STEPS, np.int64)
    return given


def has_endless_tree(node: ir.Node) -> bool:
    """True if a node of a decision tree leads to nothing, or back to itself."""
    has = {name: attribute_value(attr) for name, attr in node.attributes.items() if name.startswith("nodes_")}
    try:
        children = _children(has)
    except (KeyError, IndexError, ValueError):
        return True
    waiting = {place: len(after) for place, after in children.items()}
    before: dict[int, list[int]] = {place: [] for place in children}
    for place, after in children.items():
        for child in after:
            before[child].append(place)
    ready = [place for place, count in waiting.items() if not count]
    for place in ready:
        for parent in before[place]:
            waiting[parent] -= 1
            if not waiting[parent]:
                ready.append(parent)
    return len(ready) < len(children)


def _children(has: Mapping[str, Any]) -> dict[int, list[int]]:
    """Positions that each branch leads to; a leaf leads nowhere. Raises for one that is not there."""
    if "nodes_truenodeids" not in has:
        return {}
    yes, no = has["nodes_truenodeids"], has["nodes_falsenodeids"]
    if "nodes_trueleafs" in has:
        leaves = zip(has["nodes_trueleafs"], has["nodes_falseleafs"], strict=True)
        pairs = [(y, n, first, second) for y, n, (first, second) in zip(yes, no, leaves, strict=True)]
        found = {at: [c for c, leaf in ((y, a), (n, b)) if not leaf] for at, (y, n, a, b) in enumerate(pairs)}
        if any(not 0 <= child < len(pairs) for after in found.values() for child in after):
            raise IndexError
        return found
    trees, modes = has["nodes_treeids"], has["nodes_modes"]
    places = {key: at for at, key in enumerate(zip(trees, has["nodes_nodeids"], strict=True))}
    return {
        at: [] if mode == "LEAF" else [places[tree, y], places[tree, n]]
        for at, (tree, mode, y, n) in enumerate(zip(trees, modes, yes, no, strict=True))
    }
