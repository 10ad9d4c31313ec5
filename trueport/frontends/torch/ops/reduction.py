"""Reductions of tensors that may be empty, ranges of numbers, and writes that broadcast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import ulps
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.shared.numbers import scalar
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded
from trueport.lazy import LazyModule

__all__: list[str] = []

_D = ir.DataType
_NARROW = (_D.INT16, _D.UINT16)
"""Types that ONNX takes no extremes of."""
Value = ir.Value
_core = LazyModule("onnxscript.function_libs.torch_lib.ops.core", "PyTorch's exporter", "torch")


@maps_torch("aten::any")
@maps_torch("aten::any.dim")
@maps_torch("aten::any.dims")
@recorded
def any_(t: TorchTranslation, x: Value, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Value:
    return _some(t, t.cast(x, _D.BOOL), dim, keepdim)


@maps_torch("aten::all")
@maps_torch("aten::all.dim")
@maps_torch("aten::all.dims")
@recorded
def all_(t: TorchTranslation, x: Value, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Value:
    return t.op.Not(_some(t, t.op.Not(t.cast(x, _D.BOOL)), dim, keepdim))


def _some(t: TorchTranslation, x: Value, dim: int | Sequence[int] | None, keepdim: bool) -> Value:
    """By a sum, which is zero of nothing; the largest of nothing is an error, or the lowest number."""
    axes = _axes(t, x, dim)
    if not axes:
        return x
    count = t.op.ReduceSum(t.op.Cast(x, to=_D.INT64), axes, keepdims=int(keepdim))
    return t.op.Greater(count, t.op.like(0, count))


def _axes(t: TorchTranslation, x: Value, dim: int | Sequence[int] | None) -> list[int]:
    rank = t.rank(x)
    if dim is None or rank == 0 or (not isinstance(dim, int) and len(dim) == 0):
        return list(range(rank))
    return [axis % rank for axis in ([dim] if isinstance(dim, int) else dim)]


@maps_torch("aten::amax", error=ulps(0))
@recorded
def amax(t: TorchTranslation, x: Value, dim: int | Sequence[int] = (), keepdim: bool = False) -> Value:
    return _extreme(t, "ReduceMax", x, dim, keepdim)


@maps_torch("aten::amin", error=ulps(0))
@recorded
def amin(t: TorchTranslation, x: Value, dim: int | Sequence[int] = (), keepdim: bool = False) -> Value:
    return _extreme(t, "ReduceMin", x, dim, keepdim)


def _extreme(t: TorchTranslation, operator: str, x: Value, dim: int | Sequence[int], keepdim: bool) -> Value:
    axes, kind = _axes(t, x, dim), t.dtype(x)
    if not axes:
        return t.op.Identity(x)
    wide = {_D.BOOL: _D.INT32, **dict.fromkeys(_NARROW, _D.INT32)}.get(kind, kind)
    made: Value = t.op.add(operator, [t.cast(x, wide), t.op.const(np.array(axes))], {"keepdims": int(keepdim)})
    return t.cast(made, kind)


@maps_torch("aten::arange.start_step", error=ulps(1))
def arange(start: Any, end: Any, step: Any = 1, dtype: int = -1, **options: Any) -> Any:
    """Between numbers the length is known: the exporter finds it in float32, and may be off by one."""
    numbers = (start, end, step)
    if not all(isinstance(number, (int, float)) for number in numbers) or all(isinstance(n, int) for n in numbers):
        return _core.aten_arange_start_step(start, end, step, dtype)
    kind = _D.FLOAT if dtype in (None, -1) else _D(dtype)
    return _steps(math.ceil((end - start) / step), start, step, kind)


@maps_torch("aten::arange.start", error=ulps(1))
def arange_from(start: Any, end: Any, dtype: int = -1, **options: Any) -> Any:
    return arange(start, end, 1, dtype)


@recorded
def _steps(t: TorchTranslation, count: int, start: float, step: float, kind: ir.DataType) -> Value:
    """``start + i step`` in doubles, rounded once; of integers both numbers are cut first, as PyTorch does."""
    wide = _D.DOUBLE if kind.is_floating_point() else _D.INT64
    positions = t.cast(t.op.Range(0, t.op.const(np.array(max(count, 0))), 1), wide)
    made = t.op.Add(t.op.Mul(positions, scalar(t, step, wide)), scalar(t, start, wide))
    return t.cast(made, kind)


@maps_torch("aten::copy", error=ulps(0))
@recorded
def copy(t: TorchTranslation, x: Value, source: Value, non_blocking: bool = False) -> Value:
    """What is written has the shape and the type of what it is written into."""
    return t.op.Expand(t.cast(source, t.dtype(x)), t.op.Shape(x))
