"""Bits: shifts by any amount (28), logic on integers (18), and reading bits as another type (26)."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
from onnx_ir import Value

from trueport.passes.lower.adapt import ABSENT, Downgrade, downgrades

__all__: list[str] = []

_D = ir.DataType
_UNSIGNED = {_D.INT8: _D.UINT8, _D.INT16: _D.UINT16, _D.INT32: _D.UINT32, _D.INT64: _D.UINT64}
_LOGIC = {"BitwiseAnd": "And", "BitwiseOr": "Or", "BitwiseXor": "Xor"}


@downgrades("BitShift", 28, 11)
def bit_shift_28_to_11(op: Downgrade, X: Value, Y: Value, *, direction: str) -> Any:
    """Before 28 only unsigned numbers are shifted, and by less than their width."""
    assert X.dtype is not None
    if X.dtype not in _UNSIGNED:
        return _shift(op, X, Y, direction, X.dtype)
    unsigned = _UNSIGNED[X.dtype]

    def shifted(value: Value) -> Any:
        made = _shift(op, op.Cast(value, to=unsigned.value), op.Cast(Y, to=unsigned.value), direction, unsigned)
        return op.Cast(made, to=X.dtype.value)  # type: ignore[union-attr]

    if direction == "LEFT":
        return shifted(X)
    # The complement of a negative number is none, and shifting it brings in zeros, which are ones of the number.
    negative, all_ones = op.Less(X, op.like(0, X)), op.like(-1, X)
    made = shifted(op.Where(negative, op.Sub(all_ones, X), X))
    return op.Where(negative, op.Sub(all_ones, made), made)


def _shift(op: Downgrade, X: Value, Y: Value, direction: str, dtype: ir.DataType) -> Any:
    known, bits = op.known(Y), dtype.bitwidth
    if known is not None and np.all(known < bits):
        return op.again(X, Y, direction=direction)
    inside = op.Less(Y, op.like(bits, Y))
    made = op.again(X, op.Where(inside, Y, op.like(0, Y)), direction=direction)
    return op.Where(inside, made, op.like(0, X))


@downgrades("BitwiseNot", 18, ABSENT)
def bitwise_not_18_to_none(op: Downgrade, X: Value) -> Any:
    """The number that adds up with it to all ones."""
    assert X.dtype is not None
    ones = -1 if X.dtype in _UNSIGNED else np.iinfo(X.dtype.numpy()).max
    return op.Sub(op.const(np.array(ones, X.dtype.numpy())), X)


@downgrades("BitwiseAnd", 18, ABSENT)
@downgrades("BitwiseOr", 18, ABSENT)
@downgrades("BitwiseXor", 18, ABSENT)
def bitwise_18_to_none(op: Downgrade, A: Value, B: Value) -> Any:
    """Bit by bit, along an axis of their own."""
    assert A.dtype is not None
    places = np.arange(A.dtype.bitwidth, dtype=np.uint64)

    def bits(value: Value) -> Any:
        column = op.Unsqueeze(op.Cast(value, to=_D.UINT64.value), [-1])
        shifted = op.BitShift(column, places, direction="RIGHT")
        return op.Cast(op.Mod(shifted, op.like(2, shifted)), to=_D.BOOL.value)

    joined = op.add(_LOGIC[op.node.op_type], [bits(A), bits(B)], {})
    weights = (np.uint64(1) << places).astype(np.int64)
    # A product, not a sum: runtimes add integers up as floats, but multiply matrices of them in their own type.
    total = op.MatMul(op.Cast(joined, to=_D.INT64.value), weights)
    return op.Cast(total, to=A.dtype.value)


@downgrades("BitCast", 26, ABSENT)
def bit_cast_26_to_none(op: Downgrade, input: Value, *, to: int) -> Any:
    """Between integers a cast wraps, which keeps the bits; a float's bits can't be had."""
    assert input.dtype is not None
    if not (input.dtype.is_integer() and _D(to).is_integer()) and input.dtype != _D(to):
        raise op.fail(f"the bits of {input.dtype} can't be read as {_D(to)} by arithmetic")
    return op.Cast(input, to=to)
