"""Pooling to a given size: window i of an axis runs from floor(i * size / wanted) to ceil((i + 1) * size / wanted).

The windows are gathered and reduced, so sizes may be dynamic, need not divide each other, and an infinity stays in its
own window. Where a static size divides, ONNX's AveragePool does the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import accumulation
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

_D = ir.DataType
_HALVES = (_D.FLOAT16, _D.BFLOAT16)


@maps_torch("aten::_adaptive_avg_pool2d", error=accumulation())
@recorded
def adaptive_avg_pool2d(t: TorchTranslation, x: ir.Value, output_size: Sequence[Any]) -> ir.Value:
    return _averaged(t, x, output_size)


@maps_torch("aten::_adaptive_avg_pool3d", error=accumulation())
@recorded
def adaptive_avg_pool3d(t: TorchTranslation, x: ir.Value, output_size: Sequence[Any]) -> ir.Value:
    return _averaged(t, x, output_size)


@maps_torch("aten::adaptive_max_pool2d")
@recorded
def adaptive_max_pool2d(t: TorchTranslation, x: ir.Value, output_size: Sequence[Any]) -> tuple[ir.Value, ir.Value]:
    return _largest(t, x, output_size)


@maps_torch("aten::adaptive_max_pool3d")
@recorded
def adaptive_max_pool3d(t: TorchTranslation, x: ir.Value, output_size: Sequence[Any]) -> tuple[ir.Value, ir.Value]:
    return _largest(t, x, output_size)


@dataclass(frozen=True)
class _Windows:
    """The windows of one axis, as int64 values: one row per window."""

    size: ir.Value
    """of the axis, [1]"""
    first: ir.Value
    """[windows]"""
    count: ir.Value
    """positions in each, [windows]"""
    width: ir.Value
    """of the widest, [1]"""
    places: ir.Value
    """positions to gather, [windows, width]; those past a window's end lie inside the axis"""
    inside: ir.Value
    """True for positions that belong to the window"""


def _windows(t: TorchTranslation, x: ir.Value, axis: int, wanted: Any) -> _Windows:
    op = t.op
    known = t.dims(x)[axis]
    if known is not None and isinstance(wanted, int):
        return _static_windows(t, known, wanted)
    size = op.Gather(op.Shape(x), [axis], axis=0)
    number = op.const(np.array([wanted])) if isinstance(wanted, int) else op.Reshape(t.int64(wanted), [1])
    index = op.Range(np.int64(0), op.Reshape(number, op.const(np.zeros(0, np.int64))), np.int64(1))
    first = op.Div(op.Mul(index, size), number)
    last = op.Div(op.Add(op.Mul(op.Add(index, [1]), size), op.Sub(number, [1])), number)
    count = op.Sub(last, first)
    width = op.ReduceMax(count, [0], keepdims=1)
    step = op.Range(np.int64(0), op.Reshape(width, op.const(np.zeros(0, np.int64))), np.int64(1))
    places = op.Add(op.Unsqueeze(first, [1]), op.Unsqueeze(step, [0]))
    inside = op.Less(places, op.Unsqueeze(last, [1]))
    return _Windows(size, first, count, width, op.Min(places, op.Sub(size, [1])), inside)


def _static_windows(t: TorchTranslation, size: int, wanted: int) -> _Windows:
    index = np.arange(wanted)
    first, last = index * size // wanted, -(-(index + 1) * size // wanted)
    width = int(np.max(last - first, initial=0))
    places = first[:, None] + np.arange(width)[None]
    return _Windows(
        t.op.const(np.array([size])),
        t.op.const(first),
        t.op.const(last - first),
        t.op.const(np.array([width])),
        t.op.const(np.minimum(places, max(size - 1, 0))),
        t.op.const(places < last[:, None]),
    )


