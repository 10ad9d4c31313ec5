"""Complex numbers moved, chosen and counted: pairs of reals whose last axis stays where it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_TERMS, accumulation
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.shared.complex_pairs import constant
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

Value = ir.Value


def _axis(t: TorchTranslation, x: Value, dim: int) -> int:
    """An axis of complex numbers, counted from the front."""
    return dim % (t.rank(x) - 1)


@maps_torch("aten::select.int", complex_operands=True)
@recorded
def select(t: TorchTranslation, x: Value, dim: int, index: int) -> Value:
    return t.op.Gather(x, np.array(index), axis=_axis(t, x, dim))


@maps_torch("aten::unsqueeze", complex_operands=True)
@recorded
def unsqueeze(t: TorchTranslation, x: Value, dim: int) -> Value:
    return t.op.Unsqueeze(x, [dim % t.rank(x)])


@maps_torch("aten::expand", complex_operands=True)
@recorded
def expand(t: TorchTranslation, x: Value, size: Sequence[Any], implicit: bool = False) -> Value:
    """-1 keeps a dim, which broadcasting with 1 does, too."""
    sizes = [t.op.Reshape(s, [1]) if isinstance(s, ir.Value) else t.op.const(np.array([abs(s)])) for s in size]
    return t.op.Expand(x, t.op.Concat(*sizes, t.op.const(np.array([2])), axis=0))


@maps_torch("aten::sym_size.int", complex_operands=True)
@recorded
def size(t: TorchTranslation, x: Value, dim: int) -> Value:
    axis = _axis(t, x, dim)
    return t.op.Squeeze(t.op.Shape(x, start=axis, end=axis + 1), [0])


@maps_torch("aten::split.Tensor", complex_operands=True)
@recorded
def split(t: TorchTranslation, x: Value, split_size: int, dim: int = 0) -> tuple[Value, ...]:
    axis = _axis(t, x, dim)
    length = t.dims(x)[axis]
    assert length is not None  # torch.export fixes the dims that results are counted by
    starts = range(0, length, split_size)
    return tuple(t.op.Slice(x, [start], [min(start + split_size, length)], [axis]) for start in starts)


@maps_torch("aten::split_with_sizes", complex_operands=True)
@recorded
def split_with_sizes(t: TorchTranslation, x: Value, split_sizes: Sequence[int], dim: int = 0) -> tuple[Value, ...]:
    ends = np.cumsum(split_sizes)
    axis = [_axis(t, x, dim)]
    return tuple(t.op.Slice(x, [end - size], [end], axis) for end, size in zip(ends, split_sizes, strict=True))


@maps_torch("aten::unbind.int", complex_operands=True)
@recorded
def unbind(t: TorchTranslation, x: Value, dim: int = 0) -> tuple[Value, ...]:
    axis = _axis(t, x, dim)
    length = t.dims(x)[axis]
    assert length is not None  # torch.export fixes the dims that results are counted by
    return tuple(t.op.Gather(x, np.array(index), axis=axis) for index in range(length))


@maps_torch("aten::index_select", complex_operands=True)
@recorded
def index_select(t: TorchTranslation, x: Value, dim: int, index: Value) -> Value:
    return t.op.Gather(x, index, axis=_axis(t, x, dim))


@maps_torch("aten::repeat", complex_operands=True)
@recorded
def repeat(t: TorchTranslation, x: Value, repeats: Sequence[Any]) -> Value:
    counts = [t.op.Reshape(n, [1]) if isinstance(n, ir.Value) else t.op.const(np.array([n])) for n in repeats]
    more = len(counts) + 1 - t.rank(x)
    lifted = t.op.Unsqueeze(x, list(range(more))) if more else x
    return t.op.Tile(lifted, t.op.Concat(*counts, t.op.const(np.array([1])), axis=0))


@maps_torch("aten::cumsum", error=accumulation(against=AGAINST_TERMS), complex_operands=True)
@recorded
def cumsum(t: TorchTranslation, x: Value, dim: int, dtype: Any = None) -> Value:
    return t.op.CumSum(x, t.op.const(np.array(_axis(t, x, dim))))


@maps_torch("aten::where.self", complex_operands=True)
@recorded
def where(t: TorchTranslation, condition: Value, a: Value, b: Value) -> Value:
    return t.op.Where(t.op.Unsqueeze(condition, [t.rank(condition)]), a, b)


@maps_torch("aten::masked_fill.Scalar", complex_operands=True)
@recorded
def masked_fill(t: TorchTranslation, x: Value, mask: Value, value: complex) -> Value:
    return t.op.Where(t.op.Unsqueeze(mask, [t.rank(mask)]), constant(t, value, x), x)


@maps_torch("aten::zeros_like", complex_operands=True)
@recorded
def zeros_like(t: TorchTranslation, x: Value, **options: Any) -> Value:
    return _filled(t, x, 0)


@maps_torch("aten::ones_like", complex_operands=True)
@recorded
def ones_like(t: TorchTranslation, x: Value, **options: Any) -> Value:
    return _filled(t, x, 1)


@maps_torch("aten::full_like", complex_operands=True)
@recorded
def full_like(t: TorchTranslation, x: Value, fill_value: complex, **options: Any) -> Value:
    return _filled(t, x, fill_value)


def _filled(t: TorchTranslation, x: Value, number: complex) -> Value:
    return t.op.Expand(constant(t, number, x), t.op.Shape(x))
