"""The error along the depth of a network as a report keeps it: figures per value, and how its differences spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueport.verifying.judge.output import DEFAULT_K
from trueport.verifying.wording import label

__all__ = ["Figure", "Histogram", "Profile", "histogram"]

_PER_DECADE = 2
_FEWEST, _MOST = -40 * _PER_DECADE, 40 * _PER_DECADE


@dataclass(frozen=True)
class Histogram:
    """Distances from the reference, counted in half decades: bin ``i`` begins at ``10 ** ((start + i) / 2)``."""

    start: int
    source: tuple[int, ...]
    target: tuple[int, ...]
    source_exact: int = 0
    """elements without any distance"""
    target_exact: int = 0


@dataclass(frozen=True)
class Figure:
    """One value that both models have."""

    value: str
    node: str
    op: str
    ratio: float
    """distance from the float64 reference over normal rounding, everything before it included"""
    error: float
    floor: float
    own_ratio: float | None = None
    """the same for the node alone, fed with the source's own inputs; None where it was not cut out"""
    own: float | None = None
    target: str = ""
    """the node of the target that makes it"""
    histogram: Histogram | None = None


@dataclass(frozen=True)
class Profile:
    """All figures in the order in which the source makes its values."""

    figures: tuple[Figure, ...]
    k: float = DEFAULT_K
    """ratios up to this count as faithful"""
    aligned: int = 0
    values: int = 0
    """of the source's intermediate values, so many were matched in the target"""
    culprit: str = ""
    """the value of the first node that differs by itself"""
    why: str = ""
    """what the culprit's error is; without one, why there is none, or why nothing was measured"""
    causes: tuple[str, ...] = ()
    node: str = ""
    """the culprit's node in the source, with its operator and, where that is known, its layers and lines of code"""
    op: str = ""
    target_node: str = ""
    origin: tuple[str, ...] = ()

    @property
    def blamed(self) -> str:
        """The culprit in both models, in words; empty where there is none."""
        if not self.culprit:
            return ""
        said = f"the first node that differs: {self.op} {label(self.node or self.culprit)!r}".replace("  ", " ")
        said += f", in the target {label(self.target_node)!r}" if self.target_node else ""
        return f"{said} ({', '.join(self.origin)})" if self.origin else said


def histogram(source: Any, target: Any, truth: Any) -> Histogram | None:
    """Return how far both are from the float64 reference; None for what has no distance."""
    exact = np.asarray(truth)
    ours, theirs = np.asarray(target), np.asarray(source)
    if exact.dtype.kind not in "fiu" or not exact.size or ours.shape != exact.shape or theirs.shape != exact.shape:
        return None
    wide = exact.astype(np.float64)
    bins = [_bins(np.abs(np.asarray(array).astype(np.float64) - wide)) for array in (theirs, ours)]
    filled = np.concatenate([found for found, _ in bins])
    if not filled.size:
        return Histogram(0, (), (), bins[0][1], bins[1][1])
    start, stop = int(filled.min()), int(filled.max()) + 1
    counts = [np.bincount(found - start, minlength=stop - start).tolist() for found, _ in bins]
    return Histogram(start, tuple(counts[0]), tuple(counts[1]), bins[0][1], bins[1][1])


def _bins(distance: np.ndarray) -> tuple[np.ndarray, int]:
    """The bin of every distance, and how many there are that are none."""
    finite = distance[np.isfinite(distance)]
    apart = finite[finite > 0]
    places = np.floor(np.log10(apart) * _PER_DECADE).astype(np.int64)
    return np.clip(places, _FEWEST, _MOST), int(np.sum(finite == 0))
