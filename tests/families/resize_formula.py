"""Resize from the specification's text in float64: per axis a coordinate, the weights of the inputs, and their sum.

Decisions where the text is silent or contradicts ONNX's own tests are those of docs/specification-notes.md:
``align_corners`` divides by the fractional length, all other formulas use the integer ``length_resized``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Formula", "formula"]

TIE = 1e-5
"""Coordinates nearer than this to a boundary of rounding are ties: float32 decides them."""


@dataclass(frozen=True)
class Formula:
    """The ``exact`` result, and for mode nearest the inputs that a tie may also take, all of the same shape."""

    exact: np.ndarray
    ties: list[np.ndarray]


def formula(
    x: np.ndarray, scales: list[float] | None, sizes: list[int] | None, roi: list[float] | None, **options: Any
) -> Formula:
    """Resize the last axes of ``x``, one for each entry of ``scales`` or ``sizes``; ``roi`` as the operator's."""
    given = scales if scales is not None else sizes
    assert given is not None
    first, lengths = x.ndim - len(given), x.shape[x.ndim - len(given) :]
    factors = _factors(lengths, scales, sizes, options.get("keep_aspect_ratio_policy", "stretch"))
    results = [np.asarray(x, np.float64)]
    for index, (length, (scale, target)) in enumerate(zip(lengths, factors, strict=True)):
        bounds = (0.0, 1.0) if roi is None else (roi[index], roi[len(given) + index])
        matrices, outside = _axis(length, scale, target, bounds, options)
        shape = [-1 if axis == first + index else 1 for axis in range(x.ndim)]
        value = options.get("extrapolation_value", 0.0)
        sums = [
            np.moveaxis(np.tensordot(m, y, (1, first + index)), 0, first + index) for y in results for m in matrices
        ]
        results = [np.where(outside.reshape(shape), value, y) for y in sums]
    return Formula(results[0], results[1:])


def _factors(lengths: Any, scales: Any, sizes: Any, policy: str) -> list[tuple[float, int]]:
    """Scale and integer output length of each axis; lengths are float32 products, as in ONNX's shape inference."""
    if scales is not None:
        exact = [float(np.float32(scale)) for scale in scales]
        return [(s, math.floor(np.float32(s) * np.float32(n))) for s, n in zip(exact, lengths, strict=True)]
    ratios = [size / n for size, n in zip(sizes, lengths, strict=True)]
    if policy == "stretch":
        return list(zip(ratios, sizes, strict=True))
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [(scale, math.floor(scale * n + 0.5)) for n in lengths]


def _coordinate(x: int, length: int, target: int, scale: float, bounds: tuple[float, float], mode: str) -> float:
    start, end = bounds
    match mode:
        case "half_pixel":
            return (x + 0.5) / scale - 0.5
        case "half_pixel_symmetric":
            return length / 2 * (1 - target / (scale * length)) + (x + 0.5) / scale - 0.5
        case "pytorch_half_pixel":
            return (x + 0.5) / scale - 0.5 if target > 1 else 0.0
        case "align_corners":
            return x * (length - 1) / (scale * length - 1) if x else 0.0
        case "asymmetric":
            return x / scale
        case "tf_crop_and_resize" if target > 1:
            return start * (length - 1) + x * (end - start) * (length - 1) / (target - 1)
        case "tf_crop_and_resize":
            return 0.5 * (start + end) * (length - 1)
    raise AssertionError(mode)


def _axis(length: int, scale: float, target: int, bounds: Any, options: Any) -> tuple[list[np.ndarray], np.ndarray]:
    """Weights ``[out, in]``, for mode nearest at ties both choices, and which outputs take the extrapolation value."""
    transform = options.get("coordinate_transformation_mode", "half_pixel")
    coordinates = [_coordinate(x, length, target, scale, bounds, transform) for x in range(target)]
    crops = transform == "tf_crop_and_resize"
    outside = np.array([crops and not 0 <= c <= length - 1 for c in coordinates], bool)
    if options["mode"] == "nearest":
        rounding = options.get("nearest_mode", "round_prefer_floor")
        chosen = [[_rounded(c + shift, rounding) for c in coordinates] for shift in (0.0, -TIE, TIE)]
        choices = chosen[:1] if chosen[0] == chosen[1] == chosen[2] else chosen
        return [np.eye(length)[np.clip(taken, 0, length - 1).astype(int)] for taken in choices], outside
    weights = np.zeros((target, length))
    for row in np.flatnonzero(~outside):
        _add_weights(weights[row], coordinates[row], scale, options)
    return [weights], outside


def _rounded(c: float, mode: str) -> int:
    match mode:
        case "round_prefer_floor":
            return math.ceil(c - 0.5)
        case "round_prefer_ceil":
            return math.floor(c + 0.5)
    return math.floor(c) if mode == "floor" else math.ceil(c)


def _add_weights(row: np.ndarray, coordinate: float, scale: float, options: Any) -> None:
    """A filter over all inputs that it reaches; those beyond the border are the border's, or are left out."""
    stretch = max(1.0, 1 / scale) if options.get("antialias") else 1.0
    reach = math.ceil(2 * stretch) + 1
    around = range(math.floor(coordinate) - reach, math.floor(coordinate) + reach + 1)
    weights = np.array([_filter(abs(i - coordinate) / stretch, options) for i in around])
    if options.get("exclude_outside"):
        weights[[not 0 <= i < len(row) for i in around]] = 0
    for i, weight in zip(around, weights / weights.sum(), strict=True):
        row[min(max(i, 0), len(row) - 1)] += weight


def _filter(distance: float, options: Any) -> float:
    """The triangle, or equation (4) of Keys' article."""
    if options["mode"] == "linear":
        return max(0.0, 1 - distance)
    a = options.get("cubic_coeff_a", -0.75)
    if distance <= 1:
        return (a + 2) * distance**3 - (a + 3) * distance**2 + 1
    return a * distance**3 - 5 * a * distance**2 + 8 * a * distance - 4 * a if distance < 2 else 0.0
