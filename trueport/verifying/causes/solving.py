"""Numbers solved for: those with which a node gives what the target shows, by Gauss-Newton from a grid of starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from trueport.errors import NoOracle
from trueport.reference.walk import NodeCase

__all__ = ["REFUSED", "decimals", "distance", "is_overdetermined", "solve"]

REFUSED = (NoOracle, ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError, ZeroDivisionError)
"""What an evaluation raises for a node that does not exist: the change does not fit its inputs."""
_STEPS = 12
_DIGITS = (2, 3, 4, 7)
_SPARE = 2
"""Elements that must differ for every number that is solved for, beyond the first: else any number of them fits."""


def distance(case: NodeCase, made: object) -> float:
    """Return how far a prediction is from the target, relative to how far the target is from the source's result."""
    got, predicted = np.asarray(case.target), np.asarray(made)
    if predicted.shape != got.shape or got.dtype.kind not in "fiub" or predicted.dtype.kind not in "fiub":
        return float("inf")
    with np.errstate(all="ignore"):
        wide = got.astype(np.float64)
        left = np.abs(predicted.astype(np.float64) - wide)
        truth = np.asarray(case.truth)
        whole = np.abs(truth.astype(np.float64) - wide) if truth.shape == got.shape else np.abs(wide)
        both = np.isfinite(left) & np.isfinite(whole)
        size = float(np.sum(whole[both]))
        return float(np.sum(left[both])) / size if size and np.any(both) else float("inf")


def solve(
    case: NodeCase, predict: Callable[[Sequence[float]], object], starts: Sequence[Sequence[float]]
) -> list[float] | None:
    """Return the numbers whose prediction is nearest to the target; None where none of them comes near it."""
    got = np.asarray(case.target).astype(np.float64).ravel()

    def off(numbers: Sequence[float]) -> np.ndarray | None:
        try:
            with np.errstate(all="ignore"):
                made = np.asarray(predict(numbers), np.float64).ravel()
                gap = got - made if made.shape == got.shape else None
        except REFUSED:
            return None
        # Numbers with which the node gives none where the target does are not nearer than any others.
        if gap is None or not gap.size or np.any(np.isfinite(got) & ~np.isfinite(made)):
            return None
        # Where the target is no number nothing is learned.
        return np.where(np.isfinite(gap), gap, 0.0)

    tried = [(float(np.sum(gap**2)), list(numbers)) for numbers in starts if (gap := off(numbers)) is not None]
    if not tried:
        return None
    best, at = min(tried, key=lambda item: item[0])
    for _ in range(_STEPS):
        step = _step(off, at)
        if step is None:
            break
        moved = _nearer(off, at, step, best)
        if moved is None:
            break
        done = best - moved[0] <= 1e-12 * best
        best, at = moved
        if done:
            break
    return at if np.all(np.isfinite(at)) else None


def _step(off: Callable[[Sequence[float]], np.ndarray | None], at: Sequence[float]) -> np.ndarray | None:
    here = off(at)
    columns = []
    for index, number in enumerate(at):
        small = 1e-4 * abs(number) + 1e-7
        there = off([value + small if i == index else value for i, value in enumerate(at)])
        if here is None or there is None:
            return None
        columns.append((here - there) / small)
    slopes = np.stack(columns, axis=1)
    if here is None or not np.any(slopes):
        return None
    step, *_ = np.linalg.lstsq(slopes, here, rcond=None)
    return step if np.all(np.isfinite(step)) else None


def _nearer(
    off: Callable[[Sequence[float]], np.ndarray | None], at: Sequence[float], step: np.ndarray, best: float
) -> tuple[float, list[float]] | None:
    """Half the step as often as it does not come nearer."""
    for _ in range(4):
        there = [float(number + move) for number, move in zip(at, step, strict=True)]
        gap = off(there)
        if gap is not None and float(np.sum(gap**2)) < best:
            return float(np.sum(gap**2)), there
        step = step / 2
    return None


def is_overdetermined(case: NodeCase, numbers: int) -> bool:
    """True if more elements differ from the source's than numbers are solved for, with some to spare."""
    got, truth = np.asarray(case.target), np.asarray(case.truth)
    if got.shape != truth.shape:
        return bool(got.size > numbers + _SPARE)
    with np.errstate(all="ignore"):
        differ = got.astype(np.float64) != truth.astype(np.float64)
    return int(np.unique(got[differ]).size) > numbers + _SPARE


def decimals(number: float) -> Iterator[float]:
    """Yield a number with ever more digits: the shortest that explains the target is the one to name."""
    yield from dict.fromkeys(float(f"{number:.{digits}g}") for digits in _DIGITS)
