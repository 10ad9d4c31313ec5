"""Numbers as marks by which values are recognized: the same up to noise and the order of axes.

They only say which value is which. Whether a value is right is for the judge to say.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Sketch", "best_order", "distance", "orders", "sketch"]

_QUANTILES = np.linspace(0, 1, 17)
_MAX_RANK = 5
_NEAR = 1e-2
"""A relative difference up to which two values may be the same one."""


@dataclass(frozen=True)
class Sketch:
    """What does not change when axes are permuted: the number of elements, and how they are spread."""

    shape: tuple[int, ...]
    size: int
    scale: float
    quantiles: tuple[float, ...]

    def near(self, other: Sketch) -> bool:
        """Whether both may be the same numbers in some order."""
        if self.size != other.size or sorted(self.shape) != sorted(other.shape):
            return False
        gap = np.max(np.abs(np.subtract(self.quantiles, other.quantiles)))
        return bool(gap <= _NEAR * max(self.scale, other.scale))


def sketch(array: Any) -> Sketch | None:
    """None for what says nothing: no numbers, a single one, all the same."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu" or array.size < 2:
        return None
    with np.errstate(all="ignore"):
        flat = np.nan_to_num(array.astype(np.float64).ravel(), posinf=1e30, neginf=-1e30)
    low, high = float(flat.min()), float(flat.max())
    if low == high:
        return None
    flat.sort()
    places = (_QUANTILES * (flat.size - 1)).astype(np.int64)
    return Sketch(array.shape, array.size, max(abs(low), abs(high)), tuple(float(q) for q in flat[places]))


def orders(source: Sequence[int], target: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Permutations that turn one shape into the other: none at all first, then channels moved, then the rest."""
    rank = len(source)
    if sorted(source) != sorted(target):
        return
    same = tuple(range(rank))
    usual = [same]
    if rank > 2:
        usual += [(0, *range(2, rank), 1), (0, rank - 1, *range(1, rank - 1))]
    rest = itertools.permutations(range(rank)) if rank <= _MAX_RANK else iter(())
    for perm in dict.fromkeys((*usual, *rest)):
        if all(source[axis] == size for axis, size in zip(perm, target, strict=True)):
            yield perm


def distance(source: np.ndarray, target: np.ndarray) -> float:
    """Relative to the size of the numbers; infinite where they have other shapes."""
    if source.shape != target.shape:
        return float("inf")
    with np.errstate(all="ignore"):
        a, b = (np.nan_to_num(x.astype(np.float64), posinf=1e30, neginf=-1e30) for x in (source, target))
        scale = float(np.sqrt(np.mean(a * a)) + np.sqrt(np.mean(b * b)))
        return float(np.sqrt(np.mean((a - b) ** 2)) / scale) if scale else 0.0


def best_order(source: np.ndarray, target: np.ndarray) -> tuple[tuple[int, ...], float] | None:
    """The order of axes in which the target's numbers are nearest to the source's; None where no order fits."""
    found: tuple[tuple[int, ...], float] | None = None
    for perm in orders(source.shape, target.shape):
        gap = distance(source.transpose(perm), target)
        if found is None or gap < found[1] * 0.5:
            found = perm, gap
        if found[1] < 1e-6:
            break
    return found