def _averaged(t: TorchTranslation, x: ir.Value, output_size: Sequence[Any]) -> ir.Value:
    """The sum over each window, axis by axis, over the number of its elements."""
    op, kind, rank, spatial = t.op, t.dtype(x), t.rank(x), len(output_size)
    pooled = _divided(t, x, output_size)
    if pooled is not None:
        return pooled
    x = t.cast(x, _D.FLOAT) if kind in _HALVES else x  # PyTorch adds halves up as floats
    counts: ir.Value | None = None
    for place, wanted in enumerate(output_size):
        axis = rank - spatial + place
        if t.dims(x)[axis] == wanted:
            continue
        windows = _windows(t, x, axis, wanted)
        gathered = op.Gather(x, windows.places, axis=axis)
        inside = _spread(t, windows.inside, rank + 1, [axis, axis + 1])
        x = op.ReduceSum(op.Where(inside, gathered, op.like(0, x)), [axis + 1], keepdims=0)
        own = _spread(t, windows.count, rank, [axis])
        counts = own if counts is None else op.Mul(counts, own)
    made = x if counts is None else op.Div(x, t.cast(counts, t.dtype(x)))
    return t.cast(made, kind)


def _divided(t: TorchTranslation, x: ir.Value, output_size: Sequence[Any]) -> ir.Value | None:
    """By AveragePool, where all sizes are static and the wanted ones divide them."""
    rank, spatial = t.rank(x), len(output_size)
    sizes = t.dims(x)[rank - spatial :]
    if rank != spatial + 2 or not all(isinstance(wanted, int) and wanted > 0 for wanted in output_size):
        return None
    kernel = [(size or 0) // wanted for size, wanted in zip(sizes, output_size, strict=True)]
    if [width * wanted for width, wanted in zip(kernel, output_size, strict=True)] != list(sizes) or 0 in kernel:
        return None
    return t.op.AveragePool(x, kernel_shape=kernel, strides=kernel)


def _largest(t: TorchTranslation, x: ir.Value, output_size: Sequence[Any]) -> tuple[ir.Value, ir.Value]:
    """The largest element of each window and where it stands in the flattened picture; NaN counts as largest."""
    op, rank, spatial = t.op, t.rank(x), len(output_size)
    start = rank - spatial
    all_windows = [_windows(t, x, start + place, wanted) for place, wanted in enumerate(output_size)]
    for place in reversed(range(spatial)):  # the last axis first: each one is replaced by two
        x = op.Gather(x, all_windows[place].places, axis=start + place)
    inside = None
    for place, windows in enumerate(all_windows):
        own = _spread(t, windows.inside, 2 * spatial, [2 * place, 2 * place + 1])
        inside = own if inside is None else op.And(inside, own)
    x = op.Where(inside, x, op.like(-math.inf, x))
    outer, inner = (list(range(start + first, start + 2 * spatial, 2)) for first in (0, 1))
    x = op.Transpose(x, perm=[*range(start), *outer, *inner])
    kept = op.Slice(op.Shape(x), [0], [rank], [0])
    area = all_windows[0].width
    for windows in all_windows[1:]:
        area = op.Mul(area, windows.width)
    flat = op.Reshape(x, op.Concat(kept, area, axis=0), allowzero=1)
    odd = op.IsNaN(flat)
    ordered = op.Where(odd, op.like(math.inf, flat), flat)
    largest = op.ReduceMax(ordered, [-1], keepdims=0)
    any_odd = op.Cast(op.ReduceMax(op.Cast(odd, to=int(_D.INT32)), [-1], keepdims=0), to=int(_D.BOOL))
    values = op.Where(any_odd, op.like(math.nan, flat), largest)
    return values, _flat_places(t, op.ArgMax(ordered, axis=-1, keepdims=0), all_windows, spatial)


def _flat_places(t: TorchTranslation, taken: ir.Value, all_windows: Sequence[_Windows], spatial: int) -> ir.Value:
    """Positions in the flattened picture of positions in flattened windows."""
    op = t.op
    steps: list[ir.Value] = []
    for windows in reversed(all_windows):
        steps.insert(0, op.Mod(taken, windows.width))
        taken = op.Div(taken, windows.width)
    found: ir.Value | None = None
    for place, (windows, step) in enumerate(zip(all_windows, steps, strict=True)):
        own = op.Add(_spread(t, windows.first, spatial, [place]), step)
        found = own if found is None else op.Add(op.Mul(found, windows.size), own)
    assert found is not None
    return found


def _spread(t: TorchTranslation, value: ir.Value, rank: int, axes: Sequence[int]) -> ir.Value:
    """The value with its axes at these places among ``rank``, the others of size one."""
    rest = [axis for axis in range(rank) if axis not in axes]
    return t.op.Unsqueeze(value, rest) if rest else value
