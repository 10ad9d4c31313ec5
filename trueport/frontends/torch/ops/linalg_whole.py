"""Linear algebra as users call it: without the reports and vectors that PyTorch's inner operators give beside."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import accumulation
from trueport.formulas.linear import factoring, jacobi
from trueport.formulas.linear.matrices import identity_like, swapped
from trueport.formulas.numeric import in_double
from trueport.frontends.torch.ops.linalg import lu_of, pseudo_inverse, singular_values, solution
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

_STEPS = accumulation(8, 8)
Value = ir.Value


@maps_torch("aten::linalg_inv", error=_STEPS)
@maps_torch("aten::inverse", error=_STEPS)
@recorded
def inv(t: TorchTranslation, x: Value) -> Value:
    return factoring.solved(t, x, identity_like(t, x))


@maps_torch("aten::linalg_cholesky", error=_STEPS)
@maps_torch("aten::cholesky", error=_STEPS)
@recorded
def cholesky(t: TorchTranslation, x: Value, upper: bool = False) -> Value:
    factor = factoring.cholesky_factor(t, swapped(t, x) if upper else x)
    return swapped(t, factor) if upper else factor


@maps_torch("aten::linalg_solve", error=_STEPS)
@recorded
def solve(t: TorchTranslation, a: Value, b: Value, left: bool = True) -> Value:
    return solution(t, a, b, left)


@maps_torch("aten::linalg_lu_factor", error=_STEPS)
@recorded
def lu_factor(t: TorchTranslation, x: Value, pivot: bool = True) -> tuple[Value, Value]:
    return lu_of(t, x, pivot)


@maps_torch("aten::linalg_eigvalsh", error=_STEPS)
@recorded
def eigvalsh(t: TorchTranslation, x: Value, UPLO: str = "L") -> Value:
    lower = x if UPLO.upper() == "L" else swapped(t, x)
    return in_double(t, lambda wide: jacobi.eigen(t, wide)[0], lower)


@maps_torch("aten::linalg_svdvals", error=_STEPS)
@recorded
def svdvals(t: TorchTranslation, x: Value, driver: str | None = None) -> Value:
    return singular_values(t, x)[0]


@maps_torch("aten::linalg_pinv.atol_rtol_tensor", error=_STEPS)
@recorded
def pinv_tensor(
    t: TorchTranslation, x: Value, *, atol: Value | None = None, rtol: Value | None = None, hermitian: bool = False
) -> Value:
    if atol is not None or rtol is not None:
        raise t.fail("its tolerance is computed", "pass the tolerance as a number")
    return pseudo_inverse(t, x, None, None, hermitian)


@maps_torch("aten::linalg_tensorinv", error=_STEPS)
@recorded
def tensorinv(t: TorchTranslation, x: Value, ind: int = 2) -> Value:
    dims = t.dims(x)
    if None in dims:
        raise t.fail("a dim of the tensor is open", "leave that dim out of the dynamic ones")
    known = [int(size or 0) for size in dims]
    size = int(np.prod(known[:ind]))
    square = t.op.Reshape(x, [size, size])
    found = factoring.solved(t, square, identity_like(t, square))
    return t.op.Reshape(found, [*known[ind:], *known[:ind]])
