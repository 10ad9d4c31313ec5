"""Means, also of nothing: PyTorch gives NaN there, ONNX's ReduceMean leaves it open."""

from __future__ import annotations

import re
from collections.abc import Sequence

import onnx_ir as ir

from trueport.fidelity import accumulation
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

_BY_DATA = re.compile(r"\bu\d+\b")
"""PyTorch's names for sizes that follow from data, such as the number of hits of a mask."""


@maps_torch("aten::mean", error=accumulation())
@recorded
def mean(t: TorchTranslation, x: ir.Value, dtype: int | None = None) -> ir.Value:
    return _mean(t, x, None, False, dtype)


@maps_torch("aten::mean.dim", error=accumulation())
@recorded
def mean_dim(
    t: TorchTranslation, x: ir.Value, dim: Sequence[int] | None = None, keepdim: bool = False, dtype: int | None = None
) -> ir.Value:
    return _mean(t, x, dim, keepdim, dtype)


def _mean(t: TorchTranslation, x: ir.Value, dim: Sequence[int] | None, keepdim: bool, dtype: int | None) -> ir.Value:
    if dtype is not None and dtype != -1:
        x = t.cast(x, ir.DataType(dtype))  # before: PyTorch adds up in the type that is asked for
    rank = t.rank(x)
    if not rank:
        return x
    given = [dim] if isinstance(dim, int) else list(dim or ())
    axes = sorted(axis % rank for axis in given) or list(range(rank))
    if not any(_is_counted_at_run_time(x, axis) for axis in axes):
        made: ir.Value = t.op.ReduceMean(x, axes, keepdims=int(keepdim))
        if axes[0] or t.dims(x)[0] is not None:
            return made
        # Of an empty batch it is NaN: 0 / size is 0 for any other.
        return t.op.Add(made, t.op.Div(t.op.like(0, x), t.cast(t.op.Size(x), t.dtype(x))))
    count = t.op.ReduceProd(t.op.Gather(t.op.Shape(x), axes, axis=0), [0], keepdims=0)
    total = t.op.ReduceSum(x, axes, keepdims=int(keepdim))
    return t.op.Div(total, t.cast(count, t.dtype(x)))


def _is_counted_at_run_time(x: ir.Value, axis: int) -> bool:
    size = None if x.shape is None else x.shape[axis]
    return isinstance(size, ir.SymbolicDim) and (size.value is None or bool(_BY_DATA.search(size.value)))
