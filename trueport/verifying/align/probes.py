"""What is kept of every value of one run, to tell which value of one model is which of another's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueport.runtimes.base import Model
from trueport.verifying.align.failures import Failure, run_each
from trueport.verifying.align.fingerprints import Sketch, best_order, distance, sketch

__all__ = ["Agreement", "Probe", "agreement", "probe_values"]

_CHUNK = 256
"""Values that are fetched at once."""
_WHOLE = 1 << 16
"""Elements up to which an array is always kept whole."""
_BUDGET = 1 << 28
"""Bytes of larger arrays that are kept whole; of the rest only a part."""
_LEVELS = (1e-6, 1e-4, 1e-2)
"""Relative distances: the same numbers, numbers that rounding moved, numbers that may be the same."""


@dataclass(frozen=True)
class Probe:
    """One value of one run."""

    shape: tuple[int, ...]
    dtype: str
    """empty where it is no array"""
    failed: bool
    """whether the model fails there"""
    array: np.ndarray | None
    """all elements, or some of them at the same positions for the same shape; None where it is no array"""
    whole: bool
    mark: Sketch | None = field(repr=False)
    """None for what says nothing: no numbers, or all of them equal"""


@dataclass(frozen=True)
class Agreement:
    """How well the numbers of two values agree."""

    level: int
    """3: the same, 2: but for rounding, 1: perhaps, 0: no"""
    perm: tuple[int, ...] | None = None
    """the order of axes of the second; None where it is the first one's"""


def probe_values(model: Model, feeds: Mapping[str, Any], names: Sequence[str]) -> dict[str, Probe]:
    """Return what is kept of values by name; what a model does not give says nothing."""
    found: dict[str, Probe] = {}
    spent = 0
    for start in range(0, len(names), _CHUNK):
        for name, value in run_each(model, feeds, names[start : start + _CHUNK]).items():
            found[name] = _probe(value, whole=spent <= _BUDGET)
            spent += value.nbytes if isinstance(value, np.ndarray) else 0
    return found


def _probe(value: Any, *, whole: bool) -> Probe:
    if not isinstance(value, (np.ndarray, np.generic)):
        return Probe((), "", isinstance(value, Failure), None, whole=False, mark=None)
    array = np.asarray(value)
    kind = "text" if array.dtype.kind in "OUS" else array.dtype.name
    mark = sketch(array.astype(np.int8) if array.dtype == bool else array)
    if whole or array.size <= _WHOLE:
        return Probe(array.shape, kind, False, array, whole=True, mark=mark)
    step = math.ceil(array.size / _WHOLE) | 1
    return Probe(array.shape, kind, False, array.ravel()[::step].copy(), whole=False, mark=mark)


def agreement(one: Probe, other: Probe, *, same_form: bool) -> Agreement:
    """Compare two values; in models of one form in the same order of axes only, if the shapes are the same."""
    a, b = one.array, other.array
    if a is None or b is None or (same_form and one.dtype != other.dtype):
        return Agreement(0)
    if a.dtype.kind not in "fiub" or b.dtype.kind not in "fiub":
        return Agreement(2 if one.shape == other.shape and np.array_equal(a, b) else 0)
    if one.shape == other.shape and (same_form or not (one.whole and other.whole)):
        return Agreement(_level(distance(a, b)))
    if not one.whole or not other.whole:
        return Agreement(0)
    found = best_order(a, b)
    if found is None:
        return Agreement(0)
    perm, gap = found
    return Agreement(_level(gap), None if perm == tuple(range(a.ndim)) else perm)


def _level(gap: float) -> int:
    return sum(gap <= most for most in _LEVELS)
