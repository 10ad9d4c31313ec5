"""Ranges of quantized numbers: the scale and zero point that TensorFlow's kernels make of them, in float32 as they do.

What they round half away from zero or half up, QuantizeLinear rounds half to even: only numbers that lie halfway
between two steps differ, by one step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import onnx_ir as ir

from trueport.fidelity import APPROXIMATE
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.ir.build import known_array
from trueport.ir.dtypes import numpy_dtype

__all__ = [
    "TIES",
    "Grid",
    "affine_grid",
    "along",
    "bounds_of",
    "dequantized",
    "integer_range",
    "known_range",
    "lose_ties",
    "min_first_scale",
    "nudged_grid",
    "quantized",
    "rounded_through",
    "scaled_step",
    "symmetric_scales",
    "widened_range",
]

TIES = "QuantizeLinear rounds what lies halfway between two steps to the even one, TensorFlow up or away from zero"
_F = np.float32
_LARGEST = np.finfo(_F).max


@dataclass(frozen=True)
class Grid:
    """The numbers (q - zero_point) * scale for all q of a type, numbers outside [low, high] clipped first."""

    scale: np.ndarray
    zero_point: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None


def known_range(t: Translation, value: ir.Value) -> np.ndarray | None:
    """A bound of a range where it is known; it may be a variable, for training left it there as a parameter."""
    found = known_array(value)
    return None if found is None else found.astype(_F)


def nudged_grid(low: Any, high: Any, num_bits: int, narrow_range: bool) -> Grid:
    """A range moved so that zero lies on the grid; an empty one holds zero alone."""
    least, most = _F(narrow_range), _F(2**num_bits - 1)
    low, high = np.asarray(low, _F), np.asarray(high, _F)
    empty = (low == 0) & (high == 0)
    scale = np.where(empty, _F(1), (high - low) / (most - least)).astype(_F)
    zero = np.clip(np.floor(least - low / scale + _F(0.5)), least, most)
    inside = narrow_range or num_bits not in (8, 16) or bool(empty.any())
    lowest, highest = ((np.where(empty, 0, (q - zero) * scale)).astype(_F) for q in (least, most))
    return Grid(scale, zero.astype(numpy_dtype(_unsigned(num_bits))), *((lowest, highest) if inside else ()))


def _unsigned(num_bits: int) -> ir.DataType:
    return ir.DataType.UINT8 if num_bits <= 8 else ir.DataType.UINT16


def symmetric_scales(low: Any, high: Any, least: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest factor that keeps [low, high] within [least, most], and its inverse as TensorFlow computes it."""
    low, high = np.asarray(low, _F), np.asarray(high, _F)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        from_low = np.where(least * low > 0, _F(least) / low, _LARGEST).astype(_F)
        from_high = np.where(most * high > 0, _F(most) / high, _LARGEST).astype(_F)
        inverse = np.where(from_low < from_high, low / _F(least or 1), high / _F(most))
    return np.minimum(from_low, from_high), inverse.astype(_F)


def bounds_of(dtype: ir.DataType, narrow_range: bool = False) -> tuple[int, int]:
    """The least and the largest integer of a type."""
    info = np.iinfo(numpy_dtype(dtype))
    return int(info.min) + narrow_range, int(info.max)


def integer_range(num_bits: int, signed: bool, narrow_range: bool) -> tuple[int, int]:
    """The integers of so many bits."""
    if not signed:
        return 0, 2**num_bits - 1
    return -(2 ** (num_bits - 1)) + narrow_range, 2 ** (num_bits - 1) - 1


