"""Eigenvalues and singular values by Jacobi's rotations: pairs of columns are turned until all are orthogonal.

Each step of the Loop turns disjoint pairs of all columns at once, in the order of a tournament in which each meets
each; the sweeps are as many as convergence to the last place takes, which is quadratic.
"""

from __future__ import annotations

import math

import numpy as np
import onnx_ir as ir

from trueport.formulas.linear.matrices import identity_like, swapped
from trueport.formulas.repeating import repeated
from trueport.formulas.writer import Writer

__all__ = ["eigen", "singular"]

_LARGEST = 512
"""Columns up to which the steps are few enough to be run one after the other."""


def eigen(t: Writer, matrix: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Eigenvalues of symmetric matrices in rising order, and eigenvectors as columns; the lower triangle is read."""
    size = _size(t, matrix)
    mirrored = t.op.Add(t.op.Trilu(matrix, upper=0), swapped(t, t.op.Trilu(matrix, np.array(-1), upper=0)))
    padded = _padded(t, mirrored, size, both=True)
    rounds = _Rounds(t, size)
    half = t.op.const(np.eye(rounds.width // 2, dtype=bool))

    def step(b: Writer, k: ir.Value, values: list[ir.Value]) -> list[ir.Value]:
        order, back = rounds.order(b, k)
        left, right = _halves(b, values[0], order)
        (first, cross), (_, second) = (_halves(b, swapped(b, part), order) for part in (left, right))
        turn = _Turn(b, *(_diagonal_of(b, block, half) for block in (first, second, cross)))
        turned = turn.columns(b, left, right, back)
        rows = turn.columns(b, *_halves(b, swapped(b, turned), order), back)
        return [swapped(b, rows), turn.columns(b, *_halves(b, values[1], order), back)]

    found, vectors = repeated(t, rounds.steps, [padded, identity_like(t, padded)], step)
    values = _diagonal_of(t, _cut(t, found, size, both=True), t.op.const(np.eye(size, dtype=bool)))
    values, vectors = _sorted(t, values, [_cut(t, vectors, size, both=True)], largest=False)
    return values, vectors


def singular(t: Writer, matrix: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Singular values in falling order, left and right vectors as columns, of matrices no wider than they are high."""
    size = _size(t, matrix)
    padded = _padded(t, matrix, size, both=False)
    rounds = _Rounds(t, size)
    axis = [t.rank(matrix) - 2]

    def step(b: Writer, k: ir.Value, values: list[ir.Value]) -> list[ir.Value]:
        order, back = rounds.order(b, k)
        left, right = _halves(b, values[0], order)
        products = ((left, left), (right, right), (left, right))
        turn = _Turn(b, *(b.op.ReduceSum(b.op.Mul(x, y), axis, keepdims=1) for x, y in products))
        return [turn.columns(b, left, right, back), turn.columns(b, *_halves(b, values[1], order), back)]

    unit = identity_like(t, t.op.MatMul(swapped(t, padded), padded))
    turned, vectors = repeated(t, rounds.steps, [padded, unit], step)
    turned, vectors = _cut(t, turned, size, both=False), _cut(t, vectors, size, both=True)
    lengths = t.op.ReduceL2(turned, axis, keepdims=1)
    none = t.op.Equal(lengths, t.op.like(0, lengths))
    left = t.op.Div(turned, t.op.Where(none, t.op.like(1, lengths), lengths))
    values, left, right = _sorted(t, lengths, [left, vectors], largest=True)
    return values, left, right


class _Rounds:
    """Which columns meet in which step: first the left halves of all pairs, then the right ones."""

    def __init__(self, t: Writer, size: int) -> None:
        self.width = size + size % 2
        rounds = np.array(_tournament(self.width), np.int64)
        self.steps = len(rounds) * (8 + 2 * math.ceil(math.log2(self.width)))
        self._count = t.op.const(np.array(len(rounds), np.int64))
        self._orders, self._backs = t.op.const(rounds), t.op.const(np.argsort(rounds, axis=1))

    def order(self, t: Writer, k: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The columns in the order of a step, and the way back."""
        number = t.op.Mod(k, self._count)
        return t.op.Gather(self._orders, number, axis=0), t.op.Gather(self._backs, number, axis=0)


def _tournament(count: int) -> list[list[int]]:
    """The circle method: one stays, all others move on by one place."""
    ring, rounds = list(range(1, count)), []
    for _ in range(count - 1):
        seats = [0, *ring]
        rounds.append([*seats[: count // 2], *reversed(seats[count // 2 :])])
        ring = [*ring[1:], ring[0]]
    return rounds


class _Turn:
    """Rotations that make pairs of columns orthogonal, from their squares and their product."""

    def __init__(self, t: Writer, first: ir.Value, second: ir.Value, cross: ir.Value) -> None:
        op, one = t.op, t.op.like(1, cross)
        done = op.Equal(cross, op.like(0, cross))
        ratio = op.Div(op.Sub(second, first), op.Mul(op.like(2, cross), op.Where(done, one, cross)))
        size = op.Add(op.Abs(ratio), op.Sqrt(op.Add(one, op.Mul(ratio, ratio))))
        falls = op.Less(ratio, op.like(0, ratio))
        tangent = op.Where(done, op.like(0, cross), op.Div(op.Where(falls, op.Neg(one), one), size))
        self.cosine = op.Div(one, op.Sqrt(op.Add(one, op.Mul(tangent, tangent))))
        self.sine = op.Mul(self.cosine, tangent)

    def columns(self, t: Writer, left: ir.Value, right: ir.Value, back: ir.Value) -> ir.Value:
        """The columns turned, each at its old place."""
        op, axis = t.op, t.rank(left) - 1
        turned = (
            op.Sub(op.Mul(self.cosine, left), op.Mul(self.sine, right)),
            op.Add(op.Mul(self.sine, left), op.Mul(self.cosine, right)),
        )
        return op.Gather(op.Concat(*turned, axis=axis), back, axis=axis)


def _size(t: Writer, matrix: ir.Value) -> int:
    size = t.dims(matrix)[-1]
    if size is None or not 0 < size <= _LARGEST:
        raise t.fail(
            f"the matrices have {'an open number of' if size is None else size} columns; it is computed by rotations "
            f"of columns, which are written for 1 to {_LARGEST}",
            "give the model's inputs a shape (--shape NAME=DIMS)" if size is None else "use smaller matrices",
        )
    return size


def _padded(t: Writer, matrix: ir.Value, size: int, *, both: bool) -> ir.Value:
    """A column of zeros more where their number is odd; it is orthogonal to all."""
    if size % 2 == 0:
        return matrix
    # All axes are named: ONNX Runtime moves transposes over a Pad and leaves the numbers of its axes as they were.
    after = [0] * (t.rank(matrix) - 2) + [int(both), 1]
    return t.op.Pad(matrix, [0] * len(after) + after, t.op.like(0, matrix))


def _cut(t: Writer, matrix: ir.Value, size: int, *, both: bool) -> ir.Value:
    if size % 2 == 0:
        return matrix
    rank = t.rank(matrix)
    axes = [rank - 2, rank - 1] if both else [rank - 1]
    return t.op.Slice(matrix, [0] * len(axes), [size] * len(axes), axes)


def _halves(t: Writer, matrix: ir.Value, order: ir.Value) -> tuple[ir.Value, ir.Value]:
    axis = t.rank(matrix) - 1
    left, right = t.op.several(2).Split(t.op.Gather(matrix, order, axis=axis), axis=axis, num_outputs=2)
    return left, right


def _diagonal_of(t: Writer, matrix: ir.Value, unit: ir.Value) -> ir.Value:
    """[..., 1, n]"""
    return t.op.ReduceSum(t.op.Where(unit, matrix, t.op.like(0, matrix)), [t.rank(matrix) - 2], keepdims=1)


def _sorted(t: Writer, values: ir.Value, columns: list[ir.Value], *, largest: bool) -> tuple[ir.Value, ...]:
    rank = t.rank(values)
    count = t.op.Shape(values, start=rank - 1)
    ordered, order = t.op.several(2).TopK(values, count, axis=rank - 1, largest=int(largest))
    moved = (t.op.GatherElements(part, t.op.Expand(order, t.op.Shape(part)), axis=rank - 1) for part in columns)
    return t.op.Squeeze(ordered, [rank - 2]), *moved
