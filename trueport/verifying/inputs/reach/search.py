"""Inputs for what ordinary ones did not reach: solved for backward from the decisions, swept, or scaled."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.verifying.coverage.count import Aim, Family
from trueport.verifying.coverage.tally import Seen, Tally
from trueport.verifying.inputs.reach.observe import MOST_WORK, Observation, Observer, TooLarge, family_of
from trueport.verifying.inputs.reach.paths import Paths, nodes_of
from trueport.verifying.inputs.reach.pull import Pull, Wanted
from trueport.verifying.inputs.reach.visible import Visibility

__all__ = ["Candidate", "Reach"]

Feeds = Mapping[str, Any]

_SCALES = (30.0, 1e3, -30.0, 1e5)
_MOST_SPENT = 3 * MOST_WORK
"""Multiplications of a whole search: three evaluations of the largest model, many of a small one."""
_MOST_HELD = 1 << 26
"""Bytes of intermediate values that are held to see which parts something hides."""
_FEW = 8
"""Parts that ordinary inputs have elements enough for."""
_MOST_ROWS = 2048
"""Elements to which a batch is enlarged so that many rows of a table or leaves of a tree fit into one set of inputs."""
_IN_TURN = ("solve", "solve", "sweep", "scale", "solve", "scale", "solve", "scale", "solve", "scale", "solve", "solve")
"""What is tried, one after the other."""


@dataclass(frozen=True)
class Candidate:
    """Inputs that reach something new."""

    feeds: Feeds
    seen: Seen
    how: str


class Reach:
    """Knows what the inputs drawn so far reached, and looks for others."""

    def __init__(self, graph: ir.Graph, bounded: Sequence[str]) -> None:
        """``bounded``: inputs that are indices, lengths or parameters."""
        paths = Paths(graph, bounded)
        self._observer = Observer(graph, paths)
        self._families: dict[ir.Node, Family] = {
            node: family for node in nodes_of(graph) if (family := family_of(node, paths)) is not None
        }
        self._paths = paths
        self._tally = Tally()
        self._visibility = Visibility(self._observer, self._families)
        self._too_large = False
        self._nothing: Seen | None = None
        """what any inputs reach where no node has parts, as all are of other types than those that decide"""

    def look(self, feeds: Feeds) -> Seen:
        """Return what these inputs reach, and take it as reached."""
        seen, found = (self._nothing, None) if self._nothing is not None else self._seen(feeds)
        if found is not None and found.complete and self._has_no_parts(seen):
            self._nothing = seen
        if not seen.not_counted or seen.counts:
            self._tally.add(seen)
        return seen

    def _has_no_parts(self, seen: Seen) -> bool:
        """Return whether no node has parts on any inputs: bounds that are computed may have some on others."""
        fixed = all(
            value not in self._paths.depends
            for node, family in self._families.items()
            for at, value in enumerate(node.inputs)
            if value is not None and at not in family.operand(node)
        )
        return fixed and all(node in seen.counts and not len(seen.counts[node].hit) for node in self._families)

    def stays_finite(self, feeds: Feeds) -> bool:
        """True unless these inputs are known to overflow on the way."""
        _, found = self._seen(feeds)
        return found is None or (found.complete and not found.overflows)

    def _seen(self, feeds: Feeds, *, keep: bool = False) -> tuple[Seen, Observation | None]:
        watched = tuple(self._families)
        if self._too_large or not watched:
            return Seen({}, watched if not self._too_large else (), _TOO_LARGE if self._too_large else ""), None
        try:
            hidden = self._visibility.to_look_at
            held = math.inf if keep else _MOST_HELD if hidden else 0.0
            found = self._observer.observe(feeds, most_held=held, masked=hidden)
        except TooLarge:
            self._too_large = True
            return Seen({}, (), _TOO_LARGE), None
        self._visibility.only_visible(found, self._tally.counts)
        why = "" if found.complete else "some nodes have no float64 reference"
        return Seen(found.counts, watched, why), found

    def search(
        self,
        draw: Callable[[int, int], Feeds],
        accepts: Callable[[Feeds], bool],
        most: int,
    ) -> Iterator[Candidate]:
        """Yield inputs that reach more, at most so many.

        ``draw(index, rows)`` returns ordinary inputs to begin with, with at least so many rows where there is an open
        batch, 0 where it does not matter.
        """
        made, limit = 0, self._observer.spent + _MOST_SPENT
        for index, how in enumerate(_IN_TURN):
            done = made >= most or self._too_large or self._observer.spent > limit
            if done or not any(self._tally.missing()):
                return
            found = self._try(index, how, draw, accepts)
            if found is not None:
                made += 1
                yield found

    def _try(
        self, index: int, how: str, draw: Callable[[int, int], Feeds], accepts: Callable[[Feeds], bool]
    ) -> Candidate | None:
        for rows in dict.fromkeys((self._rows_needed() if how != "scale" else 0, 0)):
            base = draw(index, rows)
            if rows and not accepts(base):
                continue
            feeds = self._made(how, index, base)
            if feeds is None:
                continue
            seen, found = self._seen(feeds)
            self._too_large = self._too_large and not rows
            useful = found is not None and found.complete and not found.overflows and self._tally.gain(seen.counts)
            if useful and accepts(feeds):
                self._tally.add(seen)
                return Candidate(feeds, seen, how)
        return None

    def _rows_needed(self) -> int:
        """Return how many rows would hold all parts of the node that misses most; 0 where ordinary ones do."""
        most = max((2 * len(parts) for _, parts in self._tally.missing()), default=0)
        return min(most, _MOST_ROWS) if most > _FEW else 0

    def _made(self, how: str, index: int, base: Feeds) -> Feeds | None:
        if how == "scale":
            return _scaled(base, _SCALES[_IN_TURN[:index].count("scale")])
        _, found = self._seen(base, keep=True)
        if found is None:
            return None
        rng = np.random.default_rng([index, 77])
        if how == "sweep":
            return self._swept(base, found)
        return self._solved(base, found, rng)

    def _solved(self, base: Feeds, found: Observation, rng: np.random.Generator) -> Feeds | None:
        """Aim at every decision that was not reached, each with elements of its own."""
        pull, feeds = Pull(self._observer, found), _Filled(base)
        # Branches before the comparisons that they depend on: those come near their numbers on the way.
        for node, parts in reversed(list(self._tally.missing())):
            if node not in found.last:
                continue
            inputs, _ = found.last[node]
            parts = [parts[at] for at in rng.permutation(len(parts))]
            exact = all(value in self._paths.exact for value in node.inputs if value in self._paths.depends)
            for aim in self._families[node].aims(node, inputs, parts, exact):
                value = node.inputs[aim.operand]
                if value not in self._paths.depends or value is None:
                    continue
                wanted = _wanted(aim, np.asarray(inputs[aim.operand]), rng)
                if wanted is not None and feeds.put(pull.to_inputs(value, wanted)):
                    break
        return feeds.made() if feeds.changed else None

    def _swept(self, base: Feeds, found: Observation) -> Feeds | None:
        """Consecutive integers: behind a remainder or a hash they reach many rows."""
        made = dict(base)
        free = {value.name for value in self._observer.graph.inputs if value in self._paths.free}
        for name, array in base.items():
            if isinstance(array, np.ndarray) and array.dtype.kind in "iu" and array.size > 1 and name in free:
                most = int(np.iinfo(array.dtype).max)
                made[name] = (np.arange(array.size) % most).astype(array.dtype).reshape(array.shape)
        return made


class _Filled:
    """Inputs into which wanted elements are put, each once."""

    def __init__(self, base: Feeds) -> None:
        self._arrays = dict(base)
        self._taken: dict[str, np.ndarray] = {}
        self.changed = False

    def put(self, wanted: Mapping[str, Wanted]) -> bool:
        """Put in what is still free; return whether anything was."""
        placed = False
        for name, new in wanted.items():
            old = np.asarray(self._arrays[name])
            taken = self._taken.setdefault(name, np.zeros(old.shape, bool))
            if new.array.shape != old.shape:
                continue
            mask = new.mask & ~taken
            if mask.any():
                self._arrays[name] = np.where(mask, _cast(new.array, old.dtype), old).astype(old.dtype)
                taken |= mask
                placed = True
        self.changed |= placed
        return placed

    def made(self) -> dict[str, Any]:
        return self._arrays


def _cast(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if dtype.kind not in "iu" or array.dtype.kind != "f":
        return array.astype(dtype)
    info = np.iinfo(dtype)
    return np.asarray(np.clip(np.rint(array), float(info.min) / 2, float(info.max) / 2)).astype(dtype)


def _wanted(aim: Aim, operand: np.ndarray, rng: np.random.Generator) -> Wanted | None:
    """Give the values to elements of the operand; twice as many elements as values are enough."""
    if not operand.size or not aim.values:
        return None
    if aim.rows:
        return _rows(aim.values[0], operand)
    kind = object if operand.dtype.kind == "O" else np.float64
    array, mask = operand.astype(kind), np.zeros(operand.shape, bool)
    count = min(operand.size, 2 * len(aim.values))
    for turn, place in enumerate(rng.permutation(operand.size)[:count]):
        value = np.asarray(aim.values[turn % len(aim.values)])
        fits = value.ndim <= operand.ndim and np.broadcast_shapes(value.shape, operand.shape) == operand.shape
        if value.size != 1 and not fits:
            value = value.ravel()[place % value.size]
        array.flat[place] = value.item() if value.size == 1 else np.broadcast_to(value, operand.shape).flat[place]
        mask.flat[place] = True
    return Wanted(array if kind is object else _cast(array, operand.dtype), mask)


def _rows(rows: np.ndarray, operand: np.ndarray) -> Wanted | None:
    if operand.ndim != 2 or not len(rows):
        return None
    array, mask = operand.copy(), np.zeros(operand.shape, bool)
    count = min(len(rows), len(operand))
    array[:count], mask[:count] = rows[:count], True
    return Wanted(array, mask)


def _scaled(base: Feeds, scale: float) -> Feeds:
    return {
        name: (array * scale).astype(array.dtype)
        if isinstance(array, np.ndarray) and array.dtype.kind == "f"
        else array
        for name, array in base.items()
    }


_TOO_LARGE = f"one evaluation takes more than {MOST_WORK:,} multiplications"
