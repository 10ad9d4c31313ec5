"""Linear algebra: factors, solutions and singular values, as the loops that TensorFlow's operations become, too.

Vectors that belong to eigenvalues and singular values have no sign of their own: where they are asked for, the
operator is refused; what is made of them (a pseudo-inverse) is translated as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import accumulation
from trueport.formulas.linear import factoring, jacobi
from trueport.formulas.linear.einsum import EINSUM
from trueport.formulas.linear.einsum import einsum as contracted
from trueport.formulas.linear.matrices import diagonal, identity_like, swapped
from trueport.formulas.numeric import via
from trueport.formulas.repeating import repeated
from trueport.formulas.writer import Writer
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__ = ["lu_of", "pseudo_inverse", "singular_values", "solution"]

_D = ir.DataType
_STEPS = accumulation(8, 8)
"""Rounding adds up over as many steps as the matrix has rows; ill-conditioned matrices make more of it."""
Value = ir.Value


@maps_torch("aten::einsum", error=EINSUM)
@recorded
def einsum(t: TorchTranslation, equation: str, tensors: Sequence[Value], path: Any = None) -> Value:
    return contracted(t, tensors, equation)


def _batch(t: TorchTranslation, matrix: Value) -> Value:
    """The shape before the last two axes."""
    return t.op.Shape(matrix, end=t.rank(matrix) - 2)


def _all_well(t: TorchTranslation, matrix: Value) -> Value:
    """The report of a factoring that met no singular matrix: zeros, one for each."""
    return t.op.Expand(t.op.const(np.array(0, np.int32)), _batch(t, matrix))


def _failed_at(t: TorchTranslation, elements: Value) -> Value:
    """The report of a factoring: the number, from one, of the first of these that is zero or no number, or zero."""
    bad = t.op.Or(t.op.IsNaN(elements), t.op.Equal(elements, t.op.like(0, elements)))
    axis = t.rank(elements) - 1
    flags = t.op.Cast(bad, to=_D.INT32)
    first = t.op.Cast(t.op.ArgMax(flags, axis=axis, keepdims=0), to=_D.INT32)
    one = t.op.const(np.array(1, np.int32))
    return t.op.Mul(t.op.ReduceMax(flags, [axis], keepdims=0), t.op.Add(first, one))


def _swaps(t: TorchTranslation, rows: Value) -> Value:
    """LAPACK's pivots, counted from one: the row that each changed places with, from where each row came from."""
    rank = t.rank(rows)
    axis = rank - 2
    size = t.op.Shape(rows, start=axis, end=axis + 1)
    numbers = t.op.Unsqueeze(t.op.Range(0, t.op.Squeeze(size, [0]), 1), [1])
    start = t.op.Add(t.op.Mul(rows, 0), numbers)

    def step(b: Writer, k: Value, values: list[Value]) -> list[Value]:
        held, found = values
        here = b.op.Equal(numbers, k)
        wanted = b.op.Gather(rows, b.op.Unsqueeze(k, [0]), axis=axis)
        own = b.op.Gather(held, b.op.Unsqueeze(k, [0]), axis=axis)
        at = b.op.ReduceSum(b.op.Where(b.op.Equal(held, wanted), numbers, b.op.like(0, numbers)), [axis], keepdims=1)
        moved = b.op.Where(here, wanted, b.op.Where(b.op.Equal(numbers, at), own, held))
        return [moved, b.op.Where(here, at, found)]

    found = repeated(t, t.op.Squeeze(size, [0]), [start, start], step)[1]
    return t.op.Cast(t.op.Add(t.op.Squeeze(found, [rank - 1]), 1), to=_D.INT32)


def _square_only(t: TorchTranslation, matrix: Value) -> None:
    height, width = t.dims(matrix)[-2:]
    if height is None or height != width:
        raise t.fail(
            "factors matrices that are not square, or of an open size", "give the matrices a fixed, equal size"
        )


@maps_torch("aten::linalg_cholesky_ex", error=_STEPS)
@recorded
def cholesky_ex(t: TorchTranslation, x: Value, upper: bool = False, check_errors: bool = False) -> tuple[Value, Value]:
    factor = factoring.cholesky_factor(t, swapped(t, x) if upper else x)
    info = _failed_at(t, diagonal(t, factor))
    return (swapped(t, factor) if upper else factor), info


