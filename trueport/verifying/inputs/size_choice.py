"""Those few of many candidate sizes that reach most of what a graph treats differently, the most telling ones first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trueport.verifying.inputs.size_candidates import Followed, Row

__all__ = ["QUICK", "THOROUGH", "Budget", "Choice"]

_FREE = 2e7
"""Elements and products that take no time worth saving."""


@dataclass(frozen=True)
class Budget:
    """What one sample may cost."""

    cost: float
    """elements and products"""
    times: float
    """so many times the cheapest sample it may cost in any case"""
    elements: float = 2.0**24
    """what its largest value may have: several runs hold a few such values, in eight bytes each"""


QUICK, THOROUGH = Budget(1e8, 2.0), Budget(1e9, 4.0)
"""After a conversion, and when the user asks for a comparison."""


class Choice:
    """Candidates of which one after the other is taken or dropped."""

    def __init__(self, pool: Followed, budget: Budget, *, usable_only: bool = True) -> None:
        """``usable_only``: without those that the graph is said to refuse."""
        self.pool = pool
        self.left = pool.usable if usable_only else np.ones(len(pool.cost), bool)
        cheapest = float(pool.cost[self.left].min(initial=np.inf))
        least = float(pool.largest[self.left].min(initial=np.inf))
        self._costly = self.left & (
            (pool.cost > max(budget.cost, budget.times * cheapest))
            | (pool.largest > max(budget.elements, budget.times * least))
        )
        self._free = max(_FREE, cheapest)
        self._covered = np.zeros(0, bool)
        self._reached = np.zeros((0, len(pool.cost)), bool)
        self._names: list[str] = []
        self._list_treatments()

    def _list_treatments(self) -> None:
        kinds = [(p, kind) for p in self.pool.points for kind in np.unique(p.kinds[self.left])]
        rows = {(p.kinds == kind).tobytes(): (p, p.kinds == kind) for p, kind in kinds}
        reached = [reached for _, reached in rows.values()]
        self._reached = np.array(reached, bool).reshape(len(rows), len(self.pool.cost))
        self._names = [f"{p.where}: {p.what}" for p, _ in rows.values()]
        self._covered = np.zeros(len(rows), bool)
        self.left &= ~self._costly
        self._largest = {key: int(sizes[self.left].max(initial=0)) for key, sizes in self.pool.sizes.items()}

    def next(self, wish: Mapping[str, int], *, is_first: bool) -> int | None:
        """Return the best candidate, of those with the sizes that are wished; None if none reaches anything new."""
        fits = self.left.copy()
        for key, size in wish.items():
            fits &= self.pool.sizes[key] == size
        found = np.flatnonzero(fits if fits.any() else self.left)
        if not len(found):
            return None
        if is_first:
            return int(found[np.argmin(self.pool.cost[found])])
        gain = self._reached[:, found][~self._covered].sum(axis=0)
        score = gain / (1 + self.pool.cost[found] / self._free)
        order = np.lexsort((self.pool.cost[found], -score))
        return int(found[order[0]]) if gain[order[0]] else None

    def take(self, index: int) -> None:
        """Count what a candidate reaches as reached."""
        self._covered |= self._reached[:, index]
        self.left[index] = False

    def drop(self, index: int) -> None:
        """Leave a candidate out."""
        self.left[index] = False

    def drop_up_to(self, index: int) -> None:
        """Leave out a candidate, and those of which no size is larger."""
        smaller = [sizes <= sizes[index] for sizes in self.pool.sizes.values()]
        self.left &= ~np.all(smaller, axis=0)

    @property
    def unreached(self) -> Sequence[str]:
        """What none of the taken candidates reaches though some candidate would."""
        names = [name for name, covered in zip(self._names, self._covered, strict=True) if not covered]
        return list(dict.fromkeys(names))

    @property
    def left_out(self) -> str:
        """Return which sizes were left out for their cost though the graph treats some of them differently."""
        missed = self._costly & self._reached[~self._covered].any(axis=0)
        above = [
            f"{key} above {most}" for key, most in self._largest.items() if np.any(self.pool.sizes[key][missed] > most)
        ]
        return f"sizes that cost much more ({', '.join(above)})" if above else ""

    def row(self, index: int) -> Row:
        """Return a candidate's sizes."""
        return self.pool.row(index)
