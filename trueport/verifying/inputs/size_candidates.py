"""Candidate sizes of a model's dynamic dims, and what its graphs do with each of them; nothing is run."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from trueport.ir.ports import Port
from trueport.verifying.inputs.flow.flow import Flow, Point
from trueport.verifying.inputs.flow.known import Number, is_varying
from trueport.verifying.inputs.flow.rules import RULES

__all__ = ["Candidates", "Followed", "Row", "SizedGraph", "dim_key", "sized_by"]

Row = Mapping[str, int]

_ALL_TO = 2048
"""Every size up to this one is looked at, one dim after the other."""
_LARGER = (2560, 3072, 3200, 4096, 4800, 8000, 8192, 16000, 16384)
_MAX_SWEPT = 1 << 14
_COMBINED = 4096
"""Combinations of sizes that are looked at."""
_RARE = 24
"""A treatment is rare if at most so many sizes of a dim lead to it: these are combined more often."""
_ROUNDS = 4
_MAX_PAIRS = 15
_COMMON = (1, 2, 3, 5, 7, 11, 13, 17, 19, 23)


@dataclass(frozen=True)
class SizedGraph:
    """A graph, and the dims of its inputs: a number, or the key of a dynamic dim."""

    graph: ir.Graph
    inputs: Mapping[str, tuple[int | str, ...]]
    decides: bool = True
    """whether sizes that it can't take are left out: the source's graph, not the target's"""


def dim_key(port: Port, axis: int) -> str:
    """Return what a dim without a name is called: those of one place are taken to be one and the same."""
    dim = (port.shape or ())[axis]
    return dim if isinstance(dim, str) else f"axis {axis}"


def sized_by(port: Port) -> tuple[int | str, ...]:
    """Return the dims of a port, dynamic ones by their keys."""
    return tuple(dim if isinstance(dim, int) else dim_key(port, axis) for axis, dim in enumerate(port.shape or ()))


@dataclass(frozen=True)
class Followed:
    """What is known of candidates without a run."""

    sizes: Mapping[str, np.ndarray]
    """by dim, one per candidate"""
    violations: np.ndarray
    """nodes that can't take them"""
    stretched: np.ndarray
    """dynamic dims of one element that are broadcast"""
    deadly: np.ndarray
    """whether they kill a process that runs one of the graphs"""
    empties: np.ndarray
    """whether a tensor of the graph has no elements"""
    cost: np.ndarray
    """elements that are made, and products that are summed up"""
    largest: np.ndarray
    """elements of the largest value"""
    points: tuple[Point, ...]
    constants: frozenset[int]
    can_crash: bool
    is_complete: bool
    """whether the shapes of all values of the source are known"""

    def row(self, index: int) -> dict[str, int]:
        """Return one candidate."""
        return {key: int(sizes[index]) for key, sizes in self.sizes.items()}

    @property
    def usable(self) -> np.ndarray:
        """True for candidates that the graph can take, with no empty tensor in it."""
        return np.asarray((self.violations == 0) & ~self.empties & ~self.deadly)