@maps_torch("aten::linalg_inv_ex", error=_STEPS)
@recorded
def inv_ex(t: TorchTranslation, x: Value, check_errors: bool = False) -> tuple[Value, Value]:
    return factoring.solved(t, x, identity_like(t, x)), _failed_at(t, diagonal(t, factoring.pivoted(t, x).both))


def solution(t: TorchTranslation, a: Value, b: Value, left: bool) -> Value:
    """A vector where the right side has one axis less, or is one for all matrices."""
    is_vector = t.rank(b) == 1 or (t.rank(b) + 1 == t.rank(a) and t.dims(b) == t.dims(a)[:-1])
    right = t.op.Unsqueeze(b, [t.rank(b)]) if is_vector else b
    if not left and not is_vector:
        return swapped(t, factoring.solved(t, swapped(t, a), swapped(t, right)))
    found = factoring.solved(t, a, right)
    return t.op.Squeeze(found, [t.rank(found) - 1]) if is_vector else found


@maps_torch("aten::_linalg_solve_ex", error=_STEPS)
@recorded
def solve_ex(
    t: TorchTranslation, a: Value, b: Value, left: bool = True, check_errors: bool = False
) -> tuple[Value, ...]:
    factors = factoring.pivoted(t, a if left else swapped(t, a))
    info = _failed_at(t, diagonal(t, factors.both))
    return solution(t, a, b, left), factors.both, _swaps(t, factors.rows), info


@maps_torch("aten::linalg_lu_factor_ex", error=_STEPS)
@recorded
def lu_factor_ex(t: TorchTranslation, x: Value, pivot: bool = True, check_errors: bool = False) -> tuple[Value, ...]:
    both, pivots = lu_of(t, x, pivot)
    return both, pivots, _failed_at(t, diagonal(t, both))


def lu_of(t: TorchTranslation, x: Value, pivot: bool) -> tuple[Value, Value]:
    """Both triangles in one matrix, and LAPACK's pivots."""
    assert pivot, "PyTorch itself does not factor without pivots on a processor"
    _square_only(t, x)
    factors = factoring.pivoted(t, x)
    return factors.both, _swaps(t, factors.rows)


@maps_torch("aten::linalg_lu", error=_STEPS)
@recorded
def lu(t: TorchTranslation, x: Value, pivot: bool = True) -> tuple[Value, ...]:
    assert pivot, "PyTorch itself does not factor without pivots on a processor"
    _square_only(t, x)
    factors = factoring.pivoted(t, x)
    unit = identity_like(t, x)
    lower = t.op.Add(t.op.Trilu(factors.both, np.array(-1), upper=0), unit)
    return _permutation(t, factors.rows, unit), lower, t.op.Trilu(factors.both, upper=1)


def _permutation(t: TorchTranslation, rows: Value, unit: Value) -> Value:
    """The matrix that puts the rows of a product back where they came from."""
    picked = t.op.GatherElements(unit, t.op.Expand(rows, t.op.Shape(unit)), axis=t.rank(unit) - 2)
    return swapped(t, picked)


@maps_torch("aten::linalg_lu_solve", error=_STEPS)
@recorded
def lu_solve(
    t: TorchTranslation, both: Value, pivots: Value, b: Value, left: bool = True, adjoint: bool = False
) -> Value:
    if not left or adjoint:
        raise t.fail("solves from the right, or with the adjoint", "transpose the matrix before it is factored")
    unit = identity_like(t, both)
    lower = t.op.Add(t.op.Trilu(both, np.array(-1), upper=0), unit)
    middle = factoring.substituted(t, lower, _with_swaps(t, b, pivots), lower=True)
    return factoring.substituted(t, both, middle, lower=False)


def _with_swaps(t: TorchTranslation, b: Value, pivots: Value) -> Value:
    """The rows of the right side, changed one after the other as LAPACK's pivots say."""
    axis = t.rank(b) - 2
    at = t.op.Sub(t.op.Unsqueeze(t.op.Cast(pivots, to=_D.INT64), [t.rank(pivots)]), 1)
    size = t.op.Squeeze(t.op.Shape(pivots, start=t.rank(pivots) - 1), [0])
    numbers = t.op.Unsqueeze(t.op.Range(0, size, 1), [1])

    def step(body: Writer, k: Value, values: list[Value]) -> list[Value]:
        held = values[0]
        other = body.op.Gather(at, body.op.Unsqueeze(k, [0]), axis=t.rank(at) - 2)
        source = body.op.Where(
            body.op.Equal(numbers, k), other, body.op.Where(body.op.Equal(numbers, other), k, numbers)
        )
        order = body.op.Expand(source, body.op.Shape(held))
        return [body.op.GatherElements(held, order, axis=axis)]

    return repeated(t, size, [b], step)[0]


