"""Inputs that belong together: the parts of a ragged, sparse or listed value, which fit each other or mean nothing.

A flat border knows them by their names: ``x__values`` and ``x__row_splits`` are one ragged tensor, ``x__indices``,
``x__values`` and ``x__dense_shape`` a sparse one. Drawn one by one they would be refused, or read beyond their ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueport.ir.dtypes import numpy_dtype
from trueport.ir.ports import Port

__all__ = ["INNER_SIZES", "Composite", "find_composites"]

Numbers = Callable[[Port, Sequence[int]], np.ndarray]
"""Draws an array for a port of the shape that the others leave it."""

_LONGEST_ROW = 4
INNER_SIZES = (5, 7, 6, 4)
"""Sizes of a sparse tensor's axes behind the first, which its parts do not tell."""


@dataclass(frozen=True)
class Composite:
    """Ports that are parts of one value."""

    base: str
    parts: Mapping[str, Port]
    """by the end of their names"""

    def draw(
        self, rng: np.random.Generator, size: int, numbers: Numbers, inner: Sequence[int] = INNER_SIZES
    ) -> dict[str, Any]:
        """All parts by their names; ``size`` rows, or elements of a list."""
        make = _MAKERS[_kind(self.parts)]
        return {self.parts[end].name: array for end, array in make(self, rng, size, numbers, inner).items()}


def find_composites(ports: Sequence[Port]) -> list[Composite]:
    """Every group of ports whose names say that they are one value."""
    groups: dict[str, dict[str, Port]] = {}
    for port in ports:
        base, mark, end = port.name.rpartition("__")
        if mark and port.kind == "tensor":
            groups.setdefault(base, {})[end] = port
    return [Composite(base, parts) for base, parts in groups.items() if _kind(parts)]


def _kind(parts: Mapping[str, Port]) -> str:
    ends = frozenset(parts)
    if len(ends) > 1 and all(re.fullmatch(r"part\d+", end) for end in ends):
        return "nested"
    return next((kind for kind, wanted in _KINDS.items() if ends == wanted), "")


_KINDS = {
    "ragged": frozenset({"values", "row_splits"}),
    "sparse": frozenset({"indices", "values", "dense_shape"}),
    "list": frozenset({"values", "shapes", "ranks"}),
    "optional list": frozenset({"present", "values", "shapes", "ranks"}),
    "map": frozenset({"keys", "values"}),
}


def _splits(rng: np.random.Generator, rows: int, port: Port) -> np.ndarray:
    known = (port.shape or (None,))[0]
    rows = known - 1 if isinstance(known, int) else rows
    lengths = rng.integers(0, _LONGEST_ROW, size=rows)
    return np.concatenate([[0], np.cumsum(lengths)]).astype(numpy_dtype(port.element))


def _beyond(port: Port) -> list[int]:
    return [dim if isinstance(dim, int) else 1 for dim in (port.shape or (None,))[1:]]


def _ragged(c: Composite, rng: np.random.Generator, size: int, numbers: Numbers, _: Sequence[int]) -> dict[str, Any]:
    splits = _splits(rng, size, c.parts["row_splits"])
    values = c.parts["values"]
    return {"values": numbers(values, [int(splits[-1]), *_beyond(values)]), "row_splits": splits}


def _nested(c: Composite, rng: np.random.Generator, size: int, numbers: Numbers, _: Sequence[int]) -> dict[str, Any]:
    """Flat values come first, then the splits from the outermost to the innermost."""
    ends = sorted(c.parts, key=lambda end: int(end.removeprefix("part")))
    made: dict[str, Any] = {}
    rows = size
    for end in ends[1:]:
        made[end] = _splits(rng, rows, c.parts[end])
        rows = int(made[end][-1])
    values = c.parts[ends[0]]
    return {ends[0]: numbers(values, [rows, *_beyond(values)]), **made}


def _sparse(
    c: Composite, rng: np.random.Generator, size: int, numbers: Numbers, inner: Sequence[int]
) -> dict[str, Any]:
    """Different places in the order of rows, as TensorFlow's kernels want them."""
    rank = _rank(c)
    dims = [size, *(inner[axis % len(inner)] for axis in range(rank - 1))][:rank]
    total = int(np.prod(dims, dtype=np.int64))
    count = min(total, max(1, total // 2)) if total else 0
    places = np.sort(rng.choice(total, size=count, replace=False)) if total else np.zeros(0, np.int64)
    indices = np.stack(np.unravel_index(places, dims), axis=-1) if rank else np.zeros((count, 0))
    return {
        "indices": indices.astype(numpy_dtype(c.parts["indices"].element)),
        "values": numbers(c.parts["values"], [count]),
        "dense_shape": np.array(dims, numpy_dtype(c.parts["dense_shape"].element)),
    }


def _rank(c: Composite) -> int:
    for port, axis in ((c.parts["dense_shape"], 0), (c.parts["indices"], 1)):
        if port.shape is not None and len(port.shape) > axis:
            dim = port.shape[axis]
            if isinstance(dim, int):
                return dim
    return 2


def _list(c: Composite, rng: np.random.Generator, size: int, numbers: Numbers, _: Sequence[int]) -> dict[str, Any]:
    """Elements of one shape, one after the other."""
    shape = [2, 3]
    made: dict[str, Any] = {
        "values": numbers(c.parts["values"], [size * 6]),
        "shapes": np.tile(np.array(shape, np.int64), size),
        "ranks": np.full(size, len(shape), np.int64),
    }
    return made | ({"present": np.array(True)} if "present" in c.parts else {})


def _map(c: Composite, rng: np.random.Generator, size: int, numbers: Numbers, _: Sequence[int]) -> dict[str, Any]:
    keys, values = c.parts["keys"], c.parts["values"]
    named = numpy_dtype(keys.element)
    labels = np.array([f"key {i}" for i in range(3)], object) if named.kind == "O" else np.arange(3).astype(named)
    rank = len(values.shape or (None,))
    return {"keys": labels, "values": numbers(values, [size, 3][-rank:])}


_MAKERS = {
    "ragged": _ragged,
    "nested": _nested,
    "sparse": _sparse,
    "list": _list,
    "optional list": _list,
    "map": _map,
}
