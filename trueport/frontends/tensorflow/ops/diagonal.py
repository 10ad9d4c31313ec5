"""Diagonals of matrices: taken out, put in, and bands of them."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.formulas.indexing.shapes import dim_elements, reshaped
from trueport.formulas.linear.diagonals import Band, plus, put, scalar, taken
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.ir.dtypes import numpy_dtype
from trueport.mapping.declare import maps

__all__: list[str] = []

_MAIN = Band.of([0])


@maps("MatrixDiag", domain=TF, fidelity=BITWISE)
def matrix_diag(t: Translation, diagonal: ir.Value) -> ir.Value:
    return _square(t, diagonal)


@maps("MatrixDiagV2", domain=TF, fidelity=BITWISE)
def matrix_diag_v2(
    t: Translation,
    diagonal: ir.Value,
    k: ir.Value,
    num_rows: ir.Value,
    num_cols: ir.Value,
    padding_value: ir.Value,
) -> ir.Value:
    return matrix_diag_v3(t, diagonal, k, num_rows, num_cols, padding_value, align="LEFT_LEFT")


@maps("MatrixDiagV3", domain=TF, fidelity=BITWISE)
def matrix_diag_v3(
    t: Translation,
    diagonal: ir.Value,
    k: ir.Value,
    num_rows: ir.Value,
    num_cols: ir.Value,
    padding_value: ir.Value,
    *,
    align: str,
) -> ir.Value:
    band = _band(t, k, align)
    longest = scalar(t, dim_elements(t, diagonal)[-1])
    free = [t.static(number) == -1 for number in (num_rows, num_cols)]
    more = [-min(band.upper, 0), max(band.lower, 0)]
    if all(free):
        more = [max(more)] * 2
    rows, columns = (
        _given_or(t, number, plus(t, longest, extra)) for number, extra in zip((num_rows, num_cols), more, strict=True)
    )
    return put(t, diagonal, band, (rows, columns), longest, padding_value)


@maps("MatrixSetDiag", domain=TF, fidelity=BITWISE)
def matrix_set_diag(t: Translation, input: ir.Value, diagonal: ir.Value) -> ir.Value:
    return _with_band(t, input, diagonal, _MAIN)


@maps("MatrixSetDiagV2", domain=TF, fidelity=BITWISE)
def matrix_set_diag_v2(t: Translation, input: ir.Value, diagonal: ir.Value, k: ir.Value) -> ir.Value:
    return _with_band(t, input, diagonal, _band(t, k))


@maps("MatrixSetDiagV3", domain=TF, fidelity=BITWISE)
def matrix_set_diag_v3(t: Translation, input: ir.Value, diagonal: ir.Value, k: ir.Value, *, align: str) -> ir.Value:
    return _with_band(t, input, diagonal, _band(t, k, align))


@maps("MatrixDiagPart", domain=TF, fidelity=BITWISE)
def matrix_diag_part(t: Translation, input: ir.Value) -> ir.Value:
    return taken(t, input, _MAIN, None)


@maps("MatrixDiagPartV2", domain=TF, fidelity=BITWISE)
def matrix_diag_part_v2(t: Translation, input: ir.Value, k: ir.Value, padding_value: ir.Value) -> ir.Value:
    return taken(t, input, _band(t, k), padding_value)


@maps("MatrixDiagPartV3", domain=TF, fidelity=BITWISE)
def matrix_diag_part_v3(
    t: Translation, input: ir.Value, k: ir.Value, padding_value: ir.Value, *, align: str
) -> ir.Value:
    return taken(t, input, _band(t, k, align), padding_value)


@maps("Diag", domain=TF, fidelity=BITWISE)
def diag(t: Translation, diagonal: ir.Value) -> ir.Value:
    dims = dim_elements(t, diagonal)
    if len(dims) == 1:
        return _square(t, diagonal)
    return reshaped(t, _square(t, t.op.Reshape(diagonal, [-1])), [*dims, *dims])


@maps("DiagPart", domain=TF, fidelity=BITWISE)
def diag_part(t: Translation, input: ir.Value) -> ir.Value:
    dims = dim_elements(t, input)[: t.rank(input) // 2]
    if len(dims) == 1:
        return taken(t, input, _MAIN, None)
    rows = t.op.ReduceProd(t.op.Shape(input, end=len(dims)), keepdims=1)
    square = t.op.Reshape(input, t.op.Concat(rows, rows, axis=0), allowzero=1)
    return reshaped(t, taken(t, square, _MAIN, None), dims)


@maps("MatrixBandPart", domain=TF, fidelity=BITWISE)
def matrix_band_part(t: Translation, input: ir.Value, num_lower: ir.Value, num_upper: ir.Value) -> ir.Value:
    made = input
    if t.static(num_upper) is None or t.need(num_upper, "num_upper") >= 0:
        made = t.op.Trilu(made, _border(t, num_upper), upper=0)
    if t.static(num_lower) is None or t.need(num_lower, "num_lower") >= 0:
        made = t.op.Trilu(made, t.op.Neg(_border(t, num_lower)), upper=1)
    return made


def _border(t: Translation, count: ir.Value) -> ir.Value:
    """How many diagonals are kept on a side: a negative number means all of them."""
    number = t.int64(count)
    if t.static(count) is not None:
        return number
    return t.op.Where(t.op.Less(number, 0), np.int64(np.iinfo(np.int32).max), number)


def _band(t: Translation, k: ir.Value, align: str = "LEFT_LEFT") -> Band:
    return Band.of(t.need(k, "k").ravel().tolist(), align)


def _square(t: Translation, diagonal: ir.Value) -> ir.Value:
    """A matrix that is zero but for its main diagonal."""
    size = scalar(t, dim_elements(t, diagonal)[-1])
    zero = t.op.const(np.zeros((), numpy_dtype(t.dtype(diagonal))))
    return put(t, diagonal, _MAIN, (size, size), size, zero)


def _with_band(t: Translation, matrix: ir.Value, diagonal: ir.Value, band: Band) -> ir.Value:
    rows, columns = (scalar(t, dim) for dim in dim_elements(t, matrix)[-2:])
    return put(t, diagonal, band, (rows, columns), scalar(t, dim_elements(t, diagonal)[-1]), matrix)


def _given_or(t: Translation, number: ir.Value, default: ir.Value) -> ir.Value:
    """A size of which -1 means the smallest that holds the diagonals."""
    known = t.static(number)
    if known is not None:
        return default if known < 0 else t.int64(number)
    given = t.int64(number)
    return t.op.Where(t.op.Less(given, 0), default, given)
