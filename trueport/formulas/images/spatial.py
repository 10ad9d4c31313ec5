"""Orders of axes: TensorFlow's channel-last data around ONNX's channel-first operators.

The transposes are written as they are needed; the layout pass cancels those between operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import onnx_ir as ir

from trueport.formulas.writer import Writer

_Entry = TypeVar("_Entry")

__all__ = [
    "Line",
    "as_line",
    "channel_axis",
    "channel_vector",
    "channels_first",
    "is_channels_first",
    "kernel_first",
    "restored",
    "size_at",
    "spatial",
]


def is_channels_first(data_format: str) -> bool:
    return data_format.startswith("NC")


def channel_axis(data_format: str, rank: int) -> int:
    """Where channels stand in data of this format."""
    return 1 if is_channels_first(data_format) else rank - 1


def channels_first(t: Writer, value: ir.Value, data_format: str) -> ir.Value:
    """The data as ONNX's operators want it."""
    rank = t.rank(value)
    if is_channels_first(data_format):
        return value
    return t.op.Transpose(value, perm=[0, rank - 1, *range(1, rank - 1)])


def restored(t: Writer, value: ir.Value, data_format: str) -> ir.Value:
    """Back from ONNX's order to the source's."""
    rank = t.rank(value)
    if is_channels_first(data_format):
        return value
    return t.op.Transpose(value, perm=[0, *range(2, rank), 1])


def kernel_first(t: Writer, kernel: ir.Value, channels: tuple[int, int]) -> ir.Value:
    """A kernel (spatial axes, then two of channels) with its channels first; ``channels`` orders the last two."""
    rank = t.rank(kernel)
    return t.op.Transpose(kernel, perm=[*(rank + axis for axis in channels), *range(rank - 2)])


def spatial(values: Sequence[_Entry], data_format: str) -> list[_Entry]:
    """The entries for the spatial axes out of one entry per axis."""
    return list(values[2:] if is_channels_first(data_format) else values[1:-1])


def channel_vector(t: Writer, vector: ir.Value, data: ir.Value, data_format: str) -> ir.Value:
    """One number per channel, shaped so that it broadcasts over the data."""
    rank = t.rank(data)
    if not is_channels_first(data_format) or rank <= 2:
        return vector
    return t.op.Unsqueeze(vector, list(range(1, rank - 1)))


def size_at(t: Writer, value: ir.Value, axis: int) -> ir.Value:
    """One dim as a vector of one number: a constant where it is known."""
    known = t.dims(value)[axis]
    axis %= t.rank(value)
    return t.op.Shape(value, start=axis, end=axis + 1) if known is None else t.op.const(np.array([known], np.int64))


@dataclass(frozen=True)
class Line:
    """Data and kernel of one spatial axis that were given a second one, of size 1, for an operator that has two."""

    axis: int
    data: ir.Value
    kernel: ir.Value
    data_format: str

    def entries(self, values: Sequence[int]) -> list[int]:
        """One entry per axis, without the added axis'."""
        return [value for place, value in enumerate(values) if place != self.axis]


def as_line(t: Writer, data: ir.Value, kernel: ir.Value, data_format: str) -> Line | None:
    """What stood before a unit axis was added to both; None where that is not how they were made."""
    first = is_channels_first(data_format)
    for place in (0, 1):
        axis = place + (2 if first else 1)
        before = _before_axis(t, data, axis), _before_axis(t, kernel, place)
        if before[0] is not None and before[1] is not None:
            return Line(axis, before[0], before[1], "NCW" if first else "NWC")
    return None


def _before_axis(t: Writer, value: ir.Value, axis: int) -> ir.Value | None:
    producer = value.producer()
    if t.rank(value) != 4 or producer is None or producer.op_type != "Unsqueeze":
        return None
    source, axes = producer.inputs
    known = t.static(axes) if axes is not None else None
    added = [int(place) % t.rank(value) for place in known.ravel()] if known is not None else []
    return source if added == [axis] else None
