"""Pooling over moving windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir

from trueport.fidelity import AGAINST_TERMS, accumulation, ulps
from trueport.formulas.images.spatial import channel_axis, channels_first, restored, size_at, spatial
from trueport.formulas.images.windows import padding_attributes, without_unreached
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []

_AS_THEY_ARE = frozenset(
    {
        ir.DataType.FLOAT16,
        ir.DataType.BFLOAT16,
        ir.DataType.FLOAT,
        ir.DataType.DOUBLE,
        ir.DataType.INT8,
        ir.DataType.UINT8,
    }
)
"""What ONNX takes the maximum of."""
_WITHIN_DOUBLE = frozenset({ir.DataType.INT16, ir.DataType.UINT16, ir.DataType.INT32, ir.DataType.UINT32})


@maps("MaxPool", domain=TF, error=ulps(0))
def max_pool(
    t: Translation,
    input: ir.Value,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    data_format: str,
) -> ir.Value:
    if ksize[channel_axis(data_format, len(ksize))] > 1:
        return _max_over_channels(t, input, ksize, data_format)
    return _pooled(t, "MaxPool", input, ksize, strides, padding, data_format, explicit_paddings)


@maps("MaxPoolV2", domain=TF, error=ulps(0))
def max_pool_v2(
    t: Translation, input: ir.Value, ksize: ir.Value, strides: ir.Value, *, padding: str, data_format: str
) -> ir.Value:
    window, steps = (t.need(value, what).tolist() for value, what in ((ksize, "ksize"), (strides, "strides")))
    if window[channel_axis(data_format, len(window))] > 1:
        return _max_over_channels(t, input, window, data_format)
    return _pooled(t, "MaxPool", input, window, steps, padding, data_format)


@maps("MaxPool3D", domain=TF, error=ulps(0))
def max_pool3d(
    t: Translation, input: ir.Value, *, ksize: list[int], strides: list[int], padding: str, data_format: str
) -> ir.Value:
    return _pooled(t, "MaxPool", input, ksize, strides, padding, data_format)


@maps("AvgPool", domain=TF, error=accumulation(against=AGAINST_TERMS))
def average_pool(
    t: Translation, value: ir.Value, *, ksize: list[int], strides: list[int], padding: str, data_format: str
) -> ir.Value:
    return _pooled(t, "AveragePool", value, ksize, strides, padding, data_format)


@maps("AvgPool3D", domain=TF, error=accumulation(against=AGAINST_TERMS))
def average_pool3d(
    t: Translation, input: ir.Value, *, ksize: list[int], strides: list[int], padding: str, data_format: str
) -> ir.Value:
    return _pooled(t, "AveragePool", input, ksize, strides, padding, data_format)


@maps("MaxPoolWithArgmax", domain=TF, error=ulps(0))
def max_pool_with_argmax(
    t: Translation,
    input: ir.Value,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
    include_batch_in_index: bool,
    Targmax: ir.DataType,
) -> tuple[ir.Value, ir.Value]:
    data = channels_first(t, _comparable(t, input), "NHWC")
    window = _window(t, data, ksize, strides, padding, "NHWC")
    reached = without_unreached(t, data, window["kernel_shape"], window["strides"], window)
    values, places = t.op.several(2).MaxPool(reached, **window)
    if reached is not data:
        places = _within(t, places, reached, data)
    # ONNX counts places in (batch, channel, height, width), TensorFlow in the order of its data.
    channels, height, width = (size_at(t, data, axis) for axis in (1, 2, 3))
    plane = t.op.Mul(height, width)
    channel = t.op.Unsqueeze(t.op.Range(0, t.op.Squeeze(channels), 1), [1, 2])
    index = t.op.Add(t.op.Mul(t.op.Mod(places, plane), channels), channel)
    if include_batch_in_index:
        volume = t.op.Mul(plane, channels)
        index = t.op.Add(index, t.op.Mul(t.op.Div(places, volume), volume))
    made = t.cast(restored(t, values, "NHWC"), t.dtype(input))
    return made, t.cast(restored(t, index, "NHWC"), Targmax)


def _within(t: Translation, indices: ir.Value, part: ir.Value, whole: ir.Value) -> ir.Value:
    """Return flat indices into ``part``, the first rows and columns of ``whole``, as indices into ``whole``."""
    height, width = (t.op.Shape(part, start=axis, end=axis + 1) for axis in (2, 3))
    column, line = t.op.Mod(indices, width), t.op.Div(indices, width)
    row, plane = t.op.Mod(line, height), t.op.Div(line, height)
    rows = t.op.Add(t.op.Mul(plane, size_at(t, whole, 2)), row)
    return t.op.Add(t.op.Mul(rows, size_at(t, whole, 3)), column)


def _pooled(
    t: Translation,
    operator: str,
    data: ir.Value,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    data_format: str,
    explicit: Sequence[int] = (),
) -> ir.Value:
    wide = _comparable(t, data) if operator == "MaxPool" else data
    first = channels_first(t, wide, data_format)
    window = _window(t, first, ksize, strides, padding, data_format, explicit)
    reached = without_unreached(t, first, window["kernel_shape"], window["strides"], window)
    made = t.op.add(operator, [reached], window)
    return t.cast(restored(t, made, data_format), t.dtype(data))


def _window(
    t: Translation,
    first: ir.Value,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    data_format: str,
    explicit: Sequence[int] = (),
) -> dict[str, Any]:
    kernel, steps = spatial(ksize, data_format), spatial(strides, data_format)
    pads = padding_attributes(
        padding,
        explicit,
        data_format,
        sizes=t.dims(first)[2:],
        kernel=kernel,
        strides=steps,
        dilations=[1] * len(kernel),
    )
    return {"kernel_shape": kernel, "strides": steps, **pads}


def _comparable(t: Translation, data: ir.Value) -> ir.Value:
    """In a type that ONNX takes the maximum of and that holds every value."""
    dtype = t.dtype(data)
    if dtype in _AS_THEY_ARE:
        return data
    if dtype in _WITHIN_DOUBLE:
        return t.cast(data, ir.DataType.DOUBLE)
    raise t.fail(f"pools {dtype.name}; no type that ONNX pools holds all its values", "cast the data to int32")


def _max_over_channels(t: Translation, data: ir.Value, ksize: Sequence[int], data_format: str) -> ir.Value:
    """Windows along the channels, side by side: TensorFlow has them for channel-last data only."""
    if data_format != "NHWC":
        raise t.fail(
            f"pools along the channels of {data_format} data, as TensorFlow does for NHWC only", "transpose it to NHWC"
        )
    made = t.op.MaxPool(_comparable(t, data), kernel_shape=[1, ksize[-1]], strides=[1, ksize[-1]])
    return t.cast(made, t.dtype(data))
