"""Orders of axes: TensorFlow's channel-last data around ONNX's channel-first operators.

The transposes are written as they are needed; the layout pass cancels those between operators.
"""

from __future__ import annotations

import onnx_ir as ir

from trueport.frontends.tensorflow.context import Translation

__all__ = ["channel_axis", "channel_vector", "channels_first", "restored", "spatial"]


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
    made: ir.Value = t.op.Transpose(value, perm=[0, rank - 1, *range(1, rank - 1)])
    return made


def restored(t: Translation, value: ir.Value, data_format: str) -> ir.Value:
    """Back from ONNX's order to the source's."""
    rank = t.rank(value)
    if is_channels_first(data_format):
        return value
    made: ir.Value = t.op.Transpose(value, perm=[0, *range(2, rank), 1])
    return made


def spatial(values: list[int], data_format: str) -> list[int]:
    """The entries for the spatial axes out of one entry per axis."""
    return values[2:] if is_channels_first(data_format) else values[1:-1]


def channel_vector(t: Translation, vector: ir.Value, data: ir.Value, data_format: str) -> ir.Value:
    """One number per channel, shaped so that it broadcasts over the data."""
    rank = t.rank(data)
    if not is_channels_first(data_format) or rank <= 2:
        return vector
    made: ir.Value = t.op.Unsqueeze(vector, list(range(1, rank - 1)))
    return made
