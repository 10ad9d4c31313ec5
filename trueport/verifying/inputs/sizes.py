"""Sizes of dynamic dims: those that reach most of what the source treats differently; the user's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trueport.errors import UsageError
from trueport.ir.ports import Port
from trueport.verifying.inputs.size_candidates import Candidates, SizedGraph, dim_key
from trueport.verifying.inputs.size_plan import RowPlanner, Trial

__all__ = ["Dims", "Sizes", "dim_key", "open_dims", "plan_sizes"]

Dims = Mapping[str, Sequence[int]]
"""Sizes by the name of a dim; a ``range`` is a bound: both ends are used, and a prime between them."""

_ROWS = (1, 3, 7, 2, 8)
"""Sizes by row where nothing is known of what the source takes."""


@dataclass(frozen=True)
class Sizes:
    """A size for every open dim, for one sample after the other."""

    rows: tuple[Mapping[str, int], ...]
    refused: tuple[str, ...] = ()
    """what the source said of sizes that it does not take"""
    unreached: tuple[str, ...] = ()
    """what the graph treats differently only with other sizes"""
    left_out: str = ""
    """those that were left out for their cost"""
    empty: Mapping[str, int] | None = None
    """those of an empty batch, where the source takes it"""

    def row(self, index: int) -> Mapping[str, int]:
        return self.rows[index % len(self.rows)]


def open_dims(ports: Sequence[Port]) -> dict[str, bool]:
    """The open dims of all inputs, and whether each is the first axis of one: a batch, most likely."""
    found: dict[str, bool] = {}
    for port in ports:
        for axis, dim in enumerate(port.shape or ()):
            if not isinstance(dim, int):
                key = dim_key(port, axis)
                found[key] = found.get(key, False) or axis == 0
    return found


def plan_sizes(
    ports: Sequence[Port],
    dims: Dims | None,
    tried: Trial | None = None,
    wanted: int | None = None,
    graphs: Sequence[SizedGraph] = (),
) -> Sizes:
    """Rows of sizes that the source takes.

    ``tried`` tries one of them; without it nothing is known, and all dims of a row have one size, which is refused
    least. ``wanted``: how many rows at most. ``graphs``: the source's, and others that sizes may matter to.
    """
    known = open_dims(ports)
    given = {_resolved(name, ports, known): _choices(name, sizes) for name, sizes in (dims or {}).items()}
    if tried is None or not known:
        return Sizes(tuple(_rows(known, given)[:wanted]))
    found = RowPlanner(Candidates(known, given, graphs, ports), tried, wanted).run()
    return Sizes(tuple(found.rows), tuple(found.refused), tuple(found.unreached), found.left_out, found.empty)


def _rows(known: Mapping[str, bool], given: Mapping[str, Sequence[int]]) -> list[Mapping[str, int]]:
    found: list[Mapping[str, int]] = []
    for index in range(max([len(_ROWS), *(len(sizes) for sizes in given.values())])):
        own = dict.fromkeys(known, _ROWS[index % len(_ROWS)])
        own |= {key: sizes[index % len(sizes)] for key, sizes in given.items()}
        if own not in found:
            found.append(own)
    return found


def _resolved(name: str, ports: Sequence[Port], known: Mapping[str, bool]) -> str:
    """A dim's own name; ``INPUT:AXIS``; or ``batch`` for a first axis that has another name, or none."""
    if name in known:
        return name
    if name == "batch" and any(known.values()):
        return next(key for key, first in known.items() if first)
    for port in ports:
        axes = [axis for axis, dim in enumerate(port.shape or ()) if not isinstance(dim, int)]
        for axis in axes:
            if name == f"{port.name}:{axis}":
                return dim_key(port, axis)
    places = [f"{port.name}:{axis}" for port, axis in _open_places(ports)]
    raise UsageError(
        f"there is no open dim {name!r}", where="dims", remedy=f"open dims: {', '.join([*known, *places]) or 'none'}"
    )


def _open_places(ports: Sequence[Port]) -> Iterator[tuple[Port, int]]:
    for port in ports:
        for axis, dim in enumerate(port.shape or ()):
            if not isinstance(dim, int):
                yield port, axis


def _choices(name: str, sizes: Sequence[int]) -> tuple[int, ...]:
    if isinstance(sizes, range) and len(sizes):
        low, high = sizes[0], sizes[-1]
        return tuple(dict.fromkeys((low, *_prime_between(low, high), high)))
    if not sizes or any(not isinstance(size, int) or size < 0 for size in sizes):
        raise UsageError(
            f"{name!r} needs one or more sizes, not {sizes!r}",
            where="dims",
            remedy='give sizes that are not negative: {"batch": [1, 3, 8]}, --dims batch=1,3,8',
        )
    return tuple(sizes)


def _prime_between(low: int, high: int) -> list[int]:
    """The prime nearest to the middle, above it; none in narrow bounds."""
    middle = (low + high) // 2
    primes = (n for n in range(max(middle, 2), high) if all(n % d for d in range(2, int(n**0.5) + 1)))
    return [n for n in [next(primes, 0)] if low < n < high]
