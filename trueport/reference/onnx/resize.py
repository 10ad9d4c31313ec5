"""Resize in NumPy: ONNX's reference computes other lengths, and other coordinates in some modes.

The coordinates of mode nearest are computed in float32, in ONNX Runtime's order: at a tie another precision would
choose another pixel. Those of the other modes are float64, because their weights are continuous.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["resize"]


@dataclass(frozen=True)
class _Axis:
    """One axis: its length before and after, the scale, and the part of it that is cropped."""

    index: int
    length: int
    resized: int
    scale: float
    start: float
    end: float
    is_exact: bool
    """the length after is exactly scale × length, which is not what their rounded product gives"""


@dataclass(frozen=True)
class _Filter:
    """How neighbors are weighted in the modes linear and cubic."""

    mode: str
    coefficient: float
    antialias: bool
    exclude_outside: bool


def resize(
    X: np.ndarray,
    roi: np.ndarray | None,
    scales: np.ndarray | None,
    sizes: np.ndarray | None,
    *,
    antialias: int,
    axes: Sequence[int] | None,
    coordinate_transformation_mode: str,
    cubic_coeff_a: float,
    exclude_outside: int,
    extrapolation_value: float,
    keep_aspect_ratio_policy: str,
    mode: str,
    nearest_mode: str,
) -> np.ndarray | None:
    """Resize each axis by itself; None for weighted sums of integers and for axes without elements."""
    if not X.size or (mode != "nearest" and X.dtype != np.float64):
        return None
    order = list(range(X.ndim)) if axes is None else [axis % X.ndim for axis in axes]
    lengths = [X.shape[axis] for axis in order]
    targets = _targets(lengths, scales, sizes, keep_aspect_ratio_policy)
    crops = coordinate_transformation_mode == "tf_crop_and_resize"
    bounds = np.split(roi, 2) if crops and roi is not None else (np.zeros(len(order)), np.ones(len(order)))
    weighting = _Filter(mode, cubic_coeff_a, bool(antialias), bool(exclude_outside))
    exact = [sizes is not None and bool(sizes.size) and keep_aspect_ratio_policy == "stretch"] * len(order)
    for axis in itertools.starmap(_Axis, zip(order, lengths, *targets, *bounds, exact, strict=True)):
        if axis.scale == 1 and not crops:
            continue
        x = _coordinates(axis, coordinate_transformation_mode, np.float32 if mode == "nearest" else np.float64)
        if mode == "nearest":
            taken = np.clip(_ROUNDING[nearest_mode](x), 0, axis.length - 1).astype(np.int64)
            X = np.take(X, taken, axis=axis.index)
        else:
            X = _weighted_sum(X, axis, x, weighting)
        if crops:
            outside = ((x < 0) | (x > axis.length - 1)).reshape(-1, *[1] * (X.ndim - axis.index - 1))
            X = np.where(outside, np.asarray(extrapolation_value).astype(X.dtype), X)
    return X


def _targets(
    lengths: Sequence[int], scales: np.ndarray | None, sizes: np.ndarray | None, policy: str
) -> tuple[list[int], list[float]]:
    """Return lengths and scales; lengths are products of float32, as in shape inference and runtimes."""
    if sizes is None or not sizes.size:
        assert scales is not None, "the checker demands one of them"
        factors = [float(np.float32(scale)) for scale in scales]
        return [int(np.float32(s) * np.float32(n)) for s, n in zip(factors, lengths, strict=True)], factors
    factors = [int(size) / n for size, n in zip(sizes, lengths, strict=True)]
    if policy == "stretch":
        return [int(size) for size in sizes], factors
    factor = min(factors) if policy == "not_larger" else max(factors)
    products = [np.float32(factor) * np.float32(n) for n in lengths]
    return [int(np.floor(product + np.float32(0.5))) for product in products], [factor] * len(lengths)


def _coordinates(axis: _Axis, mode: str, dtype: type[np.floating[Any]]) -> np.ndarray:
    """Return where in the input each output lies."""
    length, resized, scale, start, end = map(dtype, (axis.length, axis.resized, axis.scale, axis.start, axis.end))
    x, half = np.arange(axis.resized, dtype=dtype), dtype(0.5)
    width = resized if axis.is_exact else scale * length
    match mode:
        case "half_pixel" | "pytorch_half_pixel":
            return (x + half) / scale - half if resized > 1 or mode == "half_pixel" else np.zeros_like(x)
        case "half_pixel_symmetric":
            offset = np.float64(length / 2 * (1 - resized / width))
            # ONNX Runtime adds these in float64 and rounds once.
            return (offset + (x + 0.5).astype(np.float64) / np.float64(scale) - 0.5).astype(dtype)
        case "asymmetric":
            return np.asarray(x / scale)
        case "align_corners":
            return x * (length - 1) / (width - 1) if axis.resized > 1 else np.zeros_like(x)
        case "tf_crop_and_resize" if axis.resized > 1:
            return np.asarray(start * (length - 1) + x * (end - start) * (length - 1) / (resized - 1))
        case "tf_crop_and_resize":
            return np.full_like(x, half * (start + end) * (length - 1))
    raise ValueError(f"coordinate_transformation_mode {mode!r} is unknown")


_TIE = np.float32(1e-6)
"""Distance from a half within which ONNX Runtime takes a coordinate for a tie."""


def _rounded(x: np.ndarray, least: np.float32) -> np.ndarray:
    """Return ``x`` rounded up where its fraction, minus a half, is more than ``least``."""
    base = np.floor(x)
    return np.asarray(base + (x - base - np.float32(0.5) > least))


_ROUNDING: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": lambda x: _rounded(x, _TIE),
    "round_prefer_ceil": lambda x: _rounded(x, -_TIE),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _weighted_sum(X: np.ndarray, axis: _Axis, x: np.ndarray, weighting: _Filter) -> np.ndarray:
    taps = list(_taps(axis, x, weighting))
    total = sum(weights for _, weights in taps)
    behind = [1] * (X.ndim - axis.index - 1)
    made = np.zeros((*X.shape[: axis.index], axis.resized, *X.shape[axis.index + 1 :]))
    for positions, weights in taps:
        pixels = np.take(X, np.clip(positions, 0, axis.length - 1), axis=axis.index)
        made += pixels * (weights / total).reshape(-1, *behind)
    return made


def _taps(axis: _Axis, x: np.ndarray, weighting: _Filter) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield input positions and their weights, which the caller normalizes; both ``[out]``."""
    stretch = max(1.0, 1 / axis.scale) if weighting.antialias else 1.0
    reach = int(np.ceil((1 if weighting.mode == "linear" else 2) * stretch))
    base = np.floor(x)
    for step in range(1 - reach, 1 + reach):
        positions = (base + step).astype(np.int64)
        weights = _weights(np.abs(positions - x) / stretch, weighting)
        if weighting.exclude_outside:
            weights = np.where((positions >= 0) & (positions < axis.length), weights, 0)
        yield positions, weights


def _weights(distance: np.ndarray, weighting: _Filter) -> np.ndarray:
    if weighting.mode == "linear":
        return np.asarray(np.maximum(1 - distance, 0))
    a = weighting.coefficient
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((distance - 5) * distance + 8) * distance * a - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0))
