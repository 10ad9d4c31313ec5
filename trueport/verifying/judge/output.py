"""One output of one run judged: how far is the target from the truth, in units of what rounding alone explains?

Truth is the float64 oracle. For each element the *floor* is the largest distance to it of anything that is faithful by
definition: the source's own runs, and the oracle with the rounding of the model's types put in. The target's *ratio* is
its distance over the floor, the largest of all elements; a target is faithful while that is at most ``k``.

Integers, booleans and strings have no distance: they must equal the source's, but for as many elements as rounding
turns over in the same runs (an ArgMax among near equals, a quantized value next to a tie).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from trueport.fidelity import Verdict
from trueport.verifying.judge.bulk import BULK_RUNS, Errors, bulk_excess
from trueport.verifying.judge.metrics import Metrics, measure

__all__ = ["DEFAULT_K", "Judgement", "Tolerance", "allowance", "is_doubtful", "judge", "judge_value", "source_distance"]

DEFAULT_K = 8.0
"""The ratio up to which a target is faithful; chosen by the experiment in docs/verify.md."""
_BEYOND_DOUBT = 1000.0
"""A ratio that no element shows by chance, because it happened to err little in all of a few noisy runs.

Unless rounding makes it jump, as the phase of a negative number jumps from pi to -pi, and it did not in those few.
"""
_CHAOS = 0.1
"""Noise over the size of an output above which rounding errors decide what the output is."""
_CHAOS_RUNS = 3
_LARGEST = 1e6
"""A ratio beyond which no figure is printed."""
_NEARLY_EXACT = 1e-3
"""Of a unit of the last place: a smaller floor is none."""
_LEAST_ULPS = 2.0
"""What any float may be off beside the floor, wherever the model rounds at all."""


@dataclass(frozen=True)
class Tolerance:
    """What a user allows beside what is faithful: a distance from the source of ``atol + rtol * |source|``."""

    atol: float = 0.0
    rtol: float = 0.0

    def holds(self, want: np.ndarray, got: np.ndarray) -> bool:
        """Whether numbers are that near; NaN and infinity must stand in the same places."""
        if want.dtype == bool or (want.dtype.kind not in "fciu" and want.dtype.name != "bfloat16"):
            return False
        wide = np.complex128 if want.dtype.kind == "c" else np.float64
        return bool(np.allclose(got.astype(wide), want.astype(wide), self.rtol, self.atol, equal_nan=True))

    def __str__(self) -> str:
        return f"atol {self.atol:g}, rtol {self.rtol:g}"


@dataclass(frozen=True)
class Judgement:
    """What one value's comparison says."""

    name: str
    verdict: Verdict
    ratio: float
    """distance from the truth over what rounding explains; inf where there is no distance, or the source is exact"""
    why: str
    metrics: Metrics | None = None
    bulk: float = 0.0
    """root mean square error over what rounding explains of it; beyond 1 the value is off as a whole"""

    @property
    def is_suspect(self) -> bool:
        """True if it departs, or more noisy runs may show that it does as a whole."""
        return self.verdict == Verdict.DEPARTS or self.bulk > 1

    def __post_init__(self) -> None:
        if self.ratio is None:  # as JSON holds what is infinite
            object.__setattr__(self, "ratio", float("inf"))


def is_doubtful(found: Judgement, *, known: bool) -> bool:
    """Whether more noisy runs might explain what does not look faithful; ``known``: it departs on other inputs."""
    return (found.verdict != Verdict.FAITHFUL or found.bulk > 1) and not (known and found.ratio >= _BEYOND_DOUBT)


def judge(
    name: str,
    source: Sequence[Any],
    target: Any,
    oracle: Any,
    noisy: Sequence[Any],
    *,
    k: float = DEFAULT_K,
    tolerance: Tolerance | None = None,
) -> Judgement:
    """Judge a value: ``source`` holds its runs, the first being the plain one; ``oracle`` may be None."""
    plain = source[0]
    if isinstance(plain, (list, tuple)):
        return _judge_list(name, source, target, oracle, noisy, k, tolerance)
    if isinstance(plain, dict) or plain is None or isinstance(target, (dict, list, tuple)) or target is None:
        same = type(plain) is type(target) and plain == target
        return _same_or_departs(name, same, f"{target!r}, the source gives {plain!r}")
    want, got = np.asarray(plain), np.asarray(target)
    if want.shape != got.shape:
        return _departs(name, f"shape {list(got.shape)}, the source gives {list(want.shape)}")
    if want.dtype != got.dtype and not {want.dtype.kind, got.dtype.kind} <= {"O", "U", "S"}:
        return _departs(name, f"dtype {got.dtype}, the source gives {want.dtype}")
    found = judge_value(name, [np.asarray(run) for run in source], got, oracle, noisy, k=k)
    if tolerance is None or found.verdict != Verdict.DEPARTS or not tolerance.holds(want, got):
        return found
    return replace(found, verdict=Verdict.WITHIN_TOLERANCE, why=f"{found.why}; within {tolerance}")


