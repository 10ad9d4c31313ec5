"""Distances between rows."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import accumulation
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

Value = ir.Value


@maps_torch("aten::_cdist_forward", error=accumulation())
@recorded
def cdist(t: TorchTranslation, a: Value, b: Value, p: float, compute_mode: int | None) -> Value:
    first, second = t.op.Unsqueeze(a, [t.rank(a) - 1]), t.op.Unsqueeze(b, [t.rank(b) - 2])
    return _length(t, t.op.Sub(first, second), p)


@maps_torch("aten::_pdist_forward", error=accumulation())
@recorded
def pdist(t: TorchTranslation, x: Value, p: float = 2.0) -> Value:
    """Each pair of rows once, in the order of the first, then of the second."""
    count = t.op.Squeeze(t.op.Shape(x, start=0, end=1), [0])
    numbers = t.op.Range(0, count, 1)
    later = t.op.Less(t.op.Unsqueeze(numbers, [1]), t.op.Unsqueeze(numbers, [0]))
    first, second = t.op.several(2).Split(t.op.NonZero(later), axis=0, num_outputs=2)
    rows = [t.op.Gather(x, t.op.Squeeze(part, [0]), axis=0) for part in (first, second)]
    return _length(t, t.op.Sub(*rows), p)


def _length(t: TorchTranslation, x: Value, p: float) -> Value:
    axis = [t.rank(x) - 1]
    size = t.op.Abs(x)
    if p == 0:
        # As PyTorch counts: whatever is not zero is one, NaN stays NaN.
        made: Value = t.op.ReduceSum(t.op.Min(t.op.Ceil(size), t.op.like(1, x)), axis, keepdims=0)
    elif p == 1:
        made = t.op.ReduceSum(size, axis, keepdims=0)
    elif p == 2:
        made = t.op.Sqrt(t.op.ReduceSum(t.op.Mul(x, x), axis, keepdims=0))
    elif np.isinf(p):
        made = t.op.ReduceMax(size, axis, keepdims=0)
    else:
        total = t.op.ReduceSum(t.op.Pow(size, t.op.like(p, x)), axis, keepdims=0)
        made = t.op.Pow(total, t.op.like(1 / p, x))
    return made
