"""Parts of a node that inputs reach, but whose results no output shows: a fault there would not be seen."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.errors import NoOracle
from trueport.fidelity import Against
from trueport.operators.record import Kind, Widening
from trueport.operators.table import facts_of
from trueport.verifying.coverage.count import Count
from trueport.verifying.inputs.reach.observe import MOST_WORK, Observation, Observer

__all__ = ["Visibility"]

_SHOWS = 1e-4
"""Of an output's size: a change that the comparison sees in any case."""
_LAST_PLACE = 2.0**-23
_PASSES = (Kind.ELEMENTWISE, Kind.MOVEMENT)
_HIDES = (Kind.COMPARISON, Kind.SELECTION, Kind.NORMALIZATION)


class Visibility:
    """Tells which parts that were reached have an influence on an output, by computing what follows once more."""

    def __init__(self, observer: Observer, watched: Iterable[ir.Node]) -> None:
        """``watched``: the nodes that decide."""
        self._observer = observer
        self._nodes = list(observer.graph)
        self._after: dict[ir.Node, list[ir.Node]] = {}
        self._left = MOST_WORK
        self._hideable = {node for node in watched if self._may_be_hidden(node)}

    @property
    def to_look_at(self) -> Collection[ir.Node]:
        """Nodes whose parts something may hide: for these all values of an evaluation must be held."""
        return self._hideable if self._left > 0 else ()

    def only_visible(self, found: Observation, known: Mapping[ir.Node, Count]) -> None:
        """Take back what was reached of nodes whose results something hides that follows; without the masks of all.

        ``known``: what was reached before, which is not looked at again. What the budgets of work and memory do not
        allow to look at counts as visible.
        """
        for node, count in found.counts.items():
            masks, before = count.masks, known.get(node)
            if not len(masks):
                continue
            hit = count.hit.copy()
            for part in np.flatnonzero(hit):
                is_new = before is None or len(before.hit) != len(hit) or not before.hit[part]
                if is_new and found.holds_all and node in self._hideable and self._left > 0:
                    before_it = self._observer.spent
                    hit[part] = self._shows(node, count.kind, masks[int(part)], found)
                    self._left -= self._observer.spent - before_it
            found.counts[node] = Count(count.kind, count.labels, hit)

    def _may_be_hidden(self, node: ir.Node) -> bool:
        """True if every path from a node of the main graph to an output goes element by element to a decision."""
        if node.graph is not self._observer.graph:
            return False
        outputs, waiting, seen = set(self._observer.graph.outputs), list(node.outputs[:1]), set(node.outputs)
        while waiting:
            value = waiting.pop()
            if value in outputs:
                return False
            for user, index in value.uses():
                if _hides(user, index):
                    continue
                if facts_of(user).kind not in _PASSES or user.graph is not node.graph:
                    return False
                waiting += [made for made in user.outputs if made not in seen]
                seen.update(user.outputs)
        return True

    def _shows(self, node: ir.Node, kind: str, mask: np.ndarray, found: Observation) -> bool:
        """Return whether outputs change where the result of a node is another one in some elements."""
        result = found.values.get(node.outputs[0])
        if not isinstance(result, np.ndarray) or result.shape != mask.shape or result.dtype.kind not in "fiub":
            return True
        try:
            changed = self._changed(node, _disturbed(result, kind, mask), found)
            if changed:  # a choice among equals, which rounding changes as well, tells nothing
                changed -= self._changed(node, _rounded(result), found)
        except NoOracle:  # what follows has no reference for other numbers: nothing is known
            return True
        return bool(changed)

    def _changed(self, node: ir.Node, result: np.ndarray, found: Observation) -> set[ir.Value]:
        """Return the outputs that are others where a node has another result."""
        held = {**found.values, node.outputs[0]: result}
        for after in self._following(node):
            given = [None if value is None else self._observer.value(value, held) for value in after.inputs]
            held.update(zip(after.outputs, self._observer.again(after, given, held), strict=False))
        outputs = [value for value in self._observer.graph.outputs if value in found.values]
        return {value for value in outputs if _differ(found.values[value], held[value])}

    def _following(self, node: ir.Node) -> Sequence[ir.Node]:
        """Return the nodes of the main graph that depend on a node, in order."""
        if node not in self._after:
            made, after = set(node.outputs), []
            for other in self._nodes[self._nodes.index(node) + 1 :]:
                if made.intersection(_reads(other)):
                    after.append(other)
                    made.update(other.outputs)
            self._after[node] = after
        return self._after[node]


def _reads(node: ir.Node) -> list[ir.Value | None]:
    graphs = [a.as_graph() for a in node.attributes.values() if a.type == ir.AttributeType.GRAPH]
    return [*node.inputs, *(value for graph in graphs for inner in graph.all_nodes() for value in inner.inputs)]


def _hides(node: ir.Node, index: int) -> bool:
    """True if a change of an input need not change the result: it is clipped, compared, rounded, or not selected."""
    operator = facts_of(node)
    if operator.decides is not None or operator.kind in _HIDES:
        return True
    if operator.error is not None and operator.error.against == Against.ONE:  # of bounded functions the tails are flat
        return True
    if operator.kind in (Kind.POOLING, Kind.REDUCTION) and operator.error is None:
        return True
    read, made = (None if value is None else value.dtype for value in (node.inputs[index], node.outputs[0]))
    to_integer = made is not None and not made.is_floating_point() and (read is None or read.is_floating_point())
    return to_integer or (operator.widening is Widening.DIVIDES and made is not None and made.is_integer())


def _disturbed(result: np.ndarray, kind: str, mask: np.ndarray) -> np.ndarray:
    """Return a result that is wrong where the mask is true: of wide integers what 32 bits hold of them."""
    if result.dtype.kind == "b":
        return np.asarray(result ^ mask)
    if result.dtype.kind == "f":
        wrong = result * 1.1 + 0.1
    else:
        wrong = result.astype(np.int32) if kind == "range" else result + 1
    return np.where(mask, wrong, result).astype(result.dtype)


def _rounded(result: np.ndarray) -> np.ndarray:
    """Return a result whose elements are off by a unit of the last place of a float32, up and down in turn."""
    if result.dtype.kind != "f":
        return result
    steps = np.where(np.arange(result.size) % 2, _LAST_PLACE, -_LAST_PLACE).reshape(result.shape)
    return np.asarray(result * (1 + steps), result.dtype)


def _differ(one: Any, other: Any) -> bool:
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape or a.dtype.kind not in "fc":
        return a.shape != b.shape or not np.array_equal(a, b)
    size = float(np.max(np.abs(a), initial=0.0, where=np.isfinite(a)))
    return not np.allclose(a, b, rtol=_SHOWS, atol=_SHOWS * size, equal_nan=True)
