"""Distances between two arrays, for people: the verdict does not hang on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import ml_dtypes
import numpy as np

__all__ = ["Metrics", "measure"]

_CLASSES = 5
"""Rank-2 floats with so many columns are looked at as a classifier's scores."""
_STEPS = 64
"""Bars of a histogram: the smallest differences; those beyond are counted by ``max_abs`` alone."""


@dataclass(frozen=True)
class Metrics:
    """Target against source; None where a figure has no meaning for the type."""

    max_abs: float | None = None
    mean_abs: float | None = None
    max_rel: float | None = None
    """over elements that are not zero in the source, like ``mean_rel``"""
    mean_rel: float | None = None
    max_ulp: float | None = None
    """in units of the last place at the source's number"""
    mean_ulp: float | None = None
    snr_db: float | None = None
    """signal to noise; None when there is no noise"""
    cosine: float | None = None
    top1: float | None = None
    """share of rows whose largest score stands at the same place"""
    top5: float | None = None
    """share of the five largest scores of a row that are among the five largest of the other"""
    histogram: Mapping[int, int] = field(default_factory=dict)
    """integers: how many elements differ by how many units"""
    nonfinite: int = 0
    """elements that are NaN or infinite in the source or in the target"""
    nonfinite_differ: int = 0
    """those of them that are not the same in both"""
    needed_atol: float | None = None
    """the absolute tolerance, with a relative one of zero, under which the two would be called equal"""
    needed_rtol: float | None = None
    """the same the other way round; None where no relative tolerance is enough, for the source has a zero there"""
    dtype: str = ""
    """the type of both; empty in what older versions wrote"""


def measure(want: np.ndarray, got: np.ndarray) -> Metrics:
    """All figures for two arrays of one shape and type."""
    found = Metrics()
    if want.dtype.kind in "iu" or want.dtype == bool:
        found = _integers(want, got)
    if want.dtype.kind in "fc" or want.dtype.name == "bfloat16":
        found = _floats(want, got)
    return replace(found, dtype=want.dtype.name)


def _integers(want: np.ndarray, got: np.ndarray) -> Metrics:
    difference = (
        got.astype(object) - want.astype(object)
        if want.dtype.itemsize == 8
        else got.astype(np.int64) - want.astype(np.int64)
    )
    wide = np.asarray(difference, np.float64).ravel()  # of scalars NumPy gives a plain int
    steps, counts = np.unique(wide, return_counts=True)
    shown = np.sort(np.argsort(np.abs(steps), kind="stable")[:_STEPS])
    worst = float(np.max(np.abs(steps), initial=0.0))
    return Metrics(
        max_abs=worst,
        mean_abs=float(np.mean(np.abs(wide))) if wide.size else 0.0,
        histogram={int(steps[i]): int(counts[i]) for i in shown},
        needed_atol=worst,
        needed_rtol=_needed_rtol(np.abs(wide), np.abs(want.astype(np.float64)).ravel()),
    )


def _floats(want: np.ndarray, got: np.ndarray) -> Metrics:
    info = ml_dtypes.finfo(np.empty(0, want.dtype).real.dtype if want.dtype.kind == "c" else want.dtype)
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    w, g = want.astype(wide).ravel(), got.astype(wide).ravel()
    finite = np.isfinite(w) & np.isfinite(g)
    odd = int(np.sum(~finite & ~((w == g) | (np.isnan(w) & np.isnan(g)))))
    special = int(np.sum(~finite))
    w, g = w[finite], g[finite]
    if not w.size:
        return Metrics(nonfinite=special, nonfinite_differ=odd)
    with np.errstate(all="ignore"):
        distance, size = np.abs(w - g), np.abs(w)
        noise, signal = float(np.sum(distance**2)), float(np.sum(size**2))
        norms = float(np.linalg.norm(w) * np.linalg.norm(g))
        relative = (distance[size > 0] / size[size > 0]) if np.any(size > 0) else np.zeros(1)
        units = distance / np.maximum(size * float(info.eps), float(info.tiny))
        first, five = _ranks(want, got)
        return Metrics(
            max_abs=float(np.max(distance)),
            mean_abs=float(np.mean(distance)),
            max_rel=float(np.max(relative)),
            mean_rel=float(np.mean(relative)),
            max_ulp=float(np.max(units)),
            mean_ulp=float(np.mean(units)),
            snr_db=10 * float(np.log10(signal / noise)) if noise and signal else None,
            cosine=float(np.abs(np.vdot(w, g))) / norms if norms else None,
            top1=first,
            top5=five,
            needed_atol=None if odd else float(np.max(distance)),
            needed_rtol=None if odd else _needed_rtol(distance, size),
            nonfinite=special,
            nonfinite_differ=odd,
        )


def _needed_rtol(distance: np.ndarray, size: np.ndarray) -> float | None:
    apart = distance > 0
    if np.any(apart & (size == 0)):
        return None
    return float(np.max(distance[apart] / size[apart], initial=0.0))


def _ranks(want: np.ndarray, got: np.ndarray) -> tuple[float | None, float | None]:
    if not _is_scores(want):
        return None, None
    columns = want.shape[-1]
    rows = [np.argsort(-array.reshape(-1, columns), axis=-1, kind="stable") for array in (want, got)]
    first = float(np.mean(rows[0][:, 0] == rows[1][:, 0]))
    if columns < _CLASSES:
        return first, None
    return first, float(np.mean([len(set(a[:5]) & set(b[:5])) / 5 for a, b in zip(*rows, strict=True)]))


def _is_scores(want: np.ndarray) -> bool:
    """Columns enough for classes, or rows of shares that add up to one, as a Softmax leaves them."""
    if want.ndim < 1 or want.dtype.kind != "f" or not want.size or want.shape[-1] < 2:
        return False
    if want.ndim == 2 and want.shape[-1] >= _CLASSES:
        return True
    sums = want.astype(np.float64).sum(axis=-1)
    return bool(np.min(want) >= 0 and np.all(np.abs(sums - 1) < 1e-2))