@maps_torch("aten::_linalg_det", error=_STEPS)
@recorded
def det(t: TorchTranslation, x: Value) -> tuple[Value, ...]:
    factors = factoring.pivoted(t, x)
    product = t.op.ReduceProd(diagonal(t, factors.both), [t.rank(x) - 2], keepdims=0)
    return t.op.Mul(product, _alone(t, factors.sign)), factors.both, _swaps(t, factors.rows)


@maps_torch("aten::_linalg_slogdet", error=_STEPS)
@recorded
def slogdet(t: TorchTranslation, x: Value) -> tuple[Value, ...]:
    factors = factoring.pivoted(t, x)
    elements = diagonal(t, factors.both)
    axis = [t.rank(x) - 2]
    sign = t.op.Mul(t.op.ReduceProd(t.op.Sign(elements), axis, keepdims=0), _alone(t, factors.sign))
    size = t.op.ReduceSum(t.op.Log(t.op.Abs(elements)), axis, keepdims=0)
    return sign, size, factors.both, _swaps(t, factors.rows)


def _alone(t: TorchTranslation, value: Value) -> Value:
    rank = t.rank(value)
    return t.op.Squeeze(value, [rank - 2, rank - 1])


@maps_torch("aten::linalg_qr", error=_STEPS)
@recorded
def qr(t: TorchTranslation, x: Value, mode: str = "reduced") -> tuple[Value, Value]:
    orthogonal, triangle = factoring.householder(t, x)
    rank = t.rank(x)
    if mode == "complete":
        return orthogonal, triangle
    height, width = (t.op.Shape(x, start=axis, end=axis + 1) for axis in (rank - 2, rank - 1))
    least = t.op.Min(height, width)
    rest = t.op.Slice(triangle, [0], least, [rank - 2])
    if mode == "r":
        return t.op.const(np.zeros(0, np.float32)), rest
    return t.op.Slice(orthogonal, [0], least, [rank - 1]), rest


