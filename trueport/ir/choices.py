"""Chosen elements and their indices, where the source does not say which of several equal elements it chooses, or in
which order it gives them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Choice"]


@dataclass(frozen=True, eq=False)
class Choice:
    """What the indices in one output point at, in one run of the source; or the elements themselves."""

    operator: str
    """as its users call it, such as ``torch.topk``"""
    data: np.ndarray
    """``[rows, n]``: the elements that are chosen from"""
    rows: np.ndarray
    """for each index of the output the row of ``data`` that it counts in"""

    is_unordered: bool = False
    """True if the source leaves open in which order a row comes"""
    is_value: bool = False
    """True if the output holds the elements, not their indices"""
    call: int = 0
    """the same for the values and the indices of one call"""

    def tied(self, want: np.ndarray, got: np.ndarray) -> np.ndarray:
        """True where two indices differ and point at equal elements; a NaN equals a NaN.

        An element that ``got`` takes more often than ``want`` takes any is not tied: each is chosen once. Where the
        order is open, all of a row are tied if both rows point at the same elements in any order.
        """
        if want.shape != self.rows.shape or got.shape != self.rows.shape:
            return np.zeros(want.shape, bool)
        count = self.data.shape[1]
        inside = (got >= 0) & (got < count) & (want >= 0) & (want < count)
        at = [np.where(inside, index, 0).astype(np.int64) for index in (want, got)]
        chosen, other = (self.data[self.rows, index] for index in at)
        equal = self._rows_of_same_elements(chosen, other) if self.is_unordered else _same(chosen, other)
        times_chosen, times_other = (_times(self.rows * count + index) for index in at)
        repeated = times_other > np.max(times_chosen, initial=1)
        return np.asarray(inside & (want != got) & equal & ~repeated)

    def aligned(self, want: np.ndarray, got: np.ndarray) -> np.ndarray:
        """Return ``got`` with the elements of each row in the order that they have in ``want``."""
        made = np.empty_like(got).reshape(-1)
        made[self._order(want)] = got.reshape(-1)[self._order(got)]
        return made.reshape(got.shape)

    def is_paired(self, values: np.ndarray, indices: np.ndarray) -> bool:
        """True if values and indices, each of the elements that ``data`` holds, are in one order."""
        if values.shape != self.rows.shape or indices.shape != self.rows.shape:
            return False
        if np.any((indices < 0) | (indices >= self.data.shape[1])):
            return False
        pointed = self.data[self.rows, indices]
        return bool(np.all(_same(pointed.reshape(-1)[self._order(values, pointed)], self._sorted(pointed))))

    def _rows_of_same_elements(self, chosen: np.ndarray, other: np.ndarray) -> np.ndarray:
        ordered = np.sort(self.rows, axis=None)
        fits = np.ones(len(self.data), bool)
        np.logical_and.at(fits, ordered, _same(self._sorted(chosen), self._sorted(other)))
        return np.asarray(fits[self.rows])

    def _sorted(self, values: np.ndarray) -> np.ndarray:
        """All values, by row and size."""
        return np.asarray(values.reshape(-1)[self._order(values)])

    def _order(self, values: np.ndarray, second: np.ndarray | None = None) -> np.ndarray:
        keys = [value.reshape(-1).astype(np.float64) for value in (second, values) if value is not None]
        return np.lexsort((*keys, self.rows.reshape(-1)))


def _same(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.asarray((first == second) | ((first != first) & (second != second)))


def _times(items: np.ndarray) -> np.ndarray:
    """How often each item occurs among all."""
    _, inverse, counts = np.unique(items, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse.reshape(items.shape)]) if items.size else np.zeros(items.shape, np.int64)
