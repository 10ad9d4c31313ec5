"""Normalizations in double precision: ONNX's LayerNormalization has its epsilon, and may have its sums, in float32."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from trueport.fidelity import accumulation
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

Value = ir.Value


@maps_torch("aten::layer_norm", error=accumulation())
@recorded
def layer_norm(
    t: TorchTranslation,
    x: Value,
    normalized_shape: Sequence[int],
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Value:
    axes = len(normalized_shape)
    if t.dtype(x) != ir.DataType.DOUBLE:
        ones = t.op.const(np.ones(tuple(normalized_shape), np.float32))
        scale = weight if weight is not None else t.cast(ones, t.dtype(x))
        return t.op.LayerNormalization(x, scale, bias, axis=-axes, epsilon=eps)
    places = list(range(-axes, 0))
    apart = t.op.Sub(x, t.op.ReduceMean(x, places))
    spread = t.op.ReduceMean(t.op.Mul(apart, apart), places)
    normal = t.op.Div(apart, t.op.Sqrt(t.op.Add(spread, t.op.like(eps, x))))
    scaled: Value = normal if weight is None else t.op.Mul(normal, weight)
    return scaled if bias is None else t.op.Add(scaled, bias)
