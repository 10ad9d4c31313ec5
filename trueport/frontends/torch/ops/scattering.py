"""Values put at places, rows chosen by a mask, rows turned around."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import accumulation, ulps
from trueport.formulas.numeric import is_float
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

_D = ir.DataType
Value = ir.Value
_MERGES = {"sum": "add", "mean": "add", "prod": "mul", "amax": "max", "amin": "min"}
_LAST = np.iinfo(np.int64).max


@maps_torch("aten::scatter_reduce.two", error=accumulation())
@recorded
def scatter_reduce(
    t: TorchTranslation, x: Value, dim: int, index: Value, src: Value, reduce: str, include_self: bool = True
) -> Value:
    if t.rank(x) == 0 or (reduce == "mean" and not is_float(x)):
        raise t.fail(
            "takes the mean of whole numbers, or scatters into a tensor without axes",
            "cast to float before, and back; give the tensor an axis",
        )
    axis = dim % t.rank(x)
    values = _as_large(t, src, index)
    ones = t.op.Expand(t.op.like(1, x), t.op.Shape(index))
    zeros = t.op.Expand(t.op.like(0, x), t.op.Shape(x))
    counts = t.op.ScatterElements(zeros, index, ones, axis=axis, reduction="add")
    untouched = t.op.Equal(counts, t.op.like(0, x))
    start = x if include_self else t.op.Where(untouched, x, t.op.like(_neutral(t, x, reduce), x))
    merged: Value = t.op.ScatterElements(start, index, values, axis=axis, reduction=_MERGES[reduce])
    if reduce != "mean":
        return merged
    own = t.op.like(1 if include_self else 0, x)
    return t.op.Div(merged, t.op.Max(t.op.Add(counts, own), t.op.like(1, x)))


def _as_large(t: TorchTranslation, src: Value, index: Value) -> Value:
    """Only as much of the source as there are places."""
    known = t.dims(src)
    if known == t.dims(index) and None not in known:
        return src
    rank = t.rank(index)
    return t.op.Slice(src, [0] * rank, t.op.Shape(index), list(range(rank)))


def _neutral(t: TorchTranslation, x: Value, reduce: str) -> Any:
    """What changes nothing when it is merged with."""
    if reduce in ("sum", "mean", "prod"):
        return int(reduce == "prod")
    if is_float(x):
        return -np.inf if reduce == "amax" else np.inf
    limits = np.iinfo(t.dtype(x).numpy())
    return limits.min if reduce == "amax" else limits.max


@maps_torch("aten::masked_select", error=ulps(0))
@recorded
def masked_select(t: TorchTranslation, x: Value, mask: Value) -> Value:
    shape = t.op.Shape(t.op.And(t.op.Equal(x, x), mask))
    flat, chosen = (t.op.Reshape(t.op.Expand(part, shape), [-1]) for part in (x, mask))
    return t.op.Compress(flat, chosen, axis=0)


@maps_torch("aten::roll", error=ulps(0))
@recorded
def roll(t: TorchTranslation, x: Value, shifts: Sequence[Any], dims: Sequence[int] = ()) -> Value:
    if dims:
        return _rolled(t, x, shifts, [axis % max(t.rank(x), 1) for axis in dims])
    return t.op.Reshape(_rolled(t, t.op.Reshape(x, [-1]), shifts, [0]), t.op.Shape(x))


@maps_torch("aten::roll", error=ulps(0), complex_operands=True)
@recorded
def roll_complex(t: TorchTranslation, x: Value, shifts: Sequence[Any], dims: Sequence[int] = ()) -> Value:
    if not dims:
        raise t.fail("rolls all axes of complex numbers as one", "name the dims: z.roll(1, 0)")
    return _rolled(t, x, shifts, [axis % (t.rank(x) - 1) for axis in dims])


def _rolled(t: TorchTranslation, x: Value, shifts: Any, axes: Sequence[int]) -> Value:
    """Cut where the first shall be, and the parts changed over."""
    given = shifts if isinstance(shifts, (list, tuple)) else [shifts]
    for shift, axis in zip(given, axes, strict=True):
        size = t.op.Shape(x, start=axis, end=axis + 1)
        number = t.op.Reshape(shift, [1]) if isinstance(shift, ir.Value) else t.op.const(np.array([shift], np.int64))
        cut = t.op.Mod(t.op.Sub(size, number), t.op.Max(size, 1))
        x = t.op.Concat(t.op.Slice(x, cut, [_LAST], [axis]), t.op.Slice(x, [0], cut, [axis]), axis=axis)
    return x
