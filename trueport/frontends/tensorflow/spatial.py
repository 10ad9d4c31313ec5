"""Orders of axes: TensorFlow's channel-last data around ONNX's channel-first operators.

The transposes are written as they are needed; the layout pass cancels those between operators.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from trueport.frontends.tensorflow.context import Translation

__all__ = [
    "channel_axis",
    "channel_vector",
    "channels_first",
    "is_channels_first",
    "kernel_first",
    "restored",
    "size_at",
    "spatial",
    "without_axis",
]


def is_channels_first(data_format: str) -> bool:
    return data_format.startswith("NC")


def channel_axis(data_format: str, rank: int) -> int:
    """Where channels stand in data of this format."""
    return 1 if is_channels_first(data_format) else rank - 1


def channels_first(t: Translation, value: ir.Value, data_format: str) -> ir.Value:
    """The data as ONNX's operators want it."""
    rank = t.rank(value)
    if is_channels_first(data_format):
        return value
    return t.op.Transpose(value, perm=[0, rank - 1, *range(1, rank - 1)])


def restored(t: Translation, value: ir.Value, data_format: str) -> ir.Value:
    """Back from ONNX's order to the source's."""
    rank = t.rank(value)
    if is_channels_first(data_format):
        return value
    return t.op.Transpose(value, perm=[0, *range(2, rank), 1])


def kernel_first(t: Translation, kernel: ir.Value, channels: tuple[int, int]) -> ir.Value:
    """A kernel (spatial axes, then two of channels) with its channels first; ``channels`` orders the last two."""
    rank = t.rank(kernel)
    return t.op.Transpose(kernel, perm=[*(rank + axis for axis in channels), *range(rank - 2)])


def spatial(values: Sequence[int], data_format: str) -> list[int]:
    """The entries for the spatial axes out of one entry per axis."""
    return list(values[2:] if is_channels_first(data_format) else values[1:-1])


def channel_vector(t: Translation, vector: ir.Value, data: ir.Value, data_format: str) -> ir.Value:
    """One number per channel, shaped so that it broadcasts over the data."""
    rank = t.rank(data)
    if not is_channels_first(data_format) or rank <= 2:
        return vector
    return t.op.Unsqueeze(vector, list(range(1, rank - 1)))


def size_at(t: Translation, value: ir.Value, axis: int) -> ir.Value:
    """One dim as a vector of one number: a constant where it is known."""
    known = t.dims(value)[axis]
    axis %= t.rank(value)
    return t.op.Shape(value, start=axis, end=axis + 1) if known is None else t.op.const(np.array([known], np.int64))


def without_axis(t: Translation, value: ir.Value, axis: int) -> ir.Value:
    """The value without a unit axis: what it was before that axis was added, if that was the last thing done."""
    axis %= t.rank(value)
    producer = value.producer()
    if producer is not None and producer.op_type == "Unsqueeze":
        source, axes = producer.inputs
        known = t.static(axes) if axes is not None else None
        if source is not None and known is not None and [int(a) % t.rank(value) for a in known.ravel()] == [axis]:
            return source
    return t.op.Squeeze(value, [axis])
