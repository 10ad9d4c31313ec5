"""Eigenvalues and singular values."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_DATA, APPROXIMATE, accumulation
from trueport.formulas.linear.factoring import householder
from trueport.formulas.linear.jacobi import eigen, singular
from trueport.formulas.linear.matrices import swapped
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.ir.dtypes import numpy_dtype
from trueport.mapping.declare import maps

__all__: list[str] = []

_ROTATIONS = accumulation(16, 16, against=AGAINST_DATA)
"""Jacobi's rotations give each value to a few units of the last place of the largest."""


@maps("SelfAdjointEigV2", domain=TF, error=_ROTATIONS)
def self_adjoint_eig(t: Translation, input: ir.Value, *, compute_v: bool) -> tuple[ir.Value, ir.Value]:
    values, vectors = eigen(t, input)
    if not compute_v:
        return values, _nothing(t)
    _lose_signs(t)
    return values, vectors


@maps("Svd", domain=TF, error=_ROTATIONS)
def svd(
    t: Translation, input: ir.Value, *, compute_uv: bool, full_matrices: bool
) -> tuple[ir.Value, ir.Value, ir.Value]:
    height, width = t.dims(input)[-2:]
    wide = height is not None and width is not None and height < width
    values, left, right = singular(t, swapped(t, input) if wide else input)
    if not compute_uv:
        return values, _nothing(t), _nothing(t)
    if height is None or width is None:
        raise t.fail(
            "the matrices' height or width is open; which of them is less must be known",
            "give the model's inputs a shape (--shape NAME=DIMS)",
        )
    _lose_signs(t)
    if full_matrices and height != width:
        left = _completed(t, left, min(height, width))
    return (values, right, left) if wide else (values, left, right)


def _completed(t: Translation, columns: ir.Value, count: int) -> ir.Value:
    """With more columns, orthogonal to those there are, until they are as many as the rows."""
    axis = t.rank(columns) - 1
    others = t.op.Slice(householder(t, columns)[0], [count], [1 << 62], [axis])
    return t.op.Concat(columns, others, axis=axis)


def _nothing(t: Translation) -> ir.Value:
    return t.op.const(np.zeros(0, numpy_dtype(t.output_type())))


def _lose_signs(t: Translation) -> None:
    t.lose(
        "the signs of the vectors",
        "they are TensorFlow's choice: a vector and its negative, and any basis for equal values, are as right",
        APPROXIMATE,
    )
