"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir

from trueport.fidelity import AGAINST_TERMS, accumulation
from trueport.formulas.images.dilation import note_convolution
from trueport.formulas.images.spatial import (
    as_line,
    channel_axis,
    channels_first,
    is_channels_first,
    kernel_first,
    restored,
    spatial,
)
from trueport.formulas.images.windows import extents, padding_attributes, without_unreached
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []

_DEVICES = {"use_cudnn_on_gpu": "chooses a kernel on GPUs, not what it computes"}
_FLOATING = frozenset({ir.DataType.FLOAT16, ir.DataType.BFLOAT16, ir.DataType.FLOAT, ir.DataType.DOUBLE})


@maps("Conv2D", domain=TF, error=accumulation(against=AGAINST_TERMS), ignores=_DEVICES)
def conv2d(
    t: Translation,
    input: ir.Value,
    filter: ir.Value,
    *,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    data_format: str,
    dilations: list[int],
) -> ir.Value:
    line = as_line(t, input, filter, data_format) if padding != "EXPLICIT" else None
    if line is None:
        return _convolved(t, input, filter, strides, padding, explicit_paddings, data_format, dilations)
    steps, gaps = line.entries(strides), line.entries(dilations)
    made = _convolved(t, line.data, line.kernel, steps, padding, [], line.data_format, gaps)
    return t.op.Unsqueeze(made, [line.axis])


@maps("Conv3D", domain=TF, error=accumulation(against=AGAINST_TERMS))
def conv3d(
    t: Translation,
    input: ir.Value,
    filter: ir.Value,
    *,
    strides: list[int],
    padding: str,
    data_format: str,
    dilations: list[int],
) -> ir.Value:
    return _convolved(t, input, filter, strides, padding, [], data_format, dilations)


@maps("DepthwiseConv2dNative", domain=TF, error=accumulation(against=AGAINST_TERMS))
def depthwise_conv2d(
    t: Translation,
    input: ir.Value,
    filter: ir.Value,
    *,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    data_format: str,
    dilations: list[int],
) -> ir.Value:
    line = as_line(t, input, filter, data_format) if padding != "EXPLICIT" else None
    if line is None:
        return _per_channel(t, input, filter, strides, padding, explicit_paddings, data_format, dilations)
    steps, gaps = line.entries(strides), line.entries(dilations)
    made = _per_channel(t, line.data, line.kernel, steps, padding, [], line.data_format, gaps)
    return t.op.Unsqueeze(made, [line.axis])


def _per_channel(
    t: Translation,
    data: ir.Value,
    kernel: ir.Value,
    strides: Sequence[int],
    padding: str,
    explicit: Sequence[int],
    data_format: str,
    dilations: Sequence[int],
) -> ir.Value:
    *shape, channels, multiplier = t.dims(kernel)
    if channels is None:
        raise t.fail(
            "the filter's number of channels is not known; ONNX has it as an attribute",
            "fix it (tf.ensure_shape, or --shape NAME=DIMS of an input)",
        )
    weights = kernel_first(t, kernel, (-2, -1))
    if multiplier != 1:
        # Where a dim of the target is 0 it is copied.
        weights = t.op.Reshape(weights, [-1, 1, *(size or 0 for size in shape)])
    return _conv(t, data, weights, shape, channels, strides, padding, explicit, data_format, dilations)


def _convolved(
    t: Translation,
    data: ir.Value,
    kernel: ir.Value,
    strides: Sequence[int],
    padding: str,
    explicit: Sequence[int],
    data_format: str,
    dilations: Sequence[int],
) -> ir.Value:
    if t.dtype(data) not in _FLOATING:
        raise t.fail(f"convolves {t.dtype(data).name}; ONNX convolves floats", "cast the data to float32")
    channels, per_group = t.dims(data)[channel_axis(data_format, t.rank(data))], t.dims(kernel)[-2]
    # Where a number of channels is open they can only be one group; a runtime refuses data that don't fit.
    group = channels // per_group if channels and per_group else 1
    weights = kernel_first(t, kernel, (-1, -2))
    return _conv(t, data, weights, t.dims(kernel)[:-2], group, strides, padding, explicit, data_format, dilations)


def _conv(
    t: Translation,
    data: ir.Value,
    weights: ir.Value,
    shape: Sequence[int | None],
    group: int,
    strides: Sequence[int],
    padding: str,
    explicit: Sequence[int],
    data_format: str,
    dilations: Sequence[int],
) -> ir.Value:
    steps, gaps = spatial(strides, data_format), spatial(dilations, data_format)

    def apply(value: ir.Value, gaps: list[int], pads: dict[str, Any]) -> ir.Value:
        first = channels_first(t, value, data_format)
        if None not in shape:
            first = without_unreached(t, first, extents([size or 0 for size in shape], gaps), steps, pads)
        made = t.op.Conv(first, weights, group=group if group > 1 else None, **_window(shape, steps, gaps), **pads)
        return restored(t, made, data_format)

    sizes = spatial(t.dims(data), data_format)
    pads = padding_attributes(padding, explicit, data_format, sizes=sizes, kernel=shape, strides=steps, dilations=gaps)
    made = apply(data, gaps, pads)
    plain = padding == "VALID" and not is_channels_first(data_format) and {*steps, *gaps} == {1}
    return note_convolution(made, data, apply) if plain else made


def _window(kernel: Sequence[int | None], strides: Sequence[int], dilations: Sequence[int]) -> dict[str, list[int]]:
    """Attributes that are not ONNX's defaults; the kernel's shape is written wherever it is known."""
    given = {} if None in kernel else {"kernel_shape": [size for size in kernel if size is not None]}
    if any(step != 1 for step in strides):
        given["strides"] = list(strides)
    if any(gap != 1 for gap in dilations):
        given["dilations"] = list(dilations)
    return given
