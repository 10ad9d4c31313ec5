"""Factors of matrices in the last two axes, step by step in a Loop: one row and column of all matrices at a time.

TensorFlow raises an error where a matrix is singular or not positive definite; here infinities and NaN come out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import onnx_ir as ir

from trueport.formulas.repeating import repeated
from trueport.formulas.writer import Writer

__all__ = ["Triangles", "cholesky_factor", "householder", "pivoted", "solved", "substituted"]


class Triangles(NamedTuple):
    """Both triangular factors in one matrix, where each row came from, and the sign of that permutation."""

    both: ir.Value
    rows: ir.Value
    sign: ir.Value


class _Cells:
    """Where the cells of matrices lie: numbers of rows and columns that broadcast over them."""

    def __init__(self, t: Writer, matrix: ir.Value) -> None:
        self.rank = t.rank(matrix)
        self.height, self.width = (self._size(t, matrix, axis) for axis in (-2, -1))
        self.rows = t.op.Unsqueeze(self._numbers(t, self.height), [1])
        self.columns = t.op.Unsqueeze(self._numbers(t, self.width), [0])

    @staticmethod
    def _size(t: Writer, matrix: ir.Value, axis: int) -> ir.Value:
        known = t.dims(matrix)[axis]
        if known is not None:
            return t.op.const(np.array(known, np.int64))
        last = t.rank(matrix) + axis
        return t.op.Squeeze(t.op.Shape(matrix, start=last, end=last + 1), [0])

    @staticmethod
    def _numbers(t: Writer, size: ir.Value) -> ir.Value:
        known = t.static(size)
        if known is not None:
            return t.op.const(np.arange(int(known), dtype=np.int64))
        return t.op.Range(0, size, 1)

    def row(self, t: Writer, matrix: ir.Value, k: ir.Value) -> ir.Value:
        """[..., 1, n]"""
        return t.op.Gather(matrix, t.op.Unsqueeze(k, [0]), axis=self.rank - 2)

    def column(self, t: Writer, matrix: ir.Value, k: ir.Value) -> ir.Value:
        """[..., n, 1]"""
        return t.op.Gather(matrix, t.op.Unsqueeze(k, [0]), axis=self.rank - 1)

    def cell(self, t: Writer, matrix: ir.Value, k: ir.Value) -> ir.Value:
        """The k-th diagonal element, [..., 1, 1]."""
        return self.column(t, self.row(t, matrix, k), k)

    def least_size(self, t: Writer) -> ir.Value:
        return t.op.Min(self.height, self.width)


def cholesky_factor(t: Writer, matrix: ir.Value) -> ir.Value:
    """The lower factor, of the lower triangle alone."""
    cells = _Cells(t, matrix)
    zero = t.op.like(0, matrix)

    def step(b: Writer, k: ir.Value, values: list[ir.Value]) -> list[ir.Value]:
        rest, factor = values
        scaled = b.op.Div(cells.column(b, rest, k), b.op.Sqrt(cells.cell(b, rest, k)))
        column = b.op.Where(b.op.Less(cells.rows, k), zero, scaled)
        outer = b.op.MatMul(column, _turned(b, column))
        return [b.op.Sub(rest, outer), b.op.Where(b.op.Equal(cells.columns, k), column, factor)]

    return repeated(t, cells.width, [matrix, _zeros_like(t, matrix)], step)[1]


def substituted(t: Writer, matrix: ir.Value, right: ir.Value, *, lower: bool) -> ir.Value:
    """The solution for a triangular matrix; the other triangle is not looked at."""
    cells = _Cells(t, matrix)
    answers = _Cells(t, right)
    zero = t.op.like(0, matrix)

    def step(b: Writer, count: ir.Value, values: list[ir.Value]) -> list[ir.Value]:
        k = count if lower else b.op.Sub(b.op.Sub(cells.width, 1), count)
        known = b.op.Less(cells.columns, k) if lower else b.op.Greater(cells.columns, k)
        row = b.op.Where(known, cells.row(b, matrix, k), zero)
        missing = b.op.Sub(answers.row(b, right, k), b.op.MatMul(row, values[0]))
        found = b.op.Div(missing, cells.cell(b, matrix, k))
        return [b.op.Where(b.op.Equal(answers.rows, k), found, values[0])]

    return repeated(t, cells.width, [_zeros_over(t, matrix, right)], step)[0]


def pivoted(t: Writer, matrix: ir.Value) -> Triangles:
    """The factors with the largest element of each column as pivot, the first one of equals."""
    cells = _Cells(t, matrix)
    flags = _zeros_like(t, matrix)
    lead = _batch_scalar(t, flags)
    rows = t.op.Add(t.op.Cast(_batch_column(t, flags), to=ir.DataType.INT64), cells.rows)

    def step(b: Writer, k: ir.Value, values: list[ir.Value]) -> list[ir.Value]:
        rest, order, sign = values
        swap, best = _swap(b, cells, rest, k)
        rest, order = _reordered(b, rest, swap), b.op.GatherElements(order, swap, axis=cells.rank - 2)
        pivot, column = cells.cell(b, rest, k), cells.column(b, rest, k)
        below = b.op.Greater(cells.rows, k)
        nothing = b.op.Equal(pivot, b.op.like(0, pivot))
        divided = b.op.Div(column, b.op.Where(nothing, b.op.like(1, pivot), pivot))
        factors = b.op.Where(below, divided, b.op.like(0, column))
        row = b.op.Where(b.op.Greater(cells.columns, k), cells.row(b, rest, k), b.op.like(0, rest))
        less = b.op.Sub(rest, b.op.MatMul(factors, row))
        here = b.op.And(below, b.op.Equal(cells.columns, k))
        turned = b.op.Where(b.op.Equal(best, k), sign, b.op.Neg(sign))
        return [b.op.Where(here, factors, less), order, turned]

    one = t.op.Add(lead, t.op.like(1, lead))
    return Triangles(*repeated(t, cells.width, [matrix, rows, one], step))


def solved(t: Writer, matrix: ir.Value, right: ir.Value) -> ir.Value:
    """The solution by elimination with pivots, above and below the diagonal at once."""
    cells = _Cells(t, matrix)
    right = t.op.Add(right, _zeros_over(t, matrix, right))

    def step(b: Writer, k: ir.Value, values: list[ir.Value]) -> list[ir.Value]:
        rest, answer = values
        swap, _ = _swap(b, cells, rest, k)
        rest, answer = _reordered(b, rest, swap), _reordered(b, answer, swap)
        pivot, column = cells.cell(b, rest, k), cells.column(b, rest, k)
        here = b.op.Equal(cells.rows, k)
        # The pivot's own row is divided by it, all others lose their share of that row.
        row, known = (b.op.Div(cells.row(b, part, k), pivot) for part in (rest, answer))
        less = (b.op.Sub(part, b.op.MatMul(column, own)) for part, own in ((rest, row), (answer, known)))
        return [b.op.Where(here, own, other) for own, other in zip((row, known), less, strict=True)]

    return repeated(t, cells.width, [matrix, right], step)[1]


def householder(t: Writer, matrix: ir.Value) -> tuple[ir.Value, ir.Value]:
    """A square orthogonal factor and a triangular one, signs as Eigen chooses them."""
    cells = _Cells(t, matrix)
    across = _Cells(t, t.op.MatMul(matrix, _turned(t, matrix)))
    unit = t.op.Cast(t.op.Equal(across.rows, across.columns), to=t.dtype(matrix))
    start = t.op.Add(unit, _zeros_like(t, t.op.MatMul(matrix, _turned(t, matrix))))
    least = t.op.like(np.finfo(np.float64 if matrix.dtype == ir.DataType.DOUBLE else np.float32).tiny, matrix)

    def step(b: Writer, k: ir.Value, values: list[ir.Value]) -> list[ir.Value]:
        orthogonal, triangle = values
        zero, one = b.op.like(0, matrix), b.op.like(1, matrix)
        first = cells.cell(b, triangle, k)
        tail = b.op.Where(b.op.Greater(cells.rows, k), cells.column(b, triangle, k), zero)
        squares = b.op.ReduceSum(b.op.Mul(tail, tail), [cells.rank - 2], keepdims=1)
        length = b.op.Sqrt(b.op.Add(b.op.Mul(first, first), squares))
        signed = b.op.Where(b.op.GreaterOrEqual(first, zero), b.op.Neg(length), length)
        still = b.op.LessOrEqual(squares, least)
        end = b.op.Where(still, b.op.Where(b.op.Equal(first, zero), one, first), signed)
        share = b.op.Where(still, zero, b.op.Div(b.op.Sub(end, first), end))
        scaled = b.op.Div(tail, b.op.Where(still, one, b.op.Sub(first, end)))
        mirror = b.op.Where(b.op.Equal(cells.rows, k), one, scaled)
        turned = _turned(b, mirror)
        left = b.op.Mul(share, b.op.MatMul(mirror, b.op.MatMul(turned, triangle)))
        right = b.op.Mul(share, b.op.MatMul(b.op.MatMul(orthogonal, mirror), turned))
        return [b.op.Sub(orthogonal, right), b.op.Sub(triangle, left)]

    orthogonal, triangle = repeated(t, cells.least_size(t), [start, matrix], step)
    return orthogonal, t.op.Trilu(triangle, upper=1)


def _swap(t: Writer, cells: _Cells, rest: ir.Value, k: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Which row goes where when the k-th becomes the pivot's, [..., n, 1], and the pivot's row, [..., 1, 1]."""
    sizes = t.op.Abs(cells.column(t, rest, k))
    left = t.op.Where(t.op.Less(cells.rows, k), t.op.like(-1, sizes), sizes)
    best = t.op.ArgMax(left, axis=cells.rank - 2, keepdims=1)
    moved = t.op.Where(t.op.Equal(cells.rows, best), k, cells.rows)
    return t.op.Where(t.op.Equal(cells.rows, k), best, moved), best


