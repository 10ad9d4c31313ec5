"""Linear algebra: what is computed in a known number of steps."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_DATA, AGAINST_TERMS, accumulation
from trueport.formulas.linear.factoring import cholesky_factor, householder, pivoted, solved, substituted
from trueport.formulas.linear.matrices import diagonal, identity_like, swapped
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []

_STEPS = accumulation(8, 8, against=AGAINST_DATA)
"""Rounding adds up over as many steps as the matrix has rows; ill-conditioned matrices make more of it."""


@maps("Cholesky", domain=TF, error=_STEPS)
@maps("BatchCholesky", domain=TF, error=_STEPS)
def cholesky(t: Translation, input: ir.Value) -> ir.Value:
    return cholesky_factor(t, input)


@maps("MatrixTriangularSolve", domain=TF, error=_STEPS)
@maps("BatchMatrixTriangularSolve", domain=TF, error=_STEPS)
def triangular_solve(t: Translation, matrix: ir.Value, rhs: ir.Value, *, lower: bool, adjoint: bool) -> ir.Value:
    return substituted(t, swapped(t, matrix) if adjoint else matrix, rhs, lower=lower != adjoint)


@maps("BandedTriangularSolve", domain=TF, error=_STEPS)
def banded_triangular_solve(t: Translation, matrix: ir.Value, rhs: ir.Value, *, lower: bool, adjoint: bool) -> ir.Value:
    return triangular_solve(t, _unbanded(t, matrix, lower), rhs, lower=lower, adjoint=adjoint)


def _unbanded(t: Translation, bands: ir.Value, lower: bool) -> ir.Value:
    """A matrix from its diagonals, which are rows: the main one first if it is a lower triangle, last if an upper."""
    *_, count, size = t.dims(bands)
    if count is None or size is None:
        raise t.fail(
            "the bands' number or length is open; their matrix is written for known ones",
            "give the model's inputs a shape (--shape NAME=DIMS)",
        )
    rank = t.rank(bands)
    offsets = np.subtract.outer(np.arange(size), np.arange(size))
    made: ir.Value = t.op.like(0, bands)
    for index in range(count):
        here = offsets == (index if lower else index + 1 - count)
        band = t.op.Unsqueeze(t.op.Gather(bands, np.array(index), axis=rank - 2), [rank - 1])
        made = t.op.Where(here, band, made)
    return made


@maps("MatrixSolve", domain=TF, error=_STEPS)
@maps("BatchMatrixSolve", domain=TF, error=_STEPS)
def matrix_solve(t: Translation, matrix: ir.Value, rhs: ir.Value, *, adjoint: bool) -> ir.Value:
    return solved(t, swapped(t, matrix) if adjoint else matrix, rhs)


@maps("MatrixInverse", domain=TF, error=_STEPS)
@maps("BatchMatrixInverse", domain=TF, error=_STEPS)
def matrix_inverse(t: Translation, input: ir.Value, *, adjoint: bool) -> ir.Value:
    matrix = swapped(t, input) if adjoint else input
    return solved(t, matrix, identity_like(t, matrix))


@maps("MatrixDeterminant", domain=TF, error=_STEPS)
@maps("BatchMatrixDeterminant", domain=TF, error=_STEPS)
def matrix_determinant(t: Translation, input: ir.Value) -> ir.Value:
    if t.dtype(input) != ir.DataType.DOUBLE:
        return t.op.Det(input)
    factors = pivoted(t, input)  # ONNX Runtime's Det is of single precision
    product = t.op.ReduceProd(diagonal(t, factors.both), [t.rank(input) - 2], keepdims=0)
    return t.op.Mul(product, _alone(t, factors.sign))


@maps("LogMatrixDeterminant", domain=TF, error=_STEPS)
def log_matrix_determinant(t: Translation, input: ir.Value) -> tuple[ir.Value, ir.Value]:
    factors = pivoted(t, input)
    elements = diagonal(t, factors.both)
    axis = [t.rank(input) - 2]
    sign = t.op.Mul(t.op.ReduceProd(t.op.Sign(elements), axis, keepdims=0), _alone(t, factors.sign))
    return sign, t.op.ReduceSum(t.op.Log(t.op.Abs(elements)), axis, keepdims=0)


def _alone(t: Translation, value: ir.Value) -> ir.Value:
    rank = t.rank(value)
    return t.op.Squeeze(value, [rank - 2, rank - 1])


@maps("Lu", domain=TF, error=_STEPS)
def lu(t: Translation, input: ir.Value) -> tuple[ir.Value, ir.Value]:
    factors = pivoted(t, input)
    return factors.both, t.cast(t.op.Squeeze(factors.rows, [t.rank(input) - 1]), t.output_type(1))


@maps("Qr", domain=TF, error=_STEPS)
def qr(t: Translation, input: ir.Value, *, full_matrices: bool) -> tuple[ir.Value, ir.Value]:
    orthogonal, triangle = householder(t, input)
    if full_matrices:
        return orthogonal, triangle
    rank = t.rank(input)
    height, width = (t.op.Shape(input, start=axis, end=axis + 1) for axis in (rank - 2, rank - 1))
    return (
        t.op.Slice(orthogonal, [0], width, [rank - 1]),
        t.op.Slice(triangle, [0], t.op.Min(height, width), [rank - 2]),
    )


@maps("TridiagonalMatMul", domain=TF, error=accumulation(against=AGAINST_TERMS))
def tridiagonal_mat_mul(
    t: Translation, superdiag: ir.Value, maindiag: ir.Value, subdiag: ir.Value, rhs: ir.Value
) -> ir.Value:
    above, main, below = (swapped(t, band) for band in (superdiag, maindiag, subdiag))
    return t.op.Sum(
        t.op.Mul(_shifted(t, above, 0, 0), _shifted(t, rhs, 1, 0)),
        t.op.Mul(main, rhs),
        t.op.Mul(below, _shifted(t, rhs, 0, 1)),
    )


def _shifted(t: Translation, value: ir.Value, up: int, down: int) -> ir.Value:
    """Rows moved by one, zeros where they came from."""
    if not up and not down:
        return value
    axis = t.rank(value) - 2
    ends = [[0] * axis + [count, 0] for count in (down, up)]
    moved = t.op.Pad(value, [*ends[0], *ends[1]], t.op.like(0, value))
    return t.op.Slice(moved, [up], [np.iinfo(np.int64).max if up else -1], [axis])


@maps(
    "TridiagonalSolve",
    domain=TF,
    error=_STEPS,
    ignores={"partial_pivoting": "chooses an algorithm; pivots are always looked for"},
)
def tridiagonal_solve(t: Translation, diagonals: ir.Value, rhs: ir.Value, *, perturb_singular: bool) -> ir.Value:
    if perturb_singular:
        raise t.fail(
            "perturbs a singular matrix; ONNX has nothing that does the same", "solve it without perturb_singular"
        )
    size = t.dims(diagonals)[-1]
    if size is None:
        raise t.fail(
            "the number of equations is open; their matrix is written for a known one",
            "give the model's inputs a shape (--shape NAME=DIMS)",
        )
    rank = t.rank(diagonals)
    offsets = np.subtract.outer(np.arange(size), np.arange(size))
    matrix: ir.Value = t.op.like(0, diagonals)
    for index in range(3):
        band = t.op.Unsqueeze(t.op.Gather(diagonals, np.array(index), axis=rank - 2), [rank - 1])
        matrix = t.op.Where(offsets == index - 1, band, matrix)
    return solved(t, matrix, rhs)