def widened_range(low: np.ndarray, high: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
    """A range that holds zero and is not too narrow."""
    margin = np.maximum(_F(1), np.maximum(np.abs(low), np.abs(high))) * _F(least)
    start = np.minimum(_F(0), low)
    return start, np.maximum(_F(0), np.maximum(high, start + margin))


def scaled_step(low: np.ndarray, high: np.ndarray, integers: tuple[int, int]) -> np.ndarray:
    """The step with which the integers reach both ends of a range."""
    least, most = integers
    from_high = high / _F(most)
    return (np.maximum(low / _F(least), from_high) if least < 0 else from_high).astype(_F)


def min_first_scale(low: np.ndarray, high: np.ndarray, dtype: ir.DataType) -> tuple[np.ndarray, np.ndarray]:
    """The step of a range that all integers of a type share, and how many steps its lower end is from zero."""
    steps = 2.0 ** (8 * numpy_dtype(dtype).itemsize) - 1
    scale = ((high - low).astype(np.float64) / steps).astype(_F)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.where(high == low, _F(0), low / scale)
    return scale, half_away(ends)


def half_away(numbers: np.ndarray) -> np.ndarray:
    """Rounded as C does."""
    return np.asarray(np.copysign(np.floor(np.abs(numbers) + 0.5), numbers))


def affine_grid(
    scale: np.ndarray,
    zero_point: np.ndarray,
    dtype: ir.DataType,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
) -> Grid | None:
    """A grid of a type; None where its zero point is not one of the type, or nothing is between two numbers."""
    least, most = bounds_of(dtype)
    if not (np.all(scale > 0) and np.all(np.isfinite(scale)) and np.all((zero_point >= least) & (zero_point <= most))):
        return None
    return Grid(scale.astype(_F), zero_point.astype(numpy_dtype(dtype)), low, high)


def quantized(t: Translation, value: ir.Value, grid: Grid, axis: int) -> ir.Value:
    """The integers of a grid that lie next to the numbers."""
    if grid.low is not None and grid.high is not None:
        low, high = (t.op.const(along(bound, axis, t.rank(value))) for bound in (grid.low, grid.high))
        value = t.op.Clip(value, low, high) if grid.low.ndim == 0 else t.op.Min(t.op.Max(value, low), high)
    return t.op.QuantizeLinear(value, grid.scale, grid.zero_point, axis=axis if grid.scale.ndim else None)


def dequantized(t: Translation, value: ir.Value, grid: Grid, axis: int) -> ir.Value:
    """The numbers that integers of a grid stand for."""
    return t.op.DequantizeLinear(value, grid.scale, grid.zero_point, axis=axis if grid.scale.ndim else None)


def rounded_through(
    t: Translation,
    value: ir.Value,
    ends: tuple[ir.Value, ir.Value] | None,
    integers: tuple[int, int],
    round_mode: str,
    axis: int,
) -> ir.Value:
    """Rounded to a grid around zero; the range is the values' own, or given, and known only while the model runs."""
    op = t.op
    axes = [a for a in range(t.rank(value)) if axis < 0 or a != axis]
    if ends is None:
        low, high = (reduce(value, axes, keepdims=1) for reduce in (op.ReduceMin, op.ReduceMax))
    else:
        low, high = (end if axis < 0 else op.Unsqueeze(end, axes) for end in ends)
    least, most = (op.like(end, value) for end in integers)
    zero, largest = op.like(0, value), op.like(ml_dtypes.finfo(numpy_dtype(t.dtype(value))).max, value)
    from_low = op.Where(op.Greater(op.Mul(least, low), zero), op.Div(least, low), largest)
    from_high = op.Where(op.Greater(op.Mul(most, high), zero), op.Div(most, high), largest)
    by_low = op.Less(from_low, from_high)
    factor = op.Where(by_low, from_low, from_high)
    inverse = op.Where(by_low, op.Div(low, op.like(integers[0] or 1, value)), op.Div(high, most))
    if ends is not None:
        lowest, highest = op.Where(by_low, low, op.Mul(least, inverse)), op.Where(by_low, op.Mul(most, inverse), high)
        value = op.Max(op.Min(value, highest), lowest)
    steps = op.Mul(value, factor)
    even = round_mode == "HALF_TO_EVEN"
    return op.Mul(op.Round(steps) if even else op.Floor(op.Add(steps, op.like(0.5, value))), inverse)


def along(numbers: np.ndarray, axis: int, rank: int) -> np.ndarray:
    """One number per index of an axis, shaped so that it broadcasts; a single one stays as it is."""
    if numbers.ndim == 0:
        return numbers
    return numbers.reshape([math.prod(numbers.shape) if a == axis % rank else 1 for a in range(rank)])


def lose_ties(t: Translation) -> None:
    """Record that numbers between two steps may become the other one."""
    t.lose("how numbers halfway between two steps are rounded", TIES, APPROXIMATE)
