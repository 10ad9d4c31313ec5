"""Errors of all elements together: a small error in every one of them shows here before it does in the largest.

The statistic is the root mean square of the target's errors, each over the root mean square of the noisy runs' errors
at that element. It holds bias and variance: its square is the sum of both. Its limit comes from the noisy runs:

* errors that rounding makes are sums of bounded independent ones, so they are sub-Gaussian, and a mean square of
  ``n`` independent ones exceeds ``q`` with a probability of at most ``exp(-n / 2 * (q - 1 - ln q))`` (Chernoff);
* errors of elements depend on each other: how many count as independent is told by how much the mean squares of the
  noisy runs differ among themselves (their variance is ``2 / n``), and lowered by what so few runs may miss;
* a kernel may err by its whole bound and always in one direction, as one that truncates does: that is ``sqrt(3)``
  times the root mean square of errors spread evenly within the bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["BULK_RUNS", "Errors", "bulk_excess"]

BULK_RUNS = 12
"""Noisy runs without which nothing is said: of fewer, neither an element's noise nor how elements depend is known."""
_FALSE_ALARM = 1e-6
"""Probability that one output of a faithful target is beyond the limit, if it errs as the noise does."""
_ONE_DIRECTION = math.sqrt(3)
_VARIANCE_MISSED = 6.0
"""A variance of twelve runs is underestimated by more than this once in a thousand times (chi-square, 11 degrees)."""
_LARGEST_SQUARE = 64.0
"""Single elements count no more than this: the largest ratio judges them."""


@dataclass(frozen=True)
class Errors:
    """Distances from the reference, of finite elements, in one order."""

    target: np.ndarray
    noisy: Sequence[np.ndarray]
    source: Sequence[np.ndarray]
    """the source's own runs: where it errs more than the noise it is the measure"""
    size: np.ndarray
    """magnitudes of the reference"""
    ulp: float
    """unit of the last place, relative"""


def bulk_excess(errors: Errors) -> float:
    """Return the root mean square error over its limit; above one the target is off as a whole, 0 if unknown."""
    if len(errors.noisy) < 2 or not errors.target.size:
        return 0.0
    with np.errstate(all="ignore"):
        squares = np.array([np.square(np.abs(run)) for run in errors.noisy], np.float64)
        variance = _variance(squares, errors)
        some = variance > 0
        if not np.any(some):
            return 0.0
        relative = np.square(np.abs(errors.target[some])) / variance[some]
        found = math.sqrt(float(np.mean(np.minimum(relative, _LARGEST_SQUARE))))
        return found / _limit(np.mean(squares[:, some] / variance[some], axis=1), int(np.sum(some)))


def _variance(squares: np.ndarray, errors: Errors) -> np.ndarray:
    """Return the mean square error of each element; the median relative one of all, and one ulp, at least."""
    own = np.max([np.square(np.abs(run)) for run in errors.source], axis=0, initial=0.0)
    variance = np.maximum(np.mean(squares, axis=0), own)
    sized = errors.size > 0
    lent = float(np.median(np.sqrt(variance[sized]) / errors.size[sized])) if np.any(sized) else 0.0
    return np.asarray(np.maximum(variance, np.square(lent * errors.size)) + np.square(errors.ulp * errors.size))


def _limit(runs: np.ndarray, count: int) -> float:
    """Return what the root mean square may be; ``runs``: the mean square of each noisy run, of ``count`` elements."""
    mean = float(np.mean(runs))
    spread = float(np.var(runs, ddof=1)) / mean**2 if mean > 0 else 0.0
    independent = 2 / max(_VARIANCE_MISSED * spread, 2 / count)
    return _ONE_DIRECTION * math.sqrt(_quantile(independent))


def _quantile(independent: float) -> float:
    """Return the mean square that so many independent errors exceed with the probability of a false alarm."""
    wanted = -2 * math.log(_FALSE_ALARM) / independent
    low, high = 1.0, 4.0 + 2 * wanted
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle - 1 - math.log(middle) < wanted else (low, middle)
    return high
