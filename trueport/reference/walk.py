"""A source that can be walked node by node in float64: what locating needs to know of it, whatever its framework.

A *place* is a node of the source's main graph, with the names of the values it reads and makes. A *stepper* evaluates
places on given values; the first of a source's steppers gives the truth, the others the truth with rounding put in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import onnx_ir as ir

from trueport.runtimes.base import Model

__all__ = ["Hypothesis", "NodeCase", "Place", "Stepper", "TargetPart", "Walkable", "nbytes", "stream"]


@dataclass(frozen=True, eq=False)
class Place:
    """A node of the source; compared by identity."""

    name: str
    op: str
    reads: tuple[str, ...]
    """values that depend on the model's inputs, outer ones of the node's graphs included; no weights"""
    makes: tuple[str, ...]
    origin: tuple[str, ...]
    node: Any
    """the framework's own node"""


@dataclass(frozen=True)
class TargetPart:
    """What makes the value that departs in an ONNX target, at the canonical opsets and under the target's own names."""

    nodes: tuple[ir.Node, ...]
    """in an order in which they can be run"""
    values: Mapping[str, Any]
    """what they read and make, in float64, as far as it can be evaluated; constants are left out"""
    names: Mapping[str, str]
    """the source's names of values that are aligned"""
    source: tuple[ir.Node, ...]
    """the source's nodes between the same values"""
    step: Callable[[ir.Node, Sequence[Any]], Sequence[Any]]
    """evaluates a node of the target in float64, on inputs"""


@dataclass(frozen=True)
class NodeCase:
    """A node with everything needed to look for the cause: what goes in, what comes out, what should."""

    node: ir.Node
    inputs: tuple[Any, ...]
    """the source's own values"""
    source: Any
    target: Any
    truth: Any
    noisy: tuple[Any, ...]
    output: str
    again: Callable[[ir.Node, Sequence[Any]], Sequence[Any]]
    """evaluates a changed node in float64, on inputs"""
    alone: Callable[[ir.Node, Sequence[Any]], Sequence[Any]] | None = None
    """evaluates a node by itself, without what follows it before the value that differs"""
    noisy_again: Sequence[Callable[[ir.Node, Sequence[Any]], Sequence[Any]]] = ()
    """the same evaluations with rounding put in, each by another draw; none where it is not known how it errs"""
    target_part: TargetPart | None = None
    """the target's nodes that may stand for it; None where the target is not one of ONNX"""
    target_families: frozenset[str] = frozenset()
    """families of the target's operations in that place; empty where they are not known"""
    target_holds: tuple[tuple[str, Any], ...] = ()
    """constants of these operations, by the target's own names; none where they are read in its nodes"""
    earlier: Mapping[str, Any] = field(default_factory=dict)
    """values that the source makes before the node, by their names, the nearest first"""
    inside: frozenset[str] = frozenset()
    """values that nodes make which may be the one as well: what is wrong with them is those nodes' to explain"""


@dataclass(frozen=True)
class Hypothesis:
    """``predict`` gives the output that the target would show if ``what`` were so."""

    kind: str
    what: str
    predict: Callable[[], Any]
    evidence: str = "tried in float64 on the same inputs, it gives the target's numbers"
    bits: float = 16.0
    """description length: of several that fit, the shortest is preferred"""
    on: Callable[[NodeCase], Any] | None = None
    """what it predicts of the same node on other inputs; None where it only speaks of these"""
    is_read: bool = False
    """whether it is read in the target, so that the numbers of one set of inputs are enough to confirm it"""


class Stepper(Protocol):
    """One evaluation in float64."""

    def step(self, place: Place, held: Mapping[str, Any]) -> Sequence[Any]:
        """The values that a place makes, in their order."""


class Walkable(Protocol):
    """A source as locating sees it."""

    places: Sequence[Place]
    """in an order in which they can be run; only what depends on the inputs"""
    steppers: Sequence[Stepper]
    executions: Sequence[Model]
    """equivalent runs of the source, the plain one first; inner values under the places' names"""
    outputs: Mapping[str, str]
    """the model's outputs by name: the value that each is"""
    weight_bytes: int
    unseen: frozenset[str]
    """values that places make and the source's runtime does not: steps of operators of an older opset"""

    def start(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """The model's inputs under the places' names, as the steppers take them."""

    def taken(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """Values that a runtime gave, as the steppers take them."""

    def weights(self, place: Place) -> list[np.ndarray]:
        """Constant inputs of a place, in its order."""

    def cases(
        self,
        region: Sequence[Place],
        value: str,
        held: Mapping[str, Any],
        source: Any,
        target: Any,
        noisy: Sequence[Any],
    ) -> Sequence[NodeCase]:
        """Every node that may have gone wrong between given values and one that departs, the last first."""

    def hypotheses(self, region: Sequence[Place], value: str, held: Mapping[str, Any]) -> Iterator[tuple[Place, Any]]:
        """Ways in which places could have been misread, as the framework itself says it; the cases hold more."""


def stream(
    stepper: Stepper, places: Sequence[Place], given: Mapping[str, Any], keep: Iterable[str] = ()
) -> Iterator[tuple[str, Any]]:
    """Every value as it is made; only what is still needed is held."""
    held = dict(given)
    kept = set(keep)
    uses = Counter(name for place in places for name in set(place.reads))
    for place in places:
        results = stepper.step(place, held)
        for name, array in zip(place.makes, results, strict=False):
            if name:
                if uses[name] or name in kept:
                    held[name] = array
                yield name, array
        for name in set(place.reads):
            uses[name] -= 1
            if not uses[name] and name not in kept:
                held.pop(name, None)


def nbytes(value: Any) -> int:
    """Bytes of an array, or of all arrays of a list."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(nbytes(item) for item in value) if isinstance(value, (list, tuple)) else 8
