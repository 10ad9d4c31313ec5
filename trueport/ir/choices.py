"""Indices of chosen elements, where the source does not say which of several equal elements it chooses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Choice"]


@dataclass(frozen=True, eq=False)
class Choice:
    """What the indices in one output point at, in one run of the source."""

    operator: str
    """as its users call it, such as ``torch.topk``"""
    data: np.ndarray
    """``[rows, n]``: the elements that are chosen from"""
    rows: np.ndarray
    """for each index of the output the row of ``data`` that it counts in"""

    def tied(self, want: np.ndarray, got: np.ndarray) -> np.ndarray:
        """True where two indices differ and point at equal elements; a NaN equals a NaN.

        An element that ``got`` takes more often than ``want`` takes any is not tied: each is chosen once.
        """
        if want.shape != self.rows.shape or got.shape != self.rows.shape:
            return np.zeros(want.shape, bool)
        count = self.data.shape[1]
        inside = (got >= 0) & (got < count) & (want >= 0) & (want < count)
        at = [np.where(inside, index, 0).astype(np.int64) for index in (want, got)]
        chosen, other = (self.data[self.rows, index] for index in at)
        with np.errstate(invalid="ignore"):
            equal = (chosen == other) | ((chosen != chosen) & (other != other))
        times_chosen, times_other = (_times(self.rows * count + index) for index in at)
        repeated = times_other > np.max(times_chosen, initial=1)
        return np.asarray(inside & (want != got) & equal & ~repeated)


def _times(items: np.ndarray) -> np.ndarray:
    """How often each item occurs among all."""
    _, inverse, counts = np.unique(items, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse.reshape(items.shape)]) if items.size else np.zeros(items.shape, np.int64)
