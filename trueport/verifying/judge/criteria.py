"""What a user may ask for beside *faithful*: the same bits, or a tolerance of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueport.errors import UsageError
from trueport.fidelity import Verdict
from trueport.verifying.judge.output import DEFAULT_K, Judgement, Tolerance

__all__ = ["Asked", "as_asked"]


@dataclass(frozen=True)
class Asked:
    """How outputs are judged."""

    k: float = DEFAULT_K
    strict: bool = False
    """nothing but the source's own bits will do"""
    tolerance: Tolerance | None = None
    """what departs by the truth but lies within it is called *within tolerance*"""
    precision: str = "auto"
    """``strict``: a target that was made narrower on purpose is judged by the source's precision"""

    @classmethod
    def of(
        cls, k: float | None, strict: bool, rtol: float | None, atol: float | None, precision: str = "auto"
    ) -> Asked:
        """From the words of a call, of which all may be left out."""
        if precision not in ("auto", "strict"):
            raise UsageError(f"expected auto or strict, got {precision!r}", where="--precision")
        for name, value in (("k", k), ("rtol", rtol), ("atol", atol)):
            if value is not None and not value >= 0:
                raise UsageError(f"{value} is no bound", where=name, remedy="give a number that is not negative")
        tolerant = rtol is not None or atol is not None
        if strict and (tolerant or k is not None):
            raise UsageError(
                "asks for equal bits: neither k nor a tolerance means anything beside it",
                where="strict",
                remedy="leave one out",
            )
        tolerance = Tolerance(atol or 0.0, rtol or 0.0) if tolerant else None
        return cls(DEFAULT_K if k is None else k, strict, tolerance, precision)


def as_asked(found: Judgement, want: Any, got: Any, wish: Asked) -> Judgement:
    """A judgement as it stands for who wants the same bits, or has no truth and a tolerance."""
    if wish.strict:
        same = _same(want, got)
        why = "the same bits" if same else f"not the same bits; {found.why}"
        return replace(found, verdict=Verdict.FAITHFUL if same else Verdict.DEPARTS, why=why)
    if wish.tolerance is not None and found.verdict == Verdict.DEPARTS and _holds(wish.tolerance, want, got):
        return replace(found, verdict=Verdict.WITHIN_TOLERANCE, why=f"{found.why}; within {wish.tolerance}")
    return found


def _holds(tolerance: Tolerance, want: Any, got: Any) -> bool:
    a, b = (value if isinstance(value, np.ndarray) else None for value in (want, got))
    if a is None or b is None or a.shape != b.shape or a.dtype != b.dtype:
        return False
    return tolerance.holds(a, b)


def _same(want: Any, got: Any) -> bool:
    """Equal types, shapes and bits; any NaN is one NaN."""
    if isinstance(want, Mapping):
        return isinstance(got, Mapping) and list(want) == list(got) and all(_same(want[key], got[key]) for key in want)
    if isinstance(want, (list, tuple)):
        return isinstance(got, (list, tuple)) and len(want) == len(got) and all(map(_same, want, got))
    if want is None or got is None:
        return want is got
    a, b = np.asarray(want), np.asarray(got)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind in "OUSbiu":
        return bool(np.array_equal(a, b))
    bits = np.dtype(f"V{a.dtype.itemsize}")
    equal = np.ascontiguousarray(a).view(bits) == np.ascontiguousarray(b).view(bits)
    return bool(np.all(equal.reshape(a.shape) | ((a != a) & (b != b))))  # only NaN is not itself
