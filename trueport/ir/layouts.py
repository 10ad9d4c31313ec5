"""The order in which a value's axes are held, as a permutation: axis ``i`` held is axis ``perm[i]`` of the original.

Held values are recorded in the graph itself, so that whoever asks for a value by its original name can undo it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence

import onnx_ir as ir

__all__ = [
    "LAYOUT",
    "Perm",
    "add_alias",
    "channels_last",
    "compose",
    "held_names",
    "identity",
    "inverse",
    "is_identity",
    "lift",
    "rewrite_held",
    "source_names",
]

Perm = tuple[int, ...]

LAYOUT = "trueport.layout"
"""Metadata of a value: one line ``perm name`` for each original value that it holds in another order."""


@functools.cache
def identity(rank: int) -> Perm:
    return tuple(range(rank))


def is_identity(perm: Sequence[int]) -> bool:
    return tuple(perm) == identity(len(perm))


@functools.cache
def compose(first: Perm, second: Perm) -> Perm:
    """The permutation of transposing by ``first`` and the result by ``second``."""
    return tuple(first[axis] for axis in second)


@functools.cache
def inverse(perm: Perm) -> Perm:
    places = [0] * len(perm)
    for place, axis in enumerate(perm):
        places[axis] = place
    return tuple(places)


@functools.cache
def lift(perm: Perm, rank: int) -> Perm:
    """The same permutation with leading unit axes that stay in place, as broadcasting adds them."""
    added = rank - len(perm)
    return (*range(added), *(axis + added for axis in perm))


@functools.cache
def channels_last(rank: int) -> Perm:
    """From N, C, spatial… to N, spatial…, C."""
    return (0, *range(2, rank), 1)


def add_alias(value: ir.Value, name: str, perm: Iterable[int]) -> None:
    """Record that ``value`` is the value called ``name``, transposed by ``perm``."""
    line = f"{','.join(map(str, perm))} {name}"
    known = value.metadata_props.get(LAYOUT)
    value.metadata_props[LAYOUT] = f"{known}\n{line}" if known else line


def rewrite_held(value: ir.Value, orders: Mapping[str, Perm]) -> None:
    """Replace the whole record."""
    value.metadata_props.pop(LAYOUT, None)
    for name, perm in orders.items():
        add_alias(value, name, perm)


def held_names(value: ir.Value) -> dict[str, Perm]:
    """The original names that a value stands for, each with the permutation that was applied to it."""
    lines = value.metadata_props.get(LAYOUT, "").splitlines()
    pairs = (line.split(" ", 1) for line in lines)
    return {name: tuple(int(axis) for axis in axes.split(",") if axis) for axes, name in pairs}


def source_names(value: ir.Value) -> dict[str, Perm | None]:
    """All names under which the source knows a value, with the order it is held in; None where it is the source's."""
    held = held_names(value)
    found: dict[str, Perm | None] = {name: None if is_identity(perm) else perm for name, perm in held.items()}
    if value.name and not any(value.name.startswith(f"{name}@") for name in held):
        found.setdefault(value.name, None)
    return found
