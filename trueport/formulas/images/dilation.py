"""Convolutions that TensorFlow runs on blocks of space which it has put into the batch: dilated convolutions.

SpaceToBatch, a convolution without padding, and BatchToSpace are one convolution of the padded data whose window has
gaps of the block's size. Each of the three notes what it did on the value it makes; the last puts them together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir

from trueport.formulas.images.borders import padded_by
from trueport.formulas.writer import Writer

__all__ = ["Apply", "convolved_whole", "note_blocks", "note_convolution"]

Apply = Callable[[ir.Value, list[int], dict[str, Any]], ir.Value]
"""The convolution on other data, with these gaps and these attributes for its padding."""

_BLOCKS = "trueport.blocks"
_CONVOLVED = "trueport.convolved_blocks"


@dataclass(frozen=True)
class _Blocks:
    """Data before they were cut into blocks."""

    data: ir.Value
    sizes: tuple[int, ...]
    paddings: ir.Value


def note_blocks(made: ir.Value, data: ir.Value, sizes: Sequence[int], paddings: ir.Value) -> ir.Value:
    """The value is the padded data, cut into blocks."""
    made.meta[_BLOCKS] = _Blocks(data, tuple(sizes), paddings)
    return made


def note_convolution(made: ir.Value, data: ir.Value, apply: Apply) -> ir.Value:
    """The value is a convolution, without gaps, steps and padding, of data that may have been cut into blocks."""
    if _BLOCKS in data.meta:
        made.meta[_CONVOLVED] = data.meta[_BLOCKS], apply
    return made


def convolved_whole(
    t: Writer, value: ir.Value, sizes: Sequence[int], crops: ir.Value
) -> tuple[ir.Value, ir.Value | None] | None:
    """What putting the blocks of a convolution's result together gives, by one convolution; and what to crop yet."""
    blocks, apply = _before_unit_axis(value).meta.get(_CONVOLVED, (None, None))
    if blocks is None or apply is None or blocks.sizes != tuple(sizes):
        return None
    rank = t.rank(blocks.data) - 2
    gaps = [*sizes, *(1,) * (rank - len(sizes))]
    added, removed = t.static(blocks.paddings), t.static(crops)
    if added is not None and removed is not None and not removed[:, 0].any() and (added[:, 1] >= removed[:, 1]).all():
        # What is cropped at the end is what the padding there has added.
        rest = [0] * (rank - len(sizes))
        ends = [*added[:, 0].tolist(), *rest, *(added[:, 1] - removed[:, 1]).tolist(), *rest]
        return apply(blocks.data, gaps, {"pads": ends} if any(ends) else {}), None
    padded = padded_by(t, blocks.data, blocks.paddings, axes=range(1, len(sizes) + 1))
    return apply(padded, gaps, {}), crops


def _before_unit_axis(value: ir.Value) -> ir.Value:
    """The value that a unit axis was added to and taken from again."""
    squeeze = value.producer()
    source = squeeze.inputs[0] if squeeze is not None and squeeze.op_type == "Squeeze" else None
    unsqueeze = source.producer() if source is not None else None
    inner = unsqueeze.inputs[0] if unsqueeze is not None and unsqueeze.op_type == "Unsqueeze" else None
    return inner if inner is not None and _CONVOLVED in inner.meta else value