@maps_torch("aten::linalg_solve_triangular", error=_STEPS)
@recorded
def solve_triangular(
    t: TorchTranslation, a: Value, b: Value, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Value:
    matrix = a
    if unitriangular:
        unit = identity_like(t, a)
        matrix = t.op.Where(t.op.Cast(unit, to=_D.BOOL), unit, a)
    if left:
        return factoring.substituted(t, matrix, b, lower=not upper)
    return swapped(t, factoring.substituted(t, swapped(t, matrix), swapped(t, b), lower=upper))


_NO_SIGN = "{} have no sign of their own: PyTorch's can't be told before it runs"


@maps_torch("aten::_linalg_eigh", error=_STEPS)
@recorded
def eigh(t: TorchTranslation, x: Value, UPLO: str = "L", compute_v: bool = True) -> tuple[Value, Value]:
    if compute_v:
        raise t.fail(_NO_SIGN.format("eigenvectors"), "use torch.linalg.eigvalsh, or what is the same for both signs")
    values, _ = jacobi.eigen(t, x if UPLO.upper() == "L" else swapped(t, x))
    return values, t.op.Identity(t.op.const(np.zeros(0, np.float32)))


@maps_torch("aten::_linalg_svd", error=_STEPS)
@recorded
def svd(
    t: TorchTranslation, x: Value, full_matrices: bool = False, compute_uv: bool = True, *, driver: Any = None
) -> tuple[Value, ...]:
    if compute_uv:
        raise t.fail(_NO_SIGN.format("singular vectors"), "use torch.linalg.svdvals or pinv")
    values = singular_values(t, x)[0]
    nothing = t.op.const(np.zeros(0, np.float32))
    return t.op.Identity(nothing), values, t.op.Identity(nothing)


def singular_values(t: TorchTranslation, x: Value) -> tuple[Value, Value, Value]:
    """Values, left and right vectors, by rotations in doubles; matrices that are wider than high are turned."""
    height, width = t.dims(x)[-2:]
    if height is None or width is None:
        raise t.fail("the matrices' size is open", "leave their dims out of the dynamic ones")
    wide = t.cast(x, _D.DOUBLE)
    if height >= width:
        values, left, right = jacobi.singular(t, wide)
    else:
        values, right, left = jacobi.singular(t, swapped(t, wide))
    return t.cast(values, t.dtype(x)), t.cast(left, t.dtype(x)), t.cast(right, t.dtype(x))


@maps_torch("aten::linalg_pinv", error=_STEPS)
@recorded
def pinv(t: TorchTranslation, x: Value, rcond: float | None = None, hermitian: bool = False) -> Value:
    return pseudo_inverse(t, x, None, rcond, hermitian)


@maps_torch("aten::linalg_pinv.atol_rtol_float", error=_STEPS)
@recorded
def pinv_float(
    t: TorchTranslation, x: Value, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False
) -> Value:
    return pseudo_inverse(t, x, atol, rtol, hermitian)


def pseudo_inverse(t: TorchTranslation, x: Value, atol: float | None, rtol: float | None, hermitian: bool) -> Value:
    """Singular values below the larger tolerance count as none."""
    if hermitian:
        raise t.fail("reads one triangle of the matrix alone", "leave hermitian off")
    values, left, right = singular_values(t, x)
    height, width = t.dims(x)[-2:]
    assert height is not None and width is not None
    epsilon = np.finfo(np.float64 if t.dtype(x) == _D.DOUBLE else np.float32).eps
    share = (0.0 if atol else float(epsilon * max(height, width))) if rtol is None else rtol
    largest = t.op.ReduceMax(values, [t.rank(values) - 1], keepdims=1)
    bound = t.op.Max(t.op.Mul(largest, t.op.like(share, x)), t.op.like(atol or 0.0, x))
    none = t.op.LessOrEqual(values, bound)
    inverse = t.op.Where(none, t.op.like(0, x), t.op.Reciprocal(t.op.Where(none, t.op.like(1, x), values)))
    scaled = t.op.Mul(right, t.op.Unsqueeze(inverse, [t.rank(inverse) - 1]))
    return t.op.MatMul(scaled, swapped(t, left))


@maps_torch("aten::linalg_matrix_exp", error=_STEPS)
@recorded
def matrix_exp(t: TorchTranslation, x: Value) -> Value:
    return via(t, _D.DOUBLE, lambda wide: _exponential(t, wide), x)


_TERMS = 18
"""Of the series, for matrices of norm below one: the next one is less than a double's last place."""


def _exponential(t: TorchTranslation, x: Value) -> Value:
    """Halved until its norm is below one, the series, then squared as often."""
    rank = t.rank(x)
    norm = t.op.ReduceMax(t.op.ReduceSum(t.op.Abs(x), [rank - 1], keepdims=0), keepdims=0)
    doubled = t.op.Div(t.op.Log(t.op.Max(norm, t.op.like(1, x))), t.op.like(np.log(2), x))
    times = t.op.Add(t.op.Cast(t.op.Ceil(doubled), to=_D.INT64), 1)
    small = t.op.Div(x, t.op.Pow(t.op.like(2, x), t.op.Cast(times, to=_D.DOUBLE)))
    unit = identity_like(t, x)
    found = unit
    for k in range(_TERMS, 0, -1):
        found = t.op.Add(unit, t.op.Div(t.op.MatMul(small, found), t.op.like(k, x)))
    return repeated(t, times, [found], lambda b, _, values: [b.op.MatMul(values[0], values[0])])[0]


@maps_torch("aten::linalg_householder_product", error=_STEPS)
@recorded
def householder_product(t: TorchTranslation, x: Value, tau: Value) -> Value:
    """The first columns of the product of reflections, whose vectors stand below the diagonal."""
    height, width = t.dims(x)[-2:]
    count = t.dims(tau)[-1]
    if height is None or width is None or count is None:
        raise t.fail("the matrices' size is open", "leave their dims out of the dynamic ones")
    rank = t.rank(x)
    vectors = t.op.Add(t.op.Trilu(x, np.array(-1), upper=0), t.op.const(np.eye(height, width, dtype=_numpy(t, x))))
    made: Value = t.op.Add(t.op.Mul(x, t.op.like(0, x)), t.op.const(np.eye(height, width, dtype=_numpy(t, x))))
    for k in reversed(range(count)):
        vector = t.op.Slice(vectors, [k], [k + 1], [rank - 1])
        factor = t.op.Unsqueeze(t.op.Slice(tau, [k], [k + 1], [rank - 2]), [rank - 1])
        lost = t.op.MatMul(vector, t.op.MatMul(swapped(t, vector), made))
        made = t.op.Sub(made, t.op.Mul(factor, lost))
    return made


def _numpy(t: TorchTranslation, x: Value) -> Any:
    return np.float64 if t.dtype(x) == _D.DOUBLE else np.float32