def judge_value(
    name: str, source: Sequence[np.ndarray], got: np.ndarray, oracle: Any, noisy: Sequence[Any], *, k: float
) -> Judgement:
    """Judge arrays of one shape and type."""
    want = source[0]
    fitting = [np.asarray(run) for run in noisy if np.shape(run) == want.shape]
    truth = np.asarray(oracle) if oracle is not None and np.shape(oracle) == want.shape else None
    if want.dtype.kind in "fc" or want.dtype.name == "bfloat16":
        return _judge_floats(name, source, got, truth, fitting, k)
    others = [*source[1:], *fitting, *([] if truth is None else [truth])]
    return _judge_exact(name, want, got, others, k)


def _judge_list(
    name: str,
    source: Sequence[Any],
    target: Any,
    oracle: Any,
    noisy: Sequence[Any],
    k: float,
    tolerance: Tolerance | None,
) -> Judgement:
    plain = source[0]
    if not isinstance(target, (list, tuple)) or len(target) != len(plain):
        return _departs(name, "a sequence of another length")
    parts = []
    for index, item in enumerate(plain):
        at = [run[index] for run in source if isinstance(run, (list, tuple)) and len(run) == len(plain)]
        truth = oracle[index] if isinstance(oracle, (list, tuple)) and len(oracle) == len(plain) else None
        errs = [run[index] for run in noisy if isinstance(run, (list, tuple)) and len(run) == len(plain)]
        parts.append(judge(name, at or [item], target[index], truth, errs, k=k, tolerance=tolerance))
    return max(parts, key=_badness, default=Judgement(name, Verdict.FAITHFUL, 0.0, "empty"))


def _badness(part: Judgement) -> tuple[int, float]:
    return list(Verdict).index(part.verdict), part.ratio


def _judge_exact(name: str, want: np.ndarray, got: np.ndarray, others: Sequence[np.ndarray], k: float) -> Judgement:
    turned = int(np.sum(np.asarray(want != got)))
    metrics = measure(want, got)
    if not turned:
        return Judgement(name, Verdict.FAITHFUL, 0.0, "equal", metrics)
    by_rounding = max((int(np.sum(np.asarray(other != want))) for other in others), default=0)
    ratio = turned / by_rounding if by_rounding else float("inf")
    near = _near(want, got, others)
    if ratio <= k and near:
        return Judgement(name, Verdict.FAITHFUL, ratio, f"{turned} differ, as many as rounding turns over", metrics)
    why = f"{turned} of {want.size} elements differ"
    return Judgement(name, Verdict.DEPARTS, ratio if near else float("inf"), why, metrics)


def _near(want: np.ndarray, got: np.ndarray, others: Sequence[np.ndarray]) -> bool:
    """Whether numbers differ by no more than rounding makes them differ; what has no distance is near."""
    if want.dtype.kind not in "iu":
        return True
    wide = want.astype(np.float64)
    reached = max((float(np.max(np.abs(other.astype(np.float64) - wide), initial=0)) for other in others), default=0.0)
    return bool(np.max(np.abs(got.astype(np.float64) - wide), initial=0) <= reached)


