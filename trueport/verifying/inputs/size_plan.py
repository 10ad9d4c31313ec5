"""Rows of sizes that a source takes: chosen by its graph, confirmed by runs, searched for by runs where that fails."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from trueport.verifying.inputs.probing import Answer, Says
from trueport.verifying.inputs.size_candidates import Candidates, Row
from trueport.verifying.inputs.size_choice import QUICK, THOROUGH, Budget, Choice
from trueport.verifying.inputs.size_search import Search

__all__ = ["DEFAULT_ROWS", "QUICK_ROWS", "Found", "RowPlanner", "Trial"]

DEFAULT_ROWS = 11
"""as many as the samples of a comparison"""
QUICK_ROWS = 4
"""up to which a look is a quick one: no sample that costs much, none with an empty batch"""
_REFUSED = 5
"""Rows that a graph allows and the source refuses, one after the other, until sizes are searched for by runs."""
_SEARCH = 48
"""Runs that a search may take."""
_COMBINED = 512


class Trial(Protocol):
    """Tells whether the source takes sizes."""

    def __call__(self, row: Row, /, *, apart: bool = False) -> Answer:
        """``apart``: in a process of its own, for a crash may follow."""


@dataclass
class Found:
    """Rows of sizes, and what was learned on the way."""

    rows: list[Row] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """what the source said of the sizes that it does not take"""
    empty: Row | None = None
    """sizes of an empty batch, where the source takes it"""
    unreached: Sequence[str] = ()
    """what only other sizes would reach"""
    left_out: str = ""
    """sizes that were left out for their cost"""


class RowPlanner:
    """Takes the best candidates that the source accepts."""

    def __init__(self, candidates: Candidates, tried: Trial, wanted: int | None) -> None:
        """``wanted``: how many rows at most."""
        self._candidates, self._tried = candidates, tried
        self._wanted = min(wanted or DEFAULT_ROWS, max(DEFAULT_ROWS, self._longest_list()))
        self._is_quick = (wanted or DEFAULT_ROWS) <= QUICK_ROWS
        self._apart = False
        self._answers: dict[tuple[int, ...], Answer] = {}
        self._accepted: list[tuple[Row, Mapping[str, Says]]] = []
        self._found = Found()

    def run(self) -> Found:
        """Return the rows, the most telling ones first."""
        pool = self._candidates.combined()
        choice = Choice(pool, self._budget)
        self._apart = pool.can_crash
        # A graph that is said to refuse all sizes may have been misread: the source itself decides.
        if not self._collect(choice) or not self._accepted:
            choice = self._searched() or choice
        self._found.unreached, self._found.left_out = choice.unreached, choice.left_out
        rows = self._good()
        if not rows:  # the source refuses all: the comparison will say so, with the reason
            rows = [pool.row(0)]
        self._found.empty = None if self._is_quick else self._empty(rows)
        self._found.rows = rows
        return self._found

    @property
    def _budget(self) -> Budget:
        return QUICK if self._is_quick else THOROUGH

    def _longest_list(self) -> int:
        return max((len(sizes) for sizes in self._candidates.given.values()), default=1)

    def _good(self) -> list[Row]:
        """Return accepted rows, without those whose outputs say nothing where others' do."""
        most: dict[str, Says] = {}
        for _, says in self._accepted:
            most |= {name: max(much, most.get(name, much)) for name, much in says.items()}
        said = [row for row, says in self._accepted if not any(_has_collapsed(says[n], most[n]) for n in says)]
        return said or [row for row, _ in self._accepted]

    def _collect(self, choice: Choice) -> bool:
        """Take candidates until there are enough; False if the source refuses one after the other."""
        refused, runs = 0, 3 * self._wanted
        while len(self._good()) < self._wanted and runs > 0:
            turn = len(self._good())
            wish = {key: sizes[turn % len(sizes)] for key, sizes in self._candidates.given.items()}
            index = choice.next(wish, is_first=not turn)
            if index is None:
                break
            runs -= 1
            answer = self._ask(choice.row(index))
            if not answer:
                choice.drop(index)
                refused += 1
                if refused >= _REFUSED:
                    return False
                continue
            refused = 0
            self._accepted.append((choice.row(index), answer.says))
            if choice.row(index) in self._good():
                choice.take(index)
            else:  # a network that is too small for its outputs to differ: smaller ones are no better
                choice.drop_up_to(index)
        return True

    def _ask(self, row: Row) -> Answer:
        key = tuple(row.values())
        if key not in self._answers:
            self._answers[key] = self._tried(row, apart=self._apart)
            if not self._answers[key]:
                self._found.refused.append(self._answers[key].why)
        return self._answers[key]

    def _searched(self) -> Choice | None:
        """Take rows found by runs alone; None if there are none."""
        self._apart = True  # not even the graph says that these sizes are safe
        fixed = {key: sizes[0] for key, sizes in self._candidates.given.items()}
        search = Search(self._ask, self._candidates.dims, fixed, _SEARCH, self._found.refused)
        taken = [row for row, _ in self._accepted]
        found = search.run(taken)
        if not found:
            return None
        moved = [row for base, moves in found for row in self._moved(base, moves)]
        pool = self._candidates.rows([*taken, *(base for base, _ in found), *moved])
        choice = Choice(pool, self._budget, usable_only=False)
        for index in range(len(taken)):
            choice.take(index)
        self._collect(choice)
        return choice

    def _moved(self, base: Row, moves: Mapping[str, Sequence[int]]) -> list[dict[str, int]]:
        """Return combinations of what the dims can be moved by, and of the sizes that the user wants."""
        given = self._candidates.given
        options: list[list[dict[str, int]]] = [
            [{key: base[key] + by for key in keys.split(",")} for by in offsets] for keys, offsets in moves.items()
        ]
        options += [[{key: size} for size in sizes] for key, sizes in given.items()]
        rows = []
        for parts in itertools.islice(itertools.product(*options), _COMBINED):
            row = dict(base)
            for part in parts:
                row |= part
            rows.append(row)
        return rows

    def _empty(self, rows: Sequence[Row]) -> Row | None:
        """Return the row of an empty batch, where the source takes that and no kernel is known to crash."""
        batch = next((key for key, first in self._candidates.dims.items() if first), None)
        if batch is None or batch in self._candidates.given or not self._candidates.has_source:
            return None
        row = {**rows[min(1, len(rows) - 1)], batch: 0}
        known = self._candidates.rows([row])
        if known.violations[0] or known.deadly[0] or known.can_crash:
            return None
        return row if self._tried(row, apart=not known.is_complete) else None


def _has_collapsed(says: Says, most: Says) -> bool:
    """True if an output says less than it does with other sizes; of a single number that can't be told."""
    return (says is Says.NOTHING and most is not Says.NOTHING) or (says is Says.CONSTANT and most is Says.MUCH)
