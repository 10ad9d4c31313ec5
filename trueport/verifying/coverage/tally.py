"""The counts of several evaluations as one coverage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx_ir as ir

from trueport.verifying.coverage.count import Count
from trueport.verifying.coverage.data import Coverage, NodeCoverage

__all__ = ["Seen", "Tally"]

_NAMED = 3
"""Parts of a node that are named where more were not reached."""


@dataclass(frozen=True)
class Seen:
    """What one set of inputs reached."""

    counts: Mapping[ir.Node, Count]
    watched: Sequence[ir.Node]
    """all nodes that decide, whether they were run or not"""
    not_counted: str = ""


@dataclass
class Tally:
    """What several sets of inputs reached together."""

    counts: dict[ir.Node, Count] = field(default_factory=dict)
    watched: Sequence[ir.Node] = ()
    samples: int = 0
    not_counted: str = "nothing is known of the source's graph"
    left_out: str = ""
    """inputs that were left out for their cost"""

    def add(self, seen: Seen) -> int:
        """Take what one set reached; return how many parts are new."""
        new = self.gain(seen.counts)
        self.watched, self.samples, self.not_counted = seen.watched, self.samples + 1, seen.not_counted
        for node, found in seen.counts.items():
            known = self.counts.get(node)
            fits = known is not None and len(known.hit) == len(found.hit)
            hit = known.hit | found.hit if known is not None and fits else found.hit
            self.counts[node] = Count(found.kind, found.labels, hit)
        return new

    def note(self, feeds: object) -> None:
        """Take what was counted when these inputs were drawn, if anything was."""
        self.left_out = self.left_out or getattr(feeds, "left_out", "")
        seen = getattr(feeds, "seen", None)
        if isinstance(seen, Seen):
            self.add(seen)

    def gain(self, counts: Mapping[ir.Node, Count]) -> int:
        """Return how many parts these would add."""
        return sum(self._new(node, found) for node, found in counts.items())

    def _new(self, node: ir.Node, found: Count) -> int:
        known = self.counts.get(node)
        if known is None or len(known.hit) != len(found.hit):
            return int(found.hit.sum())
        return int((found.hit & ~known.hit).sum())

    def missing(self) -> Iterator[tuple[ir.Node, list[int]]]:
        """Yield the nodes with parts that were not reached, and the numbers of these."""
        for node in self.watched:
            known = self.counts.get(node)
            if known is not None and not known.hit.all():
                yield node, np.flatnonzero(~known.hit).tolist()

    def coverage(self) -> Coverage:
        """Return it as data."""
        return Coverage(
            self.samples,
            tuple(found for node in self.watched if (found := self._node(node)).parts),
            self.not_counted,
            self.left_out,
        )

    def _node(self, node: ir.Node) -> NodeCoverage:
        name = node.name or next((value.name for value in node.outputs if value.name), "") or node.op_type
        known = self.counts.get(node)
        if known is None:
            return NodeCoverage(name, node.op_type, "side", 1, 0, ("never run",))
        missing = np.flatnonzero(~known.hit)[:_NAMED]
        labels = tuple(str(known.labels[int(part)]) for part in missing)
        return NodeCoverage(name, node.op_type, known.kind, len(known.hit), int(known.hit.sum()), labels)