def _judge_floats(
    name: str,
    source: Sequence[np.ndarray],
    got: np.ndarray,
    oracle: np.ndarray | None,
    noisy: Sequence[np.ndarray],
    k: float,
) -> Judgement:
    want = source[0]
    metrics = measure(want, got)
    truth, floor = _truth_and_floor(source, oracle, noisy)
    s, t = want.astype(truth.dtype), got.astype(truth.dtype)
    odd = _odd_places(s, t)
    # Rounding may turn over what is infinite only where some faithful run shows it.
    if odd is not None and np.any(odd & np.isfinite(floor)):
        return Judgement(name, Verdict.DEPARTS, float("inf"), "NaN or infinity stand in other places", metrics)
    with np.errstate(all="ignore"):
        counted = np.isfinite(truth) & np.isfinite(t) & np.isfinite(floor)
        distance = np.abs(t - truth)
        allowed = _allowed(truth, floor, counted, want.dtype)
        ratios = np.where(counted, distance / allowed, 0.0)
    ratio = float(np.max(ratios, initial=0.0))
    if ratio <= k:
        # Where no element is beyond the noise, all of them together are not.
        bulk = _bulk(t, truth, [run.astype(truth.dtype) for run in source], noisy, want.dtype) if ratio > 1 else 0.0
        bulk /= max(1.0, k / DEFAULT_K)
        if bulk > 1 and len(noisy) >= BULK_RUNS:
            return Judgement(name, Verdict.DEPARTS, ratio, _as_a_whole(bulk, ratio), metrics, bulk)
        return Judgement(name, Verdict.FAITHFUL, ratio, _times(ratio), metrics, bulk)
    exact = _off_exact(distance, truth, allowed, ratios > k, want.dtype)
    if exact:
        return Judgement(name, Verdict.DEPARTS, float("inf"), exact, metrics)
    return Judgement(name, Verdict.DEPARTS, ratio, _times(ratio), metrics)


def _bulk(
    target: np.ndarray, truth: np.ndarray, source: Sequence[np.ndarray], noisy: Sequence[np.ndarray], dtype: np.dtype
) -> float:
    """Return the error of all elements over its limit; 0 where rounding decides what the output is."""
    runs = [np.asarray(run).astype(truth.dtype) for run in noisy]
    with np.errstate(all="ignore"):
        counted = np.all([np.isfinite(array) for array in (target, truth, *source, *runs)], axis=0)
        if _is_chaotic(truth, _floor(truth, [*source, *runs]), runs):
            return 0.0
        exact = truth[counted]
        errs, own = ([run[counted] - exact for run in listed] for listed in (runs, source))
        return bulk_excess(Errors(target[counted] - exact, errs, own, np.abs(exact), float(_info(dtype).eps)))


def _as_a_whole(bulk: float, ratio: float) -> str:
    return (
        f"all elements together are {bulk:.3g} × as far off as rounding, even one-sided, explains "
        f"(limit 1; the largest single one: {_times(ratio)})"
    )


def _times(ratio: float) -> str:
    return (
        f"{ratio:.3g} × what rounding explains" if ratio <= _LARGEST else f"over {_LARGEST:g} × what rounding explains"
    )


def _off_exact(
    distance: np.ndarray, truth: np.ndarray, allowed: np.ndarray, beyond: np.ndarray, dtype: np.dtype
) -> str:
    """Say how far the target is off where the source does not round; "" if it rounds wherever the target is off.

    Over a floor of nothing a ratio is a number without a meaning.
    """
    eps, size = float(_info(dtype).eps), np.abs(truth)
    nowhere = beyond & (allowed <= size * eps * _NEARLY_EXACT + 4 * float(_info(dtype).tiny))
    if not np.any(nowhere):
        return ""
    off, of = distance[nowhere], size[nowhere]
    if not np.any(of):
        return f"the source is exactly zero here; the target is off by up to {np.max(off):.3g}"
    ulps = float(np.max(off[of > 0] / ulp(of[of > 0], eps)))
    return f"the source is exact here; the target is off by {ulps:.3g} ulp (max {np.max(off):.3g})"


def ulp(size: np.ndarray, eps: float) -> np.ndarray:
    """Return the unit of the last place at magnitudes that are not zero."""
    return np.asarray(np.exp2(np.floor(np.log2(size))) * eps)


def _info(dtype: np.dtype) -> Any:
    return ml_dtypes.finfo(np.empty(0, dtype).real.dtype if dtype.kind == "c" else dtype)


