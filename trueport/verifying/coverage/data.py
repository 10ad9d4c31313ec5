"""Which parts of a source the inputs reached, as data: a fault in a part that none reached is not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Coverage", "NodeCoverage"]

_NAMED = 3
"""Nodes that are named where more were not reached."""


@dataclass(frozen=True)
class NodeCoverage:
    """What was reached of one node that decides: a branch, a table, a comparison."""

    node: str
    operator: str
    kind: str
    """``branch``, ``trips``, ``rows``, ``keys``, ``leaves``, ``side``, ``operand`` or ``range``"""
    parts: int
    reached: int
    missing: tuple[str, ...] = ()
    """the first parts that were not reached"""

    def __str__(self) -> str:
        more = self.parts - self.reached - len(self.missing)
        names = ", ".join(self.missing) + (f" and {more} more" if more > 0 else "")
        return f"{self.node} ({self.operator}: {names})"


@dataclass(frozen=True)
class Coverage:
    """What the inputs of one comparison reached."""

    samples: int
    """inputs that were counted on"""
    nodes: tuple[NodeCoverage, ...] = ()
    """every node that decides, in the source's order"""
    not_counted: str = ""
    """why nothing, or not everything, was counted"""
    left_out: str = ""
    """inputs that were left out for their cost"""

    @property
    def parts(self) -> int:
        """Return how many parts there are."""
        return sum(node.parts for node in self.nodes)

    @property
    def reached(self) -> int:
        """Return how many of them the inputs reached."""
        return sum(node.reached for node in self.nodes)

    @property
    def not_reached(self) -> tuple[NodeCoverage, ...]:
        """Return the nodes with a part that no input reached."""
        return tuple(node for node in self.nodes if node.reached < node.parts)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        nodes = [{**vars(node), "missing": list(node.missing)} for node in self.nodes]
        return {
            "samples": self.samples,
            "parts": self.parts,
            "reached": self.reached,
            "nodes": nodes,
            "not_counted": self.not_counted,
            "left_out": self.left_out,
        }

    def __str__(self) -> str:
        return self._counted() + (f"; not tried: {self.left_out}" if self.left_out else "")

    def _counted(self) -> str:
        if not self.nodes and self.not_counted:
            return f"coverage: not counted: {self.not_counted}"
        if not self.nodes:
            return "coverage: no branches, tables, comparisons or knees that depend on the inputs"
        said = f"coverage: {self.reached} of {self.parts} {_kinds(self.nodes)} reached"
        missing = self.not_reached
        if missing:
            names = "; ".join(map(str, missing[:_NAMED])) + (
                f"; {len(missing) - _NAMED} more nodes" if len(missing) > _NAMED else ""
            )
            said += f"; a fault there would not be seen: {names}"
        return said + (f" (not counted: {self.not_counted})" if self.not_counted else "")


_PLURALS = {
    "branch": "branches",
    "trips": "trip counts",
    "rows": "table rows",
    "keys": "keys",
    "leaves": "tree leaves",
    "side": "sides",
    "operand": "operands",
    "range": "ranges",
}


def _kinds(nodes: Sequence[NodeCoverage]) -> str:
    present = [word for kind, word in _PLURALS.items() if any(node.kind == kind for node in nodes)]
    return present[0] if len(present) == 1 else f"{', '.join(present[:-1])} and {present[-1]}"
