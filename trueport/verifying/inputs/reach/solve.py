"""Solving ``function(x) = wanted`` for many elements at a time, each by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

__all__ = ["solve"]

Function = Callable[[np.ndarray], np.ndarray]

_GRID = np.array(
    [0.0, *(sign * 2.0**power for power in (-8, -3, -1, 0, 1, 2, 3, 5, 7, 10, 14, 20, 30) for sign in (-1, 1))]
)
_HALVINGS = 60
_CLOSE = 1e-9
_NEAR = 1e-4
"""How near a solution must come, relative to what is wanted, where the function does not take the number itself."""


def solve(
    function: Function, start: np.ndarray, wanted: np.ndarray, others: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return an argument for every element, and which of them give what is wanted.

    ``start``: arguments that are known to work. ``others``: numbers near which a decision may lie.
    """
    if start.dtype == bool:
        return _booleans(function, start, wanted)
    integer = start.dtype.kind in "iu"
    tried: list[np.ndarray] = []
    gave: list[np.ndarray] = []
    target = wanted.astype(np.float64)

    def attempt(numbers: np.ndarray) -> np.ndarray:
        exact = np.nan_to_num(numbers.astype(np.float64), nan=0.0, posinf=1e30, neginf=-1e30)
        if integer:
            info = np.iinfo(start.dtype)
            # The largest integers are no floats: half of the range is enough.
            exact = np.rint(np.clip(exact, float(info.min) / 2, float(info.max) / 2))
        result = function(exact.astype(start.dtype)).astype(np.float64)
        tried.append(exact)
        gave.append(result)
        return result

    first = attempt(start)
    base = start.astype(np.float64)
    with np.errstate(all="ignore"):
        guesses = [target, base + (target - first), base - (target - first), target * base / first]
    guesses += [np.asarray(other, np.float64) + step for other in others for step in _steps(np.asarray(other))]
    for guess in guesses:
        if np.all(_hits(attempt(guess), target)):
            if np.any(base != np.rint(base)):
                _widen(attempt, tried, gave, target)
            break
    else:
        for point in _GRID:
            attempt(np.full(target.shape, point))
        _bisect(attempt, np.array(tried), np.array(gave), target)
    away = np.nan_to_num(np.abs(np.array(gave) - target), nan=np.inf, posinf=np.inf)
    best = np.argmin(away, axis=0)
    column = np.arange(target.size)
    hits = away[best, column] <= (0 if wanted.dtype.kind in "biu" else _NEAR * np.maximum(1e-3, np.abs(target)))
    return np.array(tried)[best, column].astype(start.dtype), hits


def _widen(attempt: Function, tried: list[np.ndarray], gave: list[np.ndarray], target: np.ndarray) -> None:
    """Where a whole interval gives the same, as in Floor, prefer its inside: what comes before may round."""
    at = tried[-1]
    for step in (-0.4, 0.4):
        if np.all(_hits(attempt(at + step), target)):
            tried.insert(0, tried[-1])
            gave.insert(0, gave[-1])


def _bisect(attempt: Function, xs: np.ndarray, fs: np.ndarray, target: np.ndarray) -> None:
    """Halve the narrowest interval at whose ends the function lies on different sides."""
    order = np.argsort(xs, axis=0, kind="stable")
    xs, above = np.take_along_axis(xs, order, 0), np.take_along_axis(fs, order, 0) >= target
    valid = np.isfinite(np.take_along_axis(fs, order, 0))
    turns = (above[1:] != above[:-1]) & valid[1:] & valid[:-1]
    widths = np.where(turns, xs[1:] - xs[:-1], np.inf)
    place, column = np.argmin(widths, axis=0), np.arange(target.size)
    low, high = xs[place, column], xs[place + 1, column]
    rising = above[place + 1, column]
    if not turns.any():
        return
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        result = attempt(middle)
        if np.all(_hits(result, target)):
            return
        upper = (result >= target) == rising
        low, high = np.where(upper, low, middle), np.where(upper, middle, high)


def _hits(result: np.ndarray, target: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(result - target) <= _CLOSE * np.abs(target))


def _steps(other: np.ndarray) -> list[np.ndarray]:
    size = np.maximum(np.abs(other.astype(np.float64)) * 0.05, 0.1 if other.dtype.kind == "f" else 1)
    return [size * factor for factor in (0, -1, 1, -20, 20)]


def _booleans(function: Function, start: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    yes, no = (function(np.full(start.shape, said)) for said in (True, False))
    return yes == wanted, (yes == wanted) | (no == wanted)
