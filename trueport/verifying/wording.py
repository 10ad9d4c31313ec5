"""What a comparison found, in words: how a ratio, a verdict and an error are said wherever people read them."""

from __future__ import annotations

import math
import re
from typing import Any

from trueport.fidelity import Verdict
from trueport.verifying.judge.output import Judgement

__all__ = ["MOST", "describe_error", "label", "multiple", "reworded", "verdict_words"]

MOST = 1e6
"""Ratios above it are not printed: their digits say how small the noise is, not how large the error."""
_LEAST = 1e-3
_LONGEST = 60
_RATIO = re.compile(r"(?:over )?(?:\d[\d.]*(?:e[+-]?\d+)?|inf) × what rounding explains")
"""How a judgement states a ratio."""


def verdict_words(verdict: Verdict | None) -> str:
    """Return a verdict as it is printed; programs read its value."""
    if verdict is None:
        return "not compared"
    return "not faithful" if verdict == Verdict.DEPARTS else verdict.value


def multiple(ratio: float) -> str:
    """Return a ratio in words: ``0.2 ×``, ``8.04 ×``, ``13,500 ×``, ``more than a million ×``."""
    if math.isnan(ratio):
        return "NaN ×"
    if ratio > MOST:
        return "more than a million ×"
    if 0 < ratio < _LEAST:
        return f"less than {_LEAST:g} ×"
    rounded = float(f"{ratio:.1g}" if ratio < 1 else f"{ratio:.3g}")
    return f"{rounded:,.0f} ×" if rounded >= 100 else f"{rounded:g} ×"


def describe_error(found: Judgement, k: float | None) -> str:
    """Return an output's error in words, with the limit ``k`` of what is faithful; without it where that is None."""
    said = reworded(found.why, found.ratio, found.metrics) or f"error is {multiple(found.ratio)} the declared bounds"
    return f"{said} (limit {k:g} ×)" if k is not None and _RATIO.search(found.why) else said


def reworded(why: str, ratio: float, metrics: Any = None) -> str:
    """Return a judgement's reason with its ratio in words."""
    return _RATIO.sub(lambda _: _error(ratio, metrics), why)


def label(name: str, longest: int = _LONGEST) -> str:
    """Return a name as a line of text takes it: control characters escaped, the middle of a long one left out."""
    said = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in name)
    if len(said) <= longest:
        return said
    kept = longest - 1
    return f"{said[: kept // 3]}…{said[len(said) - (kept - kept // 3) :]}"


def _error(ratio: float, metrics: Any) -> str:
    dtype = getattr(metrics, "dtype", "")
    return f"error is {multiple(ratio)} normal {dtype + ' ' if dtype else ''}rounding"
