"""Indices that are negative or too large: what one framework drops, another counts from the end or moves inside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

__all__ = ["readings"]


def readings(name: str, array: np.ndarray, sizes: Iterable[int]) -> Iterator[tuple[str, np.ndarray]]:
    """Other ways to read numbers of which some lie beyond an axis, by words; ``sizes``: what the axis may have."""
    if array.dtype.kind not in "iu" or not array.size:
        return
    seen = {array.tobytes()}
    for size in sorted({size for size in sizes if size > 0}):
        ways = (
            (f"negative numbers in {name} count from the end", np.where(array < 0, array + size, array)),
            (f"negative numbers in {name} are taken as 0", np.maximum(array, 0)),
            (f"numbers in {name} beyond the ends of the axis are taken for the nearest", np.clip(array, 0, size - 1)),
        )
        for words, moved in ways:
            moved = moved.astype(array.dtype)
            if moved.tobytes() not in seen:
                seen.add(moved.tobytes())
                yield words, moved
