"""Two models of one form compared as graphs: nodes added, removed, changed; weights that differ, and by how much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueport.drawing.graph import Graph, GraphNode, GraphValue

__all__ = ["Change", "Difference", "WeightChange", "Weights", "compare_models"]


Weights = Mapping[str, Callable[[], np.ndarray]]
"""The weights of a model by name, each read when it is called for."""


@dataclass(frozen=True)
class Change:
    """A node that both models have, and what of it differs: before and after, by what it is called."""

    node: str
    op: str
    what: Mapping[str, tuple[str, str]]


@dataclass(frozen=True)
class WeightChange:
    """A weight that both models have with other numbers, another shape or another type."""

    name: str
    before: str
    after: str
    differing: int | None = None
    """so many elements differ; None where shapes or types do"""
    elements: int = 0
    max_abs: float | None = None
    max_rel: float | None = None
    """over the largest magnitude of the first"""


@dataclass(frozen=True)
class Difference:
    """Everything that is not the same."""

    first: str
    second: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[Change, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    """nodes that do the same at the same place under another name"""
    border: tuple[str, ...] = ()
    weights: tuple[WeightChange, ...] = ()
    weights_added: tuple[str, ...] = ()
    weights_removed: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Nothing that computes differs; names may."""
        parts = (self.added, self.removed, self.changed, self.border, self.weights)
        return not any(parts) and not self.weights_added and not self.weights_removed

    def __str__(self) -> str:
        head = f"{self.first} and {self.second}: " + ("the same" if self.same else "different")
        return "\n".join([head, *(f"  {line}" for line in self._lines())])

    def _lines(self) -> Iterator[str]:
        yield from self.border
        yield from (f"- {node}" for node in self.removed)
        yield from (f"+ {node}" for node in self.added)
        for change in self.changed:
            for name, (before, after) in change.what.items():
                yield f"~ {change.op} {change.node!r}: {name} {before} → {after}"
        yield from (f"- weight {name}" for name in self.weights_removed)
        yield from (f"+ weight {name}" for name in self.weights_added)
        yield from (f"~ weight {weight.name}: {_words(weight)}" for weight in self.weights)
        if self.renamed:
            yield f"nodes that differ by name only: {len(self.renamed)}"


def _words(weight: WeightChange) -> str:
    if weight.differing is None:
        return f"{weight.before} → {weight.after}"
    how = "" if weight.max_abs is None else f", by at most {weight.max_abs:.3g}"
    relative = "" if weight.max_rel is None else f" ({weight.max_rel:.2g} of the largest)"
    return f"{weight.differing} of {weight.elements} elements differ{how}{relative}"


def compare_models(first: tuple[str, Graph, Weights], second: tuple[str, Graph, Weights]) -> Difference:
    """Names first; nodes that have other names are matched by operator, attributes and what they read."""
    (one, before, ours), (other, after, theirs) = first, second
    pairs = _matched(before, after)
    made = {id(node) for node in pairs.values()}
    names = {value.name: other.name for a, b in pairs.items() for value, other in _outputs(before.nodes[a], b)}
    weights = _matched_weights(before, after, pairs, ours, theirs)
    changes = [_change(before.nodes[index], node, names | weights) for index, node in pairs.items()]
    return Difference(
        one,
        other,
        added=tuple(_label(node) for node in after.nodes if id(node) not in made),
        removed=tuple(_label(node) for index, node in enumerate(before.nodes) if index not in pairs),
        changed=tuple(change for change in changes if change.what),
        renamed={before.nodes[a].name: b.name for a, b in pairs.items() if before.nodes[a].name != b.name},
        border=tuple(_border(before, after)),
        weights=tuple(filter(None, (_weight(a, ours[a](), theirs[b]()) for a, b in weights.items()))),
        weights_added=tuple(sorted(set(theirs) - set(weights.values()))),
        weights_removed=tuple(sorted(set(ours) - set(weights))),
    )


def _label(node: GraphNode) -> str:
    return f"{node.op} {node.name!r}"


def _outputs(one: GraphNode, other: GraphNode) -> zip[tuple[GraphValue, GraphValue]]:
    return zip(one.outputs, other.outputs, strict=False)


