"""Normalizations: to the statistics of a batch, and of neighbouring channels."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_DATA, accumulation
from trueport.formulas.images.spatial import channel_axis, channels_first, restored, size_at
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("FusedBatchNorm", domain=TF, error=accumulation(8, against=AGAINST_DATA))
@maps("FusedBatchNormV2", domain=TF, error=accumulation(8, against=AGAINST_DATA))
@maps("FusedBatchNormV3", domain=TF, error=accumulation(8, against=AGAINST_DATA))
def fused_batch_norm(
    t: Translation,
    x: ir.Value,
    scale: ir.Value,
    offset: ir.Value,
    mean: ir.Value,
    variance: ir.Value,
    *,
    epsilon: float,
    exponential_avg_factor: float,
    data_format: str,
    is_training: bool,
) -> tuple[Any, ...]:
    spare = t.op.const(np.zeros(0, np.float32))  # a scratch of GPUs
    if is_training:
        now, spread, unbiased = _moments(t, x, data_format)
        kept = [_blended(t, old, new, exponential_avg_factor) for old, new in ((mean, now), (variance, unbiased))]
    else:
        now, spread, kept = mean, variance, [mean, variance]
    data = channels_first(t, x, data_format)
    y = t.op.BatchNormalization(data, scale, offset, now, spread, epsilon=epsilon)
    return (restored(t, y, data_format), *kept, now, spread, spare)[: len(t.node.operation.outputs)]


def _moments(t: Translation, x: ir.Value, data_format: str) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Mean and variance over all but the channels, and the variance as an estimate for more data than these."""
    wide = t.cast(x, ir.DataType.FLOAT)
    rank = t.rank(x)
    channel = channel_axis(data_format, rank)
    axes = [axis for axis in range(rank) if axis != channel]
    mean = t.op.ReduceMean(wide, axes)
    centred = t.op.Sub(wide, mean)
    variance = t.op.ReduceMean(t.op.Mul(centred, centred), axes, keepdims=0)
    count = t.op.ReduceProd(t.op.Concat(*(size_at(t, x, axis) for axis in axes), axis=0), keepdims=0)
    number = t.cast(count, ir.DataType.FLOAT)
    rest = t.cast(t.op.Max(t.op.Sub(count, 1), 1), ir.DataType.FLOAT)
    return t.op.Squeeze(mean, axes), variance, t.op.Mul(variance, t.op.Div(number, rest))


def _blended(t: Translation, old: ir.Value, new: ir.Value, factor: float) -> ir.Value:
    """The running statistic; with factor 1 nothing of the old one is left, which may then be empty."""
    if factor == 1.0:
        return new
    return t.op.Add(t.op.Mul(old, t.op.like(1.0 - factor, old)), t.op.Mul(new, t.op.like(factor, new)))


@maps("LRN", domain=TF, error=accumulation(8))
def local_response_normalization(
    t: Translation, input: ir.Value, *, depth_radius: int, bias: float, alpha: float, beta: float
) -> ir.Value:
    size = 2 * depth_radius + 1
    # ONNX takes the mean of the squares, TensorFlow their sum.
    made = t.op.LRN(channels_first(t, input, "NHWC"), size=size, alpha=alpha * size, beta=beta, bias=bias)
    return restored(t, made, "NHWC")
