"""Sizes of open dims: one, primes that differ from dim to dim, larger ones; the user's own where they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from trueport.errors import UsageError
from trueport.ir.ports import Port

__all__ = ["Dims", "Sizes", "dim_key", "open_dims", "plan_sizes"]

Dims = Mapping[str, Sequence[int]]
"""Sizes by the name of a dim; a ``range`` is a bound: both ends are used, and a prime between them."""

_ROWS = ((1, 1, 1, 1, 1), (3, 5, 7, 2, 11), (7, 23, 17, 13, 19), (2, 4, 3, 6, 5), (8, 7, 9, 5, 6))
"""Sizes by row and dim. The first row is the smallest; in the others no two dims are alike, so that an axis taken for
another shows. The third has odd sizes large enough that a fraction of one, rounded in another way, shows as well."""
_SCALED_ROWS = ((1, 1, 1, 1, 1), (1, 2, 1, 2, 1), (2, 1, 2, 1, 2))
_SCALES = (1, 8, 32, 64, 128, 224)
"""Many networks refuse small inputs: what is tried for all dims but the batch, until the source takes it."""


@dataclass(frozen=True)
class Sizes:
    """A size for every open dim, for one sample after the other."""

    rows: tuple[Mapping[str, int], ...]

    def row(self, index: int) -> Mapping[str, int]:
        return self.rows[index % len(self.rows)]


def dim_key(port: Port, axis: int) -> str:
    """What a dim without a name is called: those of one place are taken to be one and the same."""
    dim = (port.shape or ())[axis]
    return dim if isinstance(dim, str) else f"axis {axis}"


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
    accepts: Callable[[Mapping[str, int]], bool] | None = None,
    wanted: int | None = None,
) -> Sizes:
    """Rows of sizes that the source takes.

    ``accepts`` tries one of them; without it nothing is known, and all dims of a row have one size, which is refused
    least. ``wanted``: how many rows at most.
    """
    known = open_dims(ports)
    given = {_resolved(name, ports, known): _choices(name, sizes) for name, sizes in (dims or {}).items()}
    chosen = _accepted(known, given, accepts, wanted) if accepts is not None and known else None
    return Sizes(tuple(chosen or _rows(known, given, 1, distinct=accepts is not None)[:wanted]))


def _accepted(
    known: Mapping[str, bool],
    given: Mapping[str, Sequence[int]],
    accepts: Callable[[Mapping[str, int]], bool],
    wanted: int | None,
) -> list[Mapping[str, int]] | None:
    """Dims that differ before dims that are alike, small before large; where most are refused, whatever is taken."""
    most: list[Mapping[str, int]] = []
    for scale in _SCALES if set(known) - set(given) else _SCALES[:1]:
        for distinct in (True, False):
            rows = _rows(known, given, scale, distinct=distinct)[:wanted]
            taken = [row for row in rows if accepts(row)]
            if len(taken) > len(rows) / 2:
                return taken
            most = max(most, taken, key=len)
    return most or None


def _rows(
    known: Mapping[str, bool], given: Mapping[str, Sequence[int]], scale: int, *, distinct: bool
) -> list[Mapping[str, int]]:
    table = _ROWS if scale == 1 else _SCALED_ROWS
    found: list[Mapping[str, int]] = []
    for index in range(max([len(table), *(len(sizes) for sizes in given.values())])):
        row = table[index % len(table)]
        own = {
            key: row[place % len(row) if distinct else 0] * (1 if batch else scale)
            for place, (key, batch) in enumerate(known.items())
        }
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
