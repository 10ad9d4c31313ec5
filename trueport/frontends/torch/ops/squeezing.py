"""Axes of size one removed, by the sizes that were captured: a dynamic axis stays, whatever its size at run time."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []


@maps_torch("aten::squeeze")
@recorded
def squeeze(t: TorchTranslation, x: ir.Value) -> ir.Value:
    return _squeezed(t, x, range(t.rank(x)))


@maps_torch("aten::squeeze.dim")
@recorded
def squeeze_dim(t: TorchTranslation, x: ir.Value, dim: int) -> ir.Value:
    return _squeezed(t, x, [dim])


@maps_torch("aten::squeeze.dims")
@recorded
def squeeze_dims(t: TorchTranslation, x: ir.Value, dim: Sequence[int]) -> ir.Value:
    return _squeezed(t, x, dim)


def _squeezed(t: TorchTranslation, x: ir.Value, axes: Sequence[int]) -> ir.Value:
    rank, sizes = t.rank(x), t.dims(x)
    single = [axis for axis in sorted({axis % rank for axis in axes} if rank else ()) if sizes[axis] == 1]
    return t.op.Squeeze(x, single) if single else t.op.Identity(x)