class Candidates:
    """The sizes that a model's dynamic dims may have."""

    def __init__(
        self,
        dims: Mapping[str, bool],
        given: Mapping[str, Sequence[int]],
        graphs: Sequence[SizedGraph],
        ports: Sequence[Port],
        seed: int = 0,
    ) -> None:
        """``dims``: whether each is the first axis of an input; ``given``: sizes that the user wants."""
        self.dims, self.given = dims, given
        self._graphs = graphs
        self._shapes = [sized_by(port) for port in ports]
        self._rng = np.random.default_rng(seed)

    @property
    def has_source(self) -> bool:
        """True if the source's graph is known."""
        return any(sized.decides for sized in self._graphs)

    def follow(self, sizes: Mapping[str, np.ndarray]) -> Followed:
        """Return what the graphs do with candidates."""
        count = len(next(iter(sizes.values())))
        points = {point.kinds.tobytes(): point for point in _general_points(sizes, self.dims, not self.has_source)}
        source, others = Flow(count, RULES), []
        for sized in self._graphs:
            flow = source if sized.decides else Flow(count, RULES)
            with np.errstate(all="ignore"):  # of candidates that are refused
                flow.run(sized.graph, {name: _bound(shape, sizes) for name, shape in sized.inputs.items()})
            others.append(flow)
        for flow in others:
            points = {**flow.points, **points}
        blind = not self.has_source
        return Followed(
            sizes,
            source.violations,
            source.stretched,
            np.any([flow.deadly for flow in [source, *others]], axis=0),
            source.empties | np.any([size == 0 for size in sizes.values()], axis=0),
            source.cost + (1000.0 * self._volume(sizes) if blind else 0.0),
            np.maximum(source.largest, self._volume(sizes)),
            tuple(points.values()),
            frozenset(constant for flow in others for constant in flow.constants),
            any(flow.can_crash for flow in others),
            not blind and not source.unknown,
        )

    def rows(self, rows: Iterable[Row]) -> Followed:
        """Return what the graphs do with these rows."""
        listed = list(rows)
        return self.follow({key: np.array([row[key] for row in listed], np.int64) for key in self.dims})

    def combined(self, extra: Iterable[int] = ()) -> Followed:
        """Return combinations of sizes that each dim may have, those that the graph treats in a special way more often.

        ``extra``: sizes that are worth a try, from elsewhere.
        """
        start = self._lines()
        more = [near for constant in {*start.constants, *extra} for near in (constant - 1, constant, constant + 1)]
        base = start.row(_cheapest(start))
        for _ in range(_ROUNDS):
            swept = self._swept(base, self._singles(), [*more, *_LARGER])
            better = swept.found.row(_cheapest(swept.found))
            if better == base or (swept.found.usable[0] and not swept.found.stretched[0]):
                break
            base = better
        moves = swept.moves()
        stuck = [keys[0] for keys in self._singles() if keys not in moves]
        if len(stuck) > 1:
            pairs = list(itertools.combinations(stuck, 2))[:_MAX_PAIRS]
            together = self._swept(base, [*pairs, *([tuple(stuck)] if len(stuck) > 2 else [])], more)
            moves |= together.moves()
        columns = {key: np.full(_COMBINED, size) for key, size in base.items()}
        for keys, (offsets, special) in moves.items():
            drawn = self._drawn(offsets, special, min(base[key] for key in keys))
            for key in keys:
                columns[key] = columns[key] + drawn
        for key, sizes in self.given.items():
            columns[key] = self._rng.choice(sizes, _COMBINED)
        rows = [base, *(swept.found.row(int(index)) for index in _special_rows(swept.found))]
        first = {key: np.array([row[key] for row in rows]) for key in self.dims}
        return self.follow(_unique({key: np.concatenate([first[key], columns[key]]) for key in self.dims}))

    def _lines(self) -> Followed:
        """Return candidates in which all dims are alike, or the first axes are one, or all but these are."""
        line, ones = np.arange(1, _ALL_TO + 1), np.ones(_ALL_TO, np.int64)
        made = []
        for first, others in ((line, line), (ones, line), (line, ones)):
            made.append({key: first if batch else others for key, batch in self.dims.items()})
        joined = {key: np.concatenate([one[key] for one in made]) for key in self.dims}
        fixed = {key: np.full_like(joined[key], sizes[0]) for key, sizes in self.given.items()}
        return self.follow(_unique(joined | fixed))

    def _singles(self) -> list[tuple[str, ...]]:
        return [(key,) for key in self.dims if key not in self.given]

    def _swept(self, base: Row, moves: Sequence[tuple[str, ...]], more: Iterable[int]) -> _Swept:
        """Return the candidates that differ from one in some dims, by the same number in each of them."""
        most = max(64, min(_ALL_TO, _MAX_SWEPT // max(len(moves), 1)))
        values = np.array(sorted({*range(1, most + 1), *(size for size in more if size > 0)}))
        blocks: list[dict[str, np.ndarray]] = [{key: np.array([size]) for key, size in base.items()}]
        offsets = []
        for keys in moves:
            by = values - min(base[key] for key in keys)
            offsets.append(by)
            blocks.append({key: size + by if key in keys else np.full_like(by, size) for key, size in base.items()})
        joined = {key: np.concatenate([block[key] for block in blocks]) for key in self.dims}
        return _Swept(self.follow(joined), tuple(moves), tuple(offsets))

    def _drawn(self, offsets: np.ndarray, special: np.ndarray, start: int) -> np.ndarray:
        """Draw what dims are moved by: half of the draws are special, the others rather small than large."""
        place = np.exp(self._rng.uniform(0, np.log(len(offsets) + 1), _COMBINED)).astype(np.int64) - 1
        common = np.intersect1d(offsets, np.array(_COMMON) - start)
        kind = self._rng.uniform(size=_COMBINED)
        drawn = np.where(kind < 0.5, self._rng.choice(special, _COMBINED), np.sort(offsets)[place])
        return np.where(kind > 0.8, self._rng.choice(common, _COMBINED), drawn) if len(common) else drawn

    def _volume(self, sizes: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return how many elements all inputs have."""
        total = np.zeros(len(next(iter(sizes.values()))))
        for shape in self._shapes:
            product = np.ones_like(total)
            for dim in shape:
                product = product * (sizes[dim] if isinstance(dim, str) else dim)
            total = total + product
        return total


@dataclass(frozen=True)
class _Swept:
    """Candidates around one: it comes first, then a block for each set of dims that is moved."""

    found: Followed
    keys: tuple[tuple[str, ...], ...]
    offsets: tuple[np.ndarray, ...]

    def moves(self) -> dict[tuple[str, ...], tuple[np.ndarray, np.ndarray]]:
        """Return what dims can be moved by, and those moves that few others are treated like; where they can be."""
        usable, start, moves = self.found.usable & (self.found.stretched <= self.found.stretched[0]), 1, {}
        for keys, offsets in zip(self.keys, self.offsets, strict=True):
            block = np.arange(start, start + len(offsets))
            start += len(offsets)
            here = block[usable[block]]
            if len(here) < 2:
                continue
            possible, special = offsets[here - block[0]], {0}
            for point in self.found.points:
                kinds = point.kinds[here]
                for kind in np.unique(kinds):
                    alike = possible[kinds == kind]
                    special |= {int(by) for by in (alike if len(alike) <= _RARE else alike[:2])}
            moves[keys] = (possible, np.array(sorted(special)))
        return moves


def _bound(shape: Sequence[int | str], sizes: Mapping[str, np.ndarray]) -> tuple[Number | None, ...]:
    return tuple(sizes.get(dim) if isinstance(dim, str) else dim for dim in shape)


def _cheapest(found: Followed) -> int:
    """Return the candidate that the fewest nodes refuse, of these the cheapest."""
    return int(np.lexsort((found.cost, found.stretched, found.empties | found.deadly, found.violations))[0])


def _unique(sizes: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Drop candidates that come twice; the first ones stay where they are."""
    table = np.stack(list(sizes.values()), axis=1)
    _, first = np.unique(table, axis=0, return_index=True)
    return {key: column[np.sort(first)] for key, column in sizes.items()}


def _special_rows(swept: Followed) -> list[int]:
    """Return, for every way in which a graph treats sizes, the cheapest candidate."""
    usable = np.flatnonzero(swept.usable)
    ordered = usable[np.argsort(swept.cost[usable], kind="stable")]
    rows = {
        int(ordered[np.argmax(p.kinds[ordered] == kind)]) for p in swept.points for kind in np.unique(p.kinds[usable])
    }
    return sorted(rows)


def _general_points(sizes: Mapping[str, np.ndarray], dims: Mapping[str, bool], blind: bool) -> list[Point]:
    """Return what is worth a try whatever the graph does: odd, even, prime, larger ones; dims that do not divide."""
    found = []
    for key, size in sizes.items():
        if not is_varying(size):
            continue
        odd = np.where(size == 1, 0, np.where(size % 2 == 0, 1, 2))
        found.append(Point(key, "one, even, odd", odd))
        found += [Point(key, f"rest of {by}", size % by) for by in ((3, 4) if blind and not dims.get(key) else ())]
        found.append(Point(key, "prime", (_is_prime(size) & (size > 3)).astype(np.int64)))
        found.append(Point(key, "magnitude", np.digitize(size, [2, 8] if dims.get(key) else [2, 8, 20, 70])))
    for one, other in itertools.combinations(sizes, 2):
        a, b = np.maximum(sizes[one], 1), np.maximum(sizes[other], 1)
        apart = (a % b != 0) & (b % a != 0)
        found.append(Point(f"{one} and {other}", "do not divide each other", apart * (1 + (a > b))))
    return found


def _is_prime(sizes: np.ndarray) -> np.ndarray:
    top = int(sizes.max(initial=2))
    sieve = np.ones(top + 1, bool)
    sieve[:2] = False
    for divisor in range(2, int(top**0.5) + 1):
        if sieve[divisor]:
            sieve[divisor * divisor :: divisor] = False
    return np.asarray(sieve[sizes])