def _matched(before: Graph, after: Graph) -> dict[int, GraphNode]:
    """Nodes of the first by index, with the second's for each."""
    counts = Counter(node.name for node in after.nodes)
    named = {node.name: node for node in after.nodes if counts[node.name] == 1}
    pairs = {i: named[node.name] for i, node in enumerate(before.nodes) if node.name in named}
    pairs = {i: node for i, node in pairs.items() if node.op == before.nodes[i].op}
    taken = {id(node) for node in pairs.values()}
    known = dict(zip((v.name for v in before.inputs), (v.name for v in after.inputs), strict=False))
    waiting: dict[Any, list[GraphNode]] = {}
    for node in after.nodes:
        if id(node) not in taken:
            waiting.setdefault(_signature(node, node.inputs, after), []).append(node)
    for index, node in enumerate(before.nodes):
        if index not in pairs:
            read = tuple(known.get(name, name) for name in node.inputs)
            fitting = waiting.get(_signature(node, read, before))
            if not fitting:
                continue
            pairs[index] = fitting.pop(0)
        known.update((value.name, other.name) for value, other in _outputs(node, pairs[index]))
    return pairs


def _signature(node: GraphNode, read: tuple[str, ...], graph: Graph) -> Any:
    """What a node does, and to what: weights count by their place only, for they may have other names too."""
    constants = {value.name for value in graph.constants}
    inputs = tuple("" if name in constants else name for name in read)
    return node.op, tuple(sorted(node.attributes.items())), inputs, len(node.outputs)


def _change(one: GraphNode, other: GraphNode, names: Mapping[str, str]) -> Change:
    what: dict[str, tuple[str, str]] = {}
    for name in sorted({*one.attributes, *other.attributes}):
        before, after = one.attributes.get(name, "none"), other.attributes.get(name, "none")
        if before != after:
            what[name] = before, after
    read = tuple(names.get(name, name) for name in one.inputs)
    if read != other.inputs:
        what["inputs"] = ", ".join(one.inputs), ", ".join(other.inputs)
    for value, found in _outputs(one, other):
        if (value.dtype, value.shape) != (found.dtype, found.shape):
            what[f"output {value.name!r}"] = _type(value), _type(found)
    return Change(one.name, one.op, what)


def _border(before: Graph, after: Graph) -> Iterator[str]:
    if before.opsets != after.opsets:
        yield f"opsets: {dict(before.opsets)} → {dict(after.opsets)}"
    if before.inputs != after.inputs:
        yield f"inputs: {_values(before.inputs)} → {_values(after.inputs)}"
    ours, theirs = before.output_names or before.outputs, after.output_names or after.outputs
    if ours != theirs:
        yield f"outputs: {', '.join(ours)} → {', '.join(theirs)}"


def _values(values: tuple[GraphValue, ...]) -> str:
    return ", ".join(f"{value.name} {_type(value)}" for value in values)


def _type(value: GraphValue) -> str:
    dims = "" if value.shape is None else "[" + ", ".join("?" if d is None else str(d) for d in value.shape) + "]"
    return f"{value.dtype}{dims}"


def _matched_weights(
    before: Graph, after: Graph, pairs: Mapping[int, GraphNode], ours: Weights, theirs: Weights
) -> dict[str, str]:
    """Weights by name; those that have another by the input of a matched node that they are."""
    mine, other = set(ours), set(theirs)
    found = {name: name for name in ours if name in other}
    for index, node in pairs.items():
        for a, b in zip(before.nodes[index].inputs, node.inputs, strict=False):
            if a in mine and b in other and a not in found and b not in found.values():
                found[a] = b
    return found


def _weight(name: str, one: np.ndarray, other: np.ndarray) -> WeightChange | None:
    kinds = [f"{array.dtype}{list(array.shape)}" for array in (one, other)]
    if kinds[0] != kinds[1]:
        return WeightChange(name, kinds[0], kinds[1])
    if one.tobytes() == other.tobytes() if one.dtype != object else bool(np.array_equal(one, other)):
        return None
    numbers = one.dtype.kind in "fiuc" or one.dtype.name == "bfloat16"
    if not numbers:
        return WeightChange(name, kinds[0], kinds[1], int(np.sum(one != other)), one.size)
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    a, b = one.astype(wide), other.astype(wide)
    differing = int(np.sum((a != b) & ~(np.isnan(a) & np.isnan(b))))
    gap = float(np.max(np.abs(a - b), initial=0.0))
    largest = float(np.max(np.abs(a), initial=0.0))
    return WeightChange(name, kinds[0], kinds[1], differing, one.size, gap, gap / largest if largest else None)
