"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from trueport.fidelity import accumulation
from trueport.frontends.tensorflow.context import Translation
from trueport.frontends.tensorflow.nodes import TF
from trueport.frontends.tensorflow.spatial import (
    channel_axis,
    channels_first,
    is_channels_first,
    kernel_first,
    restored,
    spatial,
    without_axis,
)
from trueport.frontends.tensorflow.windows import padding_attributes
from trueport.mapping.declare import maps

__all__: list[str] = []

_DEVICES = {"use_cudnn_on_gpu": "chooses a kernel on GPUs, not what it computes"}
_FLOATING = frozenset({ir.DataType.FLOAT16, ir.DataType.BFLOAT16, ir.DataType.FLOAT, ir.DataType.DOUBLE})


@maps("Conv2D", domain=TF, error=accumulation(), ignores=_DEVICES)
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
    line = _as_line(t, input, filter, data_format, padding)
    if line is None:
        return _convolved(t, input, filter, strides, padding, explicit_paddings, data_format, dilations)
    axis, data, kernel = line
    kept = [place for place in range(4) if place != axis]
    made = _convolved(
        t,
        data,
        kernel,
        [strides[place] for place in kept],
        padding,
        [],
        "NCW" if is_channels_first(data_format) else "NWC",
        [dilations[place] for place in kept],
    )
    return t.op.Unsqueeze(made, [axis])


@maps("Conv3D", domain=TF, error=accumulation())
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


@maps("DepthwiseConv2dNative", domain=TF, error=accumulation())
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
    height, width, channels, multiplier = t.dims(filter)
    if channels is None:
        raise t.fail("the number of channels is not known; ONNX has it as an attribute", "fix the channels' dim")
    kernel = kernel_first(t, filter, (-2, -1))
    if multiplier != 1:
        kernel = t.op.Reshape(kernel, [-1, 1, *_or_copied(height, width)])
    data = channels_first(t, input, data_format)
    steps, gaps = spatial(strides, data_format), spatial(dilations, data_format)
    pads = padding_attributes(
        padding,
        explicit_paddings,
        data_format,
        sizes=t.dims(data)[2:],
        kernel=(height, width),
        strides=steps,
        dilations=gaps,
    )
    made = t.op.Conv(data, kernel, group=channels, **_window(t.dims(filter)[:2], steps, gaps), **pads)
    return restored(t, made, data_format)


def _as_line(
    t: Translation, data: ir.Value, kernel: ir.Value, data_format: str, padding: str
) -> tuple[int, ir.Value, ir.Value] | None:
    """The spatial axis that is only there to make two of one, and data and kernel without it."""
    if t.rank(data) != 4 or padding == "EXPLICIT":
        return None
    for place in (0, 1):
        axis = place + (2 if is_channels_first(data_format) else 1)
        added = [_adds(t, data, axis), _adds(t, kernel, place)]
        if all(added):
            return axis, without_axis(t, data, axis), without_axis(t, kernel, place)
    return None


def _adds(t: Translation, value: ir.Value, axis: int) -> bool:
    """Whether the value is what stood before, with this axis added; a constant may be without it at any time."""
    producer = value.producer()
    if t.dims(value)[axis] != 1 or producer is None or producer.op_type != "Unsqueeze":
        return False
    axes = t.static(producer.inputs[1]) if producer.inputs[1] is not None else None
    return axes is not None and [int(a) % t.rank(value) for a in axes.ravel()] == [axis]


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
    first = channels_first(t, data, data_format)
    shape = t.dims(kernel)[:-2]
    steps, gaps = spatial(strides, data_format), spatial(dilations, data_format)
    pads = padding_attributes(
        padding, explicit, data_format, sizes=t.dims(first)[2:], kernel=shape, strides=steps, dilations=gaps
    )
    weights = kernel_first(t, kernel, (-1, -2))
    made = t.op.Conv(first, weights, group=group if group > 1 else None, **_window(shape, steps, gaps), **pads)
    return restored(t, made, data_format)


def _window(kernel: Sequence[int | None], strides: Sequence[int], dilations: Sequence[int]) -> dict[str, list[int]]:
    """Attributes that are not ONNX's defaults; the kernel's shape is written wherever it is known."""
    given = {} if None in kernel else {"kernel_shape": [size for size in kernel if size is not None]}
    if any(step != 1 for step in strides):
        given["strides"] = list(strides)
    if any(gap != 1 for gap in dilations):
        given["dilations"] = list(dilations)
    return given


def _or_copied(*dims: int | None) -> list[int]:
    """Dims of a Reshape's target that stand where they stood: 0 copies."""
    return [0 if dim is None else dim for dim in dims]
