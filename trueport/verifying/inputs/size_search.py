"""Sizes that a source takes, found by running it: where no graph says which ones these are."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from trueport.verifying.inputs.probing import Answer
from trueport.verifying.inputs.size_candidates import Row

__all__ = ["Search"]

_LADDER = (
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
    16,
    24,
    32,
    48,
    64,
    96,
    128,
    160,
    192,
    224,
    256,
    299,
    320,
    384,
    512,
    640,
)
_STEPS = (1, 2, 4, 8, 16, 32)
_MOST_SAID = 8192
_MULTIPLES = (1, 2, 3, 4, 5, 7, 11, 18, 37)


class Search:
    """Looks for one row of sizes that the source takes, then for how far each dim can be moved away from it."""

    def __init__(
        self, tried: Callable[[Row], Answer], dims: Mapping[str, bool], fixed: Row, budget: int, reasons: list[str]
    ) -> None:
        """``fixed``: sizes that the user wants; ``reasons``: what the source said about other sizes."""
        self._tried, self._dims, self._fixed = tried, dims, fixed
        self._left = budget
        self._reasons = reasons
        self._known: dict[tuple[int, ...], bool] = {}

    def run(self, taken: Sequence[Row]) -> list[tuple[Row, Mapping[str, Sequence[int]]]]:
        """Return rows that the source takes, each with what its dims can be moved by.

        ``taken``: rows of which it is known. From sizes that lead nowhere, larger ones are looked for. Dims that only
        move together are one key, joined by commas.
        """
        found: list[tuple[Row, Mapping[str, Sequence[int]]]] = []
        for row in itertools.chain(taken[-1:], self._rows()):
            if self._left <= 0 or (found and found[-1][1]):
                break
            if row in taken or self._takes(row):
                found.append((row, self._around(row)))
        return found

    def _around(self, base: Row) -> dict[str, list[int]]:
        free = [key for key in self._dims if key not in self._fixed]
        found: dict[str, list[int]] = {}
        stuck = []
        for key in free:
            step = self._step(base, [key])
            if step:
                found[key] = self._sizes(base, [key], step)
            else:
                stuck.append(key)
        step = self._step(base, stuck) if len(stuck) > 1 else None
        if step:
            found[",".join(stuck)] = self._sizes(base, stuck, step)
        return found

    def _rows(self) -> Iterator[dict[str, int]]:
        said = [n for n in _numbers(self._reasons) if n > 1]
        for size in [*said[:12], *_LADDER]:
            for batch in (1, size):
                free = {key: batch if first else size for key, first in self._dims.items()}
                yield free | dict(self._fixed)
        for key, size in itertools.product(self._dims, said[:12]):
            yield {other: size if other == key else 2 for other in self._dims} | dict(self._fixed)

    def _takes(self, row: Row) -> bool:
        key = tuple(row.values())
        if key not in self._known:
            if self._left <= 0:
                return False
            self._left -= 1
            answer = self._tried(row)
            self._known[key] = bool(answer)
            if not answer:
                self._reasons.append(answer.why)
        return self._known[key]

    def _moved(self, base: Row, keys: list[str], by: int) -> dict[str, int]:
        return {key: size + by if key in keys else size for key, size in base.items()}

    def _step(self, base: Row, keys: list[str]) -> int | None:
        """Return the smallest step by which dims can grow; None if they can't."""
        steps = dict.fromkeys((*_STEPS, min((base[key] for key in keys), default=1)))
        return next((step for step in steps if self._takes(self._moved(base, keys, step))), None)

    def _sizes(self, base: Row, keys: list[str], step: int) -> list[int]:
        """Return how far dims can be moved: down to the smallest size, found by bisection, and a few steps up."""
        low, high = 0, (min(base[key] for key in keys) - 1) // step
        while low < high:
            middle = (low + high + 1) // 2
            if self._takes(self._moved(base, keys, -middle * step)):
                low = middle
            else:
                high = middle - 1
        return sorted({-low * step, 0, *(step * times for times in _MULTIPLES)})


def _numbers(reasons: list[str]) -> list[int]:
    """Return numbers in what the source said, those said most often first: often the only size that it takes."""
    counts: dict[int, int] = {}
    for reason in reasons:
        for text in set(re.findall(r"(?<![\w.])\d{1,4}(?![\w.])", reason)):
            if 0 < int(text) <= _MOST_SAID:
                counts[int(text)] = counts.get(int(text), 0) + 1
    return sorted(counts, key=lambda number: (-counts[number], number))
