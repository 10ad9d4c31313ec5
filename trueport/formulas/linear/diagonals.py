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

from trueport.formulas.indexing.shapes import Element, dim_elements, multiplied, reshaped, vector
from trueport.formulas.writer import Writer

__all__ = ["Band", "plus", "put", "scalar", "taken"]


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

    @property
    def count(self) -> int:
        return self.upper - self.lower + 1


def taken(t: Writer, matrix: ir.Value, band: Band, padding: ir.Value | None) -> ir.Value:
    """The band of the last two axes."""
    *batch, height, width = dim_elements(t, matrix)
    rows, columns = scalar(t, height), scalar(t, width)
    flat = reshaped(t, matrix, [*batch, multiplied(t, height, width)])
    if band.single:
        return t.op.Gather(flat, _line(t, band.lower, rows, columns), axis=-1)
    numbers = t.op.const(np.arange(band.upper, band.lower - 1, -1)[:, None])
    lengths = _lengths(t, numbers, rows, columns)
    longest = t.op.ReduceMax(lengths, keepdims=0)
    places = t.op.Sub(t.op.Range(0, longest, 1), _indent(t, band, numbers, lengths, longest))
    down = t.op.Add(places, t.op.Max(t.op.Neg(numbers), 0))
    across = t.op.Add(places, t.op.Max(numbers, 0))
    inside = t.op.And(t.op.GreaterOrEqual(places, 0), t.op.Less(places, lengths))
    index = t.op.Where(inside, t.op.Add(t.op.Mul(down, columns), across), 0)
    return t.op.Where(inside, t.op.Gather(flat, index, axis=-1), padding)


def _line(t: Writer, number: int, rows: ir.Value, columns: ir.Value) -> ir.Value:
    """The indices of one diagonal in a flattened matrix."""
    below, above = max(-number, 0), max(number, 0)
    length = t.op.Min(plus(t, rows, -below), plus(t, columns, -above))
    steps = t.op.Mul(t.op.Range(0, length, 1), plus(t, columns, 1))
    return t.op.Add(steps, t.op.Mul(columns, below)) if below else plus(t, steps, above)


def put(
    t: Writer,
    diagonal: ir.Value,
    band: Band,
    sizes: tuple[ir.Value, ir.Value],
    longest: ir.Value,
    others: ir.Value,
) -> ir.Value:
    """A matrix with this band, its rows ``longest`` long; all other elements are those of ``others``."""
    rows, columns = sizes
    down, across = t.op.Unsqueeze(t.op.Range(0, rows, 1), [1]), t.op.Range(0, columns, 1)
    if band.single:
        inside = t.op.Equal(across, plus(t, down, band.lower))
        if longest is rows and band.lower >= 0:
            return t.op.Where(inside, t.op.Unsqueeze(diagonal, [-1]), others)
        index, flat = t.op.Min(down, across), diagonal
    else:
        number = t.op.Sub(across, down)
        inside = t.op.And(t.op.GreaterOrEqual(number, band.lower), t.op.LessOrEqual(number, band.upper))
        indent = _indent(t, band, number, _lengths(t, number, rows, columns), longest)
        place = t.op.Add(t.op.Min(down, across), indent)
        index = t.op.Add(t.op.Mul(t.op.Sub(band.upper, number), longest), place)
        *batch, _, length = dim_elements(t, diagonal)
        flat = reshaped(t, diagonal, [*batch, multiplied(t, length, band.count)])
    return t.op.Where(inside, t.op.Gather(flat, t.op.Where(inside, index, 0), axis=-1), others)


def scalar(t: Writer, part: Element) -> ir.Value:
    """An element of a shape as an int64 scalar."""
    return t.op.const(np.array(part)) if isinstance(part, int) else t.op.Squeeze(vector(t, [part]), [0])


def plus(t: Writer, value: ir.Value, number: int) -> ir.Value:
    """A sum; the value itself where nothing is added."""
    return t.op.Add(value, number) if number else value


def _lengths(t: Writer, diagonals: ir.Value, rows: ir.Value, columns: ir.Value) -> ir.Value:
    above, below = t.op.Max(diagonals, 0), t.op.Min(diagonals, 0)
    return t.op.Min(t.op.Add(rows, below), t.op.Sub(columns, above))


def _indent(t: Writer, band: Band, diagonals: ir.Value, lengths: ir.Value, longest: ir.Value) -> ir.Value:
    """How far right the first element of a diagonal stands in its row."""
    if not band.right:
        return t.op.const(np.array(0))
    rest = t.op.Sub(longest, lengths)
    if 0 in band.right:
        return rest
    side = t.op.Greater(diagonals, 0) if 1 in band.right else t.op.Less(diagonals, 0)
    return t.op.Where(side, rest, 0)
