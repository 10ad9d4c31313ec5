"""Grids of cells: one parametrized test per family, with a third of its cells held out while the code is mended.

@grid({f"{mode}-{size}": (mode, size) for mode in MODES for size in SIZES})
def test_resize(cell: tuple[str, int]) -> None: ...

pytest -m "grid and not held_out" tests/families    # while mending
pytest -m "grid and held_out" tests/families        # once, at the end
pytest -m grid --collect-only -q tests/families     # the size of each grid
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TypeVar

import pytest

__all__ = ["grid", "is_held_out"]

Cell = TypeVar("Cell")


def is_held_out(name: str, seed: int) -> bool:
    """True for a third of all names, drawn by ``seed``; the same third on every machine."""
    return hashlib.sha256(f"{seed}:{name}".encode()).digest()[0] % 3 == 0


def grid(cells: Mapping[str, Cell], *, seed: int = 15, quick: int = 8) -> pytest.MarkDecorator:
    """Parametrize a test over ``cells`` by the argument ``cell``.

    ``quick`` cells, spread evenly, run in ``make test``; all run in ``make test-all``.
    """
    step = max(1, len(cells) // max(1, quick))
    params = []
    for index, (name, cell) in enumerate(cells.items()):
        marks = [pytest.mark.grid]
        marks += [pytest.mark.held_out] if is_held_out(name, seed) else []
        marks += [pytest.mark.slow] if index % step or index // step >= quick else []
        params.append(pytest.param(cell, id=name, marks=marks))
    return pytest.mark.parametrize("cell", params)
