"""Distances between two arrays, for people: the verdict does not hang on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

__all__ = ["Metrics", "measure"]

_CLASSES = 5
"""Last dims from this size on are looked at as a classifier's scores."""


@dataclass(frozen=True)
class Metrics:
    """Target against source; None where a figure has no meaning for the type."""

    max_abs: float | None = None
    mean_abs: float | None = None
    max_rel: float | None = None
    max_ulp: float | None = None
    snr_db: float | None = None
    """signal to noise; None when there is no noise"""
    cosine: float | None = None
    top1: float | None = None
    """share of rows whose largest score stands at the same place"""
    top5: float | None = None
    histogram: Mapping[int, int] = field(default_factory=dict)
    """integers: how many elements differ by how many units"""
    nonfinite_differ: int = 0
    needed_rtol: float | None = None
    """the relative tolerance (of the largest magnitude) under which the two would be called equal"""


def measure(want: np.ndarray, got: np.ndarray) -> Metrics:
    """All figures for two arrays of one shape and type."""
    if want.dtype.kind in "iu" or want.dtype == bool:
        return _integers(want, got)
    if want.dtype.kind in "fc" or want.dtype.name == "bfloat16":
        return _floats(want, got)
    return Metrics()


def _integers(want: np.ndarray, got: np.ndarray) -> Metrics:
    difference = (
        got.astype(object) - want.astype(object)
        if want.dtype.itemsize == 8
        else got.astype(np.int64) - want.astype(np.int64)
    )
    steps, counts = np.unique(difference.astype(np.float64), return_counts=True)
    worst = float(np.max(np.abs(steps), initial=0.0))
    return Metrics(max_abs=worst, histogram={int(s): int(c) for s, c in zip(steps[:64], counts[:64], strict=True)})


def _floats(want: np.ndarray, got: np.ndarray) -> Metrics:
    info = ml_dtypes.finfo(np.empty(0, want.dtype).real.dtype if want.dtype.kind == "c" else want.dtype)
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    w, g = want.astype(wide).ravel(), got.astype(wide).ravel()
    finite = np.isfinite(w) & np.isfinite(g)
    odd = int(np.sum(~finite & ~((w == g) | (np.isnan(w) & np.isnan(g)))))
    w, g = w[finite], g[finite]
    if not w.size:
        return Metrics(nonfinite_differ=odd)
    with np.errstate(all="ignore"):
        distance, size = np.abs(w - g), np.abs(w)
        noise, signal = float(np.sum(distance**2)), float(np.sum(size**2))
        norms = float(np.linalg.norm(w) * np.linalg.norm(g))
        largest = float(np.max(size))
        unit = np.maximum(size * float(info.eps), float(info.tiny))
        first, five = _ranks(want, got)
        return Metrics(
            max_abs=float(np.max(distance)),
            mean_abs=float(np.mean(distance)),
            max_rel=float(np.max(np.where(size > 0, distance / np.where(size > 0, size, 1), 0))),
            max_ulp=float(np.max(distance / unit)),
            snr_db=10 * float(np.log10(signal / noise)) if noise and signal else None,
            cosine=float(np.abs(np.vdot(w, g))) / norms if norms else None,
            top1=first,
            top5=five,
            nonfinite_differ=odd,
            needed_rtol=float(np.max(distance)) / largest if largest else None,
        )


def _ranks(want: np.ndarray, got: np.ndarray) -> tuple[float | None, float | None]:
    if want.ndim != 2 or want.shape[-1] < _CLASSES or want.dtype.kind != "f" or not want.size:
        return None, None
    mine, theirs = np.argsort(-want, axis=-1, kind="stable"), np.argsort(-got, axis=-1, kind="stable")
    first = float(np.mean(mine[:, 0] == theirs[:, 0]))
    five = float(np.mean([len(set(a[:5]) & set(b[:5])) / 5 for a, b in zip(mine, theirs, strict=True)]))
    return first, five
