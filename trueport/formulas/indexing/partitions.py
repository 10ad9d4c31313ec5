"""Rows of different lengths: where each value of a ragged tensor stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from trueport.formulas.indexing.indices import positions, size_of
from trueport.formulas.indexing.segments import row_numbers
from trueport.formulas.writer import Writer

__all__ = ["Level", "coordinates", "level_of_rows", "level_of_splits", "longest", "ranges", "splits_of"]

_END = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Level:
    """One way in which values are put in rows; all int64."""

    rows: ir.Value
    """the row of each value"""
    places: ir.Value
    """its place in that row"""
    lengths: ir.Value
    """of each row"""


def splits_of(t: Writer, lengths: ir.Value) -> ir.Value:
    """Where rows of these lengths begin, and the last one's end."""
    return t.op.Concat([0], t.op.CumSum(lengths, np.int64(0)), axis=0)


def level_of_splits(t: Writer, splits: ir.Value) -> Level:
    """Rows that are cut at ``splits``."""
    cuts = t.int64(splits)
    begins, ends = t.op.Slice(cuts, [0], [-1], [0]), t.op.Slice(cuts, [1], [_END], [0])
    count = t.op.Slice(cuts, [-1], [_END], [0])
    rows = row_numbers(t, cuts, count)
    places = t.op.Sub(positions(t, count), t.op.Gather(begins, rows, axis=0))
    return Level(rows, places, t.op.Sub(ends, begins))


def level_of_rows(t: Writer, rows: ir.Value, count: ir.Value) -> Level:
    """Values with the number of their row, in order; ``count`` (a vector of one) rows in all."""
    numbers = t.int64(rows)
    zeros = t.op.Expand(np.array(0, np.int64), count)
    ones = t.op.Expand(np.array(1, np.int64), t.op.Shape(numbers))
    lengths = t.op.ScatterElements(zeros, numbers, ones, axis=0, reduction="add")
    begins = t.op.Sub(t.op.CumSum(lengths, np.int64(0)), lengths)
    places = t.op.Sub(positions(t, size_of(t, numbers, 0)), t.op.Gather(begins, numbers, axis=0))
    return Level(numbers, places, lengths)


def coordinates(t: Writer, levels: Sequence[Level]) -> list[ir.Value]:
    """The indices of each innermost value, one vector per axis, outermost first."""
    *outer, inner = levels
    found, parent = [inner.places], inner.rows
    for level in reversed(outer):
        found.append(t.op.Gather(level.places, parent, axis=0))
        parent = t.op.Gather(level.rows, parent, axis=0)
    return [parent, *reversed(found)]


def longest(t: Writer, level: Level) -> ir.Value:
    """The length of the longest row, as a vector of one; 0 where there is none."""
    return t.op.ReduceMax(t.op.Concat([0], level.lengths, axis=0), [0], keepdims=1)


def ranges(t: Writer, begins: ir.Value, lengths: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Numbers that count up from each beginning, row after row, and the splits between the rows."""
    splits = splits_of(t, lengths)
    level = level_of_splits(t, splits)
    return t.op.Add(t.op.Gather(begins, level.rows, axis=0), level.places), splits
