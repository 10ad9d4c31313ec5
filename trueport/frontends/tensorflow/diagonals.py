"""Where the elements of a band of diagonals stand in a matrix, and where those of a matrix stand in a band.

A band goes from diagonal ``upper`` down to diagonal ``lower`` (0 is the main one, 1 the one above it). As a tensor each
of its diagonals is a row as long as the longest, the highest first; shorter ones are aligned left or right in it.
The nodes made here compute indices of shapes alone: they are folded where those are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from trueport.frontends.tensorflow.context import Translation
from trueport.frontends.tensorflow.shapes import Element, dim_elements, reshaped, vector

__all__ = ["Band", "put", "scalar", "taken"]


@dataclass(frozen=True)
class Band:
    """Diagonals ``upper`` to ``lower``; ``right``: the signs of the diagonals that are aligned right."""

    lower: int
    upper: int
    right: tuple[int, ...]

    @classmethod
    def of(cls, k: Sequence[int], align: str = "LEFT_LEFT") -> Band:
        above, below = (side == "RIGHT" for side in align.split("_"))
        signs = {1: above, -1: below, 0: above and below}
        return cls(min(k), max(k), tuple(sign for sign, right in signs.items() if right))

    @property
    def single(self) -> bool:
        return self.lower == self.upper


def taken(t: Translation, matrix: ir.Value, band: Band, padding: ir.Value | None) -> ir.Value:
    """The band of the last two axes."""
    *batch, height, width = dim_elements(t, matrix)
    rows, columns = scalar(t, height), scalar(t, width)
    flat = reshaped(t, matrix, [*batch, height * width if isinstance(height, int) and isinstance(width, int) else -1])
    numbers = np.arange(band.upper, band.lower - 1, -1)[:, None]
    diagonals = t.op.const(np.array(band.upper) if band.single else numbers)
    lengths = _lengths(t, diagonals, rows, columns)
    longest = lengths if band.single else t.op.ReduceMax(lengths, keepdims=0)
    places = t.op.Sub(t.op.Range(0, longest, 1), _indent(t, band, diagonals, lengths, longest))
    down = t.op.Add(places, t.op.Max(t.op.Neg(diagonals), 0))
    across = t.op.Add(places, t.op.Max(diagonals, 0))
    index = t.op.Add(t.op.Mul(down, columns), across)
    if not band.single:
        inside = t.op.And(t.op.GreaterOrEqual(places, 0), t.op.Less(places, lengths))
        index = t.op.Where(inside, index, 0)
    found: ir.Value = t.op.Gather(flat, index, axis=-1)
    return found if band.single else t.op.Where(inside, found, padding)


def put(
    t: Translation, diagonal: ir.Value, band: Band, rows: ir.Value, columns: ir.Value, others: ir.Value
) -> ir.Value:
    """A matrix with this band; all other elements are those of ``others``."""
    down, across = t.op.Unsqueeze(t.op.Range(0, rows, 1), [1]), t.op.Range(0, columns, 1)
    number = t.op.Sub(across, down)
    if band.single:
        inside = t.op.Equal(number, band.lower)
        index = t.op.Min(down, across)
        flat = diagonal
    else:
        inside = t.op.And(t.op.GreaterOrEqual(number, band.lower), t.op.LessOrEqual(number, band.upper))
        *batch, _, length = dim_elements(t, diagonal)
        longest = scalar(t, length)
        indent = _indent(t, band, number, _lengths(t, number, rows, columns), longest)
        row = t.op.Mul(t.op.Sub(band.upper, number), longest)
        index = t.op.Add(row, t.op.Add(t.op.Min(down, across), indent))
        flat = reshaped(t, diagonal, [*batch, length * _count(band) if isinstance(length, int) else -1])
    found = t.op.Gather(flat, t.op.Where(inside, index, 0), axis=-1)
    made: ir.Value = t.op.Where(inside, found, others)
    return made


def scalar(t: Translation, part: Element) -> ir.Value:
    """An element of a shape as an int64 scalar."""
    made: ir.Value = (
        t.op.const(np.array(part, np.int64)) if isinstance(part, int) else t.op.Squeeze(vector(t, [part]), [0])
    )
    return made


def _count(band: Band) -> int:
    return band.upper - band.lower + 1


def _lengths(t: Translation, diagonals: ir.Value, rows: ir.Value, columns: ir.Value) -> ir.Value:
    above, below = t.op.Max(diagonals, 0), t.op.Min(diagonals, 0)
    made: ir.Value = t.op.Min(t.op.Add(rows, below), t.op.Sub(columns, above))
    return made


def _indent(t: Translation, band: Band, diagonals: ir.Value, lengths: ir.Value, longest: ir.Value) -> ir.Value:
    """How far right the first element of a diagonal stands in its row."""
    if band.single or not band.right:
        return t.op.const(np.array(0, np.int64))
    rest = t.op.Sub(longest, lengths)
    if len(band.right) == 3:
        made: ir.Value = rest
    else:
        side = t.op.Greater(diagonals, 0) if 1 in band.right else t.op.Less(diagonals, 0)
        made = t.op.Where(side, rest, 0)
    return made
