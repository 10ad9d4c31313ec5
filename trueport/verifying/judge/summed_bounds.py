"""One output compared without a truth: floats may differ by the declared bounds added up, all else must be equal.

It says whether the numbers agree, not why they don't. The unit is the last place of the output's largest magnitude.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from trueport.fidelity import Verdict

__all__ = ["OutputComparison", "compare_outputs"]


@dataclass(frozen=True)
class OutputComparison:
    """One output over all inputs."""

    name: str
    verdict: Verdict
    max_abs_error: float
    needed_ulps: float
    """units of the last place, at the output's largest magnitude, that separate the two"""
    allowed_ulps: float
    why: str = ""


def _badness(result: OutputComparison) -> tuple[bool, float]:
    return result.verdict == Verdict.DEPARTS, result.needed_ulps


def compare_outputs(
    name: str, want: Any, got: Any, allowed_ulps: float, *, shapes_only: bool = False
) -> OutputComparison:
    """One value of one sample."""
    if isinstance(want, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(want) != len(got):
            return _departs(name, "a sequence of another length" if isinstance(got, (list, tuple)) else "no sequence")
        parts = [compare_outputs(name, w, g, allowed_ulps) for w, g in zip(want, got, strict=True)]
        return max(parts, key=_badness, default=OutputComparison(name, Verdict.FAITHFUL, 0, 0, allowed_ulps))
    if isinstance(want, dict) and isinstance(got, dict) and want.keys() == got.keys():
        wanted, made = (_map_values(values, want) for values in (want, got))
        return compare_outputs(name, wanted, made, allowed_ulps, shapes_only=shapes_only)
    if want is None or got is None or isinstance(want, dict) or isinstance(got, dict):
        same = type(want) is type(got) and want == got
        return OutputComparison(name, Verdict.FAITHFUL, 0, 0, 0) if same else _departs(name, f"{got}, want {want}")
    want, got = np.asarray(want), np.asarray(got)
    if want.shape != got.shape:
        return _departs(name, f"shape {list(got.shape)}, want {list(want.shape)}")
    if want.dtype != got.dtype and want.dtype.kind not in "OU":
        return _departs(name, f"dtype {got.dtype}, want {want.dtype}")
    if shapes_only:
        return OutputComparison(name, Verdict.FAITHFUL, 0, 0, 0, "random: shapes and dtypes compared")
    if want.dtype.kind in "fc" or want.dtype == ml_dtypes.bfloat16:
        return _compare_floats(name, want, got, allowed_ulps)
    different = int(np.sum(np.asarray(want != got)))
    if different:
        return _departs(name, f"{different} of {want.size} elements differ")
    return OutputComparison(name, Verdict.FAITHFUL, 0, 0, 0)


def _map_values(mapping: dict[Any, Any], keys: Iterable[Any]) -> np.ndarray:
    """A map's values in the order of the keys; runtimes give those of a float32 map as Python's floats."""
    values = np.array([mapping[key] for key in keys])
    single = values.astype(np.float32) if values.dtype == np.float64 else values
    return single if np.array_equal(single, values, equal_nan=values.dtype.kind == "f") else values


def _departs(name: str, why: str) -> OutputComparison:
    return OutputComparison(name, Verdict.DEPARTS, float("inf"), float("inf"), 0, why)


def _compare_floats(name: str, want: np.ndarray, got: np.ndarray, allowed: float) -> OutputComparison:
    info = ml_dtypes.finfo(want.real.dtype if want.dtype.kind == "c" else want.dtype)
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    w, g = want.astype(wide), got.astype(wide)
    finite = np.isfinite(w)
    with np.errstate(invalid="ignore"):
        if not (np.array_equal(np.isnan(w), np.isnan(g)) and np.array_equal(w[np.isinf(w)], g[np.isinf(w)])):
            return _departs(name, "NaN or infinity stand in other places")
    if not np.all(np.isfinite(g[finite])):
        return _departs(name, "NaN or infinity stand in other places")
    error = float(np.max(np.abs(w[finite] - g[finite]), initial=0.0))
    unit = max(float(np.max(np.abs(w[finite]), initial=0.0)) * float(info.eps), float(info.tiny))
    needed = error / unit
    return OutputComparison(name, Verdict.FAITHFUL if needed <= allowed else Verdict.DEPARTS, error, needed, allowed)