def _reordered(t: Writer, matrix: ir.Value, rows: ir.Value) -> ir.Value:
    return t.op.GatherElements(matrix, t.op.Expand(rows, t.op.Shape(matrix)), axis=t.rank(matrix) - 2)


def _turned(t: Writer, matrix: ir.Value) -> ir.Value:
    rank = t.rank(matrix)
    return t.op.Transpose(matrix, perm=[*range(rank - 2), rank - 1, rank - 2])


def _zeros_like(t: Writer, value: ir.Value) -> ir.Value:
    return t.op.Expand(t.op.like(0, value), t.op.Shape(value))


def _zeros_over(t: Writer, matrix: ir.Value, right: ir.Value) -> ir.Value:
    """Zeros in the shape of the right side, broadcast over the matrices."""
    zeros = _zeros_like(t, right)
    rank = t.rank(matrix)
    if rank == 2 or (t.dims(matrix)[:-2] == t.dims(right)[:-2] and None not in t.dims(matrix)[:-2]):
        return zeros
    return t.op.Add(zeros, _batch_scalar(t, _zeros_like(t, matrix)))


def _batch_scalar(t: Writer, zeros: ir.Value) -> ir.Value:
    """[..., 1, 1]"""
    rank = t.rank(zeros)
    return t.op.ReduceSum(zeros, [rank - 2, rank - 1], keepdims=1)


def _batch_column(t: Writer, zeros: ir.Value) -> ir.Value:
    """[..., n, 1]"""
    return t.op.ReduceSum(zeros, [t.rank(zeros) - 1], keepdims=1)