def source_distance(source: Any, oracle: Any, noisy: Sequence[Any]) -> float:
    """How far the source itself is from the truth, over what rounding explains: of the middle element, inf if of none.

    Rounding alone may turn over single elements of a quantized model, never the half of them.
    """
    plain, truth = np.asarray(source), np.asarray(oracle)
    if plain.shape != truth.shape:
        return float("inf")
    if plain.dtype.kind not in "fc" or not plain.size:
        return 0.0
    if all(np.shape(run) != truth.shape or np.array_equal(run, truth, equal_nan=True) for run in noisy):
        return 0.0  # nothing is rounded here
    with np.errstate(all="ignore"):
        exact, allowed = allowance(truth.astype(plain.dtype), truth, noisy, 1.0)
        ratios = np.abs(plain.astype(exact.dtype) - exact) / allowed
    counted = ratios[np.isfinite(ratios)]
    return float(np.median(counted)) if counted.size else 0.0


def allowance(source: np.ndarray, oracle: Any, noisy: Sequence[Any], k: float) -> tuple[np.ndarray, np.ndarray]:
    """The truth that one float value is judged by, and how far from it each element may be."""
    fitting = [np.asarray(run) for run in noisy if np.shape(run) == source.shape]
    truth, floor = _truth_and_floor([source], np.asarray(oracle), fitting)
    with np.errstate(all="ignore"):
        counted = np.isfinite(truth) & np.isfinite(floor)
        return truth, k * _allowed(truth, floor, counted, source.dtype)


def _truth_and_floor(
    source: Sequence[np.ndarray], oracle: np.ndarray | None, noisy: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    wide = np.complex128 if source[0].dtype.kind == "c" else np.float64
    runs = [run.astype(wide) for run in source]
    s = runs[0]
    truth = s if oracle is None else np.where(np.isfinite(s) & np.isfinite(oracle), oracle, s)
    errs = [run.astype(wide) for run in noisy]
    with np.errstate(all="ignore"):
        floor = _floor(truth, [*runs, *errs])
        return truth, _pooled(floor) if _is_chaotic(truth, floor, errs) else floor


def _is_chaotic(truth: np.ndarray, floor: np.ndarray, noisy: Sequence[np.ndarray]) -> bool:
    """True if rounding errors move every element, and every run far away: a softmax of huge, nearly equal logits.

    A random operator moves some elements and leaves others as they are.
    """
    counted = np.isfinite(truth)
    if len(noisy) < _CHAOS_RUNS or not np.any(counted) or np.any(floor[counted] <= _CHAOS * np.abs(truth[counted])):
        return False
    away = min(float(np.linalg.norm((run - truth)[counted & np.isfinite(run)])) for run in noisy)
    return away > _CHAOS * float(np.linalg.norm(truth[counted]))


def _pooled(floor: np.ndarray) -> np.ndarray:
    """Return the largest noise for all elements: which of them a rounding error moves is then a matter of chance."""
    finite = np.isfinite(floor)
    return np.where(finite, np.max(floor[finite], initial=0.0), floor)


def _odd_places(s: np.ndarray, t: np.ndarray) -> np.ndarray | None:
    """Where one is NaN or infinite and the other is not, or is so otherwise."""
    odd = (np.isnan(s) != np.isnan(t)) | (np.isinf(s) | np.isinf(t)) & (s != t) & ~(np.isnan(s) & np.isnan(t))
    return odd if np.any(odd) else None


def _floor(truth: np.ndarray, runs: Sequence[np.ndarray]) -> np.ndarray:
    floor = np.zeros(truth.shape)
    for run in runs:
        distance = np.abs(run - truth)
        same = (run == truth) | (np.isnan(run) & np.isnan(truth))
        distance = np.where(same, 0.0, np.where(np.isnan(distance), np.inf, distance))
        floor = np.maximum(floor, distance)
    return floor


def _allowed(truth: np.ndarray, floor: np.ndarray, counted: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The floor; an element that happens to be rounded well is lent the others' noise."""
    info = _info(dtype)
    size = np.abs(truth)
    sized = counted & (size > 0)
    relative = floor[sized] / size[sized] if np.any(sized) else np.zeros(1)
    rounds = bool(np.any(floor[counted] > 0))
    lent = float(np.median(relative)) * size
    least = _LEAST_ULPS * float(info.eps) * size if rounds else 0.0
    # Denormals are flushed to zero by some runtimes and not by others.
    return np.asarray(np.maximum(floor, lent) + least + 2 * float(info.tiny))


def _departs(name: str, why: str) -> Judgement:
    return Judgement(name, Verdict.DEPARTS, float("inf"), why)


def _same_or_departs(name: str, same: bool, why: str) -> Judgement:
    return Judgement(name, Verdict.FAITHFUL, 0.0, "equal") if same else _departs(name, why)
