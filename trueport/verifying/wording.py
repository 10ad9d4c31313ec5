"""What a comparison found, in words: how a ratio, a verdict and an error are said wherever people read them."""

from __future__ import annotations

import math
import re
from typing import Any

import ml_dtypes
import numpy as np

from trueport.fidelity import Verdict
from trueport.verifying.judge.output import Judgement

__all__ = ["MOST", "describe_error", "label", "multiple", "reworded", "verdict_words"]

MOST = 1e6
"""Ratios above it are not printed: their digits say how small the noise is, not how large the error."""
_NO_NOISE = 1e3
"""An allowance of so few of the smallest normal numbers is none: the source gives the element exactly."""
_ULPS = 1e9
"""More units of the last place say only that the source's number is about zero."""
_LEAST = 1e-3
_TYPES = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "float64": np.float64,
    "complex64": np.float32,
    "complex128": np.float64,
}
_LONGEST = 60
_RATIO = re.compile(r"(?:\d[\d.]*(?:e[+-]?\d+)?|inf) × what rounding explains")
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
    stated = _RATIO.search(found.why) and not _is_exact(found.ratio, found.metrics)
    return f"{said} (limit {k:g} ×)" if stated and k is not None else said


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
    if _is_exact(ratio, metrics):
        told = metrics.max_ulp is not None and metrics.max_ulp < _ULPS
        units = f", {metrics.max_ulp:,.0f} ulp" if told else ""
        return f"the source is exact here, the target is off by up to {metrics.max_abs:.3g}{units}"
    return f"error is {multiple(ratio)} normal {dtype + ' ' if dtype else ''}rounding"


def _is_exact(ratio: float, metrics: Any) -> bool:
    """True if the element that the ratio is of has no noise: every run of the source gives the very same number."""
    dtype, away = getattr(metrics, "dtype", ""), getattr(metrics, "max_abs", None)
    if dtype not in _TYPES or away is None or not MOST < ratio < math.inf:
        return False
    return bool(away / ratio < _NO_NOISE * float(ml_dtypes.finfo(_TYPES[dtype]).tiny))
