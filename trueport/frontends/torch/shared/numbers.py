"""PyTorch's rules of numbers: which type a result of several operands has, and what becomes of integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.frontends.torch.translate.recording import TorchTranslation
from trueport.ir.dtypes import numpy_dtype

__all__ = ["as_float", "factor", "promoted", "scalar"]

_D = ir.DataType
_FLOATS = (_D.FLOAT16, _D.BFLOAT16, _D.FLOAT, _D.DOUBLE)
_WHOLES = (_D.BOOL, _D.UINT8, _D.INT8, _D.INT16, _D.INT32, _D.INT64)


def as_float(t: TorchTranslation, value: ir.Value) -> ir.Value:
    """Integers and booleans become float32, which is PyTorch's default."""
    return value if t.dtype(value) in _FLOATS else t.cast(value, _D.FLOAT)


def promoted(t: TorchTranslation, *operands: Any) -> list[ir.Value]:
    """Operands as values of one type: tensors with axes decide before those without, and those before numbers."""
    groups: tuple[list[ir.DataType], ...] = ([], [], [])
    for operand in operands:
        if isinstance(operand, ir.Value):
            groups[0 if t.rank(operand) else 1].append(t.dtype(operand))
        else:
            groups[2].append(_of_number(operand))
    kind = _result_type(groups)
    return [
        t.cast(operand, kind) if isinstance(operand, ir.Value) else scalar(t, operand, kind) for operand in operands
    ]


def scalar(t: TorchTranslation, number: Any, kind: ir.DataType) -> ir.Value:
    """A Python number as a constant of a type."""
    return t.op.const(np.asarray(number).astype(numpy_dtype(kind)))


def factor(t: TorchTranslation, number: float, value: ir.Value) -> ir.Value:
    """A number to multiply a matrix with, as a row of float64: ONNX Runtime fuses a scalar into MatMul as a float32."""
    columns = t.dims(value)[-1] if t.dtype(value) == _D.DOUBLE and t.rank(value) else None
    return t.op.like(number if columns in (None, 0) else np.full(columns, number), value)


def _of_number(number: Any) -> ir.DataType:
    return _D.BOOL if isinstance(number, bool) else _D.INT64 if isinstance(number, int) else _D.FLOAT


def _result_type(groups: tuple[list[ir.DataType], ...]) -> ir.DataType:
    """A later group counts only where it is of a higher category: boolean, whole, float."""
    found: ir.DataType | None = None
    for group in groups:
        if group:
            kind = _joined(group)
            found = kind if found is None or _category(kind) > _category(found) else found
    assert found is not None
    return found


def _category(kind: ir.DataType) -> int:
    return 2 if kind in _FLOATS else 0 if kind == _D.BOOL else 1


def _joined(kinds: list[ir.DataType]) -> ir.DataType:
    found = kinds[0]
    for kind in kinds[1:]:
        found = _pair(found, kind)
    return found


def _pair(a: ir.DataType, b: ir.DataType) -> ir.DataType:
    if a == b:
        return a
    if _category(a) != _category(b):
        return max(a, b, key=_category)
    if {a, b} == {_D.FLOAT16, _D.BFLOAT16}:
        return _D.FLOAT
    order = _FLOATS if a in _FLOATS else _WHOLES
    if {a, b} == {_D.UINT8, _D.INT8}:
        return _D.INT16
    return max(a, b, key=order.index)
