"""Sums in other orders: how far float32 sums of an operation's own terms are off, added as kernels add them.

Kernels add from one end, from the other, or in several lanes, by the CPU that they run on. Errors of different terms
mostly cancel, so that a bound of a few units of the last place holds for any order. Terms that are all alike, as those
of constant weights, are rounded in the same direction at every step: then the error grows with their number.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

__all__ = ["Sums", "largest_sum_error"]

_FEW = 32
"""Terms whose sum errs within the declared bounds in any order."""
_SUMS = 32
"""Sums that are tried, of all that an operation makes."""
_TERMS = 1 << 19
"""Terms that all of them may have together, but for one sum of more."""
_LANES = 8
"""Partial sums of a vectorized kernel."""


class Sums(enum.Enum):
    """Where the terms of an operation's sums are found in its inputs."""

    PRODUCT = "rows of the first operand times columns of the second"
    WINDOWS = "windows of a batch [N, C, ...] times weights [O, C / groups, ...]"
    WINDOWS_LAST = "windows of a batch [N, ..., C] times weights [..., C / groups, O]"
    AXES = "elements of the first input along the axes that the result lacks"


def largest_sum_error(sums: Sums, inputs: Sequence[Any], result: Any) -> float:
    """Return the largest error of some of the sums, relative to the sum of the magnitudes of its terms.

    In units of float32's roundoff (2 ** -24), whatever the type; 0 where sums are short or their terms unknown.
    """
    arrays = [array for array in inputs if isinstance(array, np.ndarray) and array.dtype == np.float64]
    if not arrays or (not np.shape(result) and sums is not Sums.AXES):
        return 0.0
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        return max((_error(terms) for terms in _terms(sums, arrays, np.shape(result), rng)), default=0.0)


def _error(terms: np.ndarray) -> float:
    """Return the largest error of the sums of rows, added in several orders."""
    narrow = terms.astype(np.float32)
    exact, size = narrow.sum(axis=1, dtype=np.float64), np.abs(narrow).sum(axis=1, dtype=np.float64)
    lanes = narrow[:, : narrow.shape[1] // _LANES * _LANES].reshape(len(narrow), -1, _LANES)
    off = [
        _in_order(narrow) - exact,
        _in_order(narrow[:, ::-1]) - exact,
        (np.add.accumulate(lanes, axis=1)[:, -1] - lanes.sum(axis=1, dtype=np.float64)).sum(axis=1),
    ]
    counted = np.isfinite(size) & (size > 0)
    return max(float(np.max(np.abs(o[counted]) / size[counted], initial=0.0)) for o in off) * 2.0**24


def _in_order(terms: np.ndarray) -> np.ndarray:
    """Return the sums of rows, each step rounded to float32: NumPy's own sums are pairwise."""
    return np.asarray(np.add.accumulate(terms, axis=1)[:, -1], np.float64)


def _terms(
    sums: Sums, arrays: Sequence[np.ndarray], shape: tuple[int, ...], rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield terms of some sums, ``[sums, terms]``; several where shapes leave open which axis is summed."""
    if sums is Sums.AXES:
        yield from _of_axes(arrays[0], shape, rng)
        return
    operands = [array for array in arrays if array.ndim > 1][-2:]
    if len(operands) < 2 or not all(array.size for array in operands):
        return
    first, second = operands
    if sums is Sums.PRODUCT:
        yield from _of_product(first, second, rng)
    else:
        yield from _of_windows(first, second, rng, channels_last=sums is Sums.WINDOWS_LAST)


def _of_product(a: np.ndarray, b: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    for left in (-1, -2):
        for right in (-2, -1):
            length = a.shape[left]
            if length == b.shape[right] and length > _FEW:
                yield _lines(a, left, rng) * _lines(b, right, rng)


def _of_windows(
    x: np.ndarray, weights: np.ndarray, rng: np.random.Generator, *, channels_last: bool
) -> Iterator[np.ndarray]:
    """Yield windows anywhere, as if they were neither strided nor dilated: their numbers are alike."""
    if channels_last:
        x, weights = np.moveaxis(x, -1, 1), np.moveaxis(np.moveaxis(weights, -1, 0), -1, 1)
    if x.ndim != weights.ndim:
        return
    inside = [min(sizes) for sizes in zip(x.shape[1:], weights.shape[1:], strict=True)]  # the rest is padding
    size = int(np.prod(inside))
    if size <= _FEW:
        return
    rows = []
    for _ in range(_count(size)):
        n, o = (int(rng.integers(len(array))) for array in (x, weights))
        starts = [int(rng.integers(have - want + 1)) for have, want in zip(x.shape[1:], inside, strict=True)]
        part = tuple(slice(start, start + want) for start, want in zip(starts, inside, strict=True))
        rows.append((x[n][part] * weights[o][tuple(map(slice, inside))]).ravel())
    yield np.stack(rows)


def _of_axes(x: np.ndarray, shape: tuple[int, ...], rng: np.random.Generator) -> Iterator[np.ndarray]:
    reduced = _reduced_axes(x.shape, shape)
    moved = np.moveaxis(x, reduced, range(-len(reduced), 0)) if reduced else x
    length = int(np.prod([x.shape[axis] for axis in reduced], dtype=np.int64))
    if length <= _FEW or not x.size:
        return
    kept = moved.shape[: x.ndim - len(reduced)]
    places = rng.integers(0, max(1, int(np.prod(kept, dtype=np.int64))), size=_count(length))
    yield np.stack([moved[np.unravel_index(place, kept) if kept else ()].ravel() for place in places])


def _reduced_axes(shape: tuple[int, ...], result: tuple[int, ...]) -> list[int]:
    """Return the axes that a result lacks, or has with one element."""
    if len(result) == len(shape):
        return [axis for axis, (n, m) in enumerate(zip(shape, result, strict=True)) if n != m]
    left, found = list(result), []
    for axis, n in enumerate(shape):
        if left and left[0] == n:
            left.pop(0)
        else:
            found.append(axis)
    return found if not left else []


def _lines(array: np.ndarray, axis: int, rng: np.random.Generator) -> np.ndarray:
    """Return some rows along an axis, ``[rows, length]``."""
    moved = np.moveaxis(array, axis, -1)
    places = rng.integers(0, moved[..., 0].size, size=_count(moved.shape[-1]))
    return moved[np.unravel_index(places, moved.shape[:-1])]


def _count(length: int) -> int:
    return max(1, min(_SUMS, _TERMS // length))
