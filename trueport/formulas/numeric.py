"""Numbers in an ONNX graph: which kind a value has, and forms that keep their accuracy."""

from __future__ import annotations

from collections.abc import Callable

import onnx_ir as ir

from trueport.formulas.writer import Writer

__all__ = [
    "expm1",
    "in_double",
    "is_double",
    "is_float",
    "is_half",
    "is_unsigned",
    "log1p",
    "log_softmax",
    "via",
    "widened",
]

_D = ir.DataType
_HALVES = frozenset({_D.FLOAT16, _D.BFLOAT16})
_UNSIGNED = frozenset({_D.UINT8, _D.UINT16, _D.UINT32, _D.UINT64})


def is_float(value: ir.Value) -> bool:
    """Whether its elements are floating-point numbers."""
    assert value.dtype is not None
    return value.dtype.is_floating_point()


def is_double(value: ir.Value) -> bool:
    """Whether its elements are floats of 64 bits, for which runtimes have few kernels."""
    return value.dtype == _D.DOUBLE


def is_half(value: ir.Value) -> bool:
    """Whether its elements are floats of 16 bits."""
    return value.dtype in _HALVES


def is_unsigned(value: ir.Value) -> bool:
    """Whether its elements are integers without a sign."""
    return value.dtype in _UNSIGNED


def via(t: Writer, dtype: ir.DataType, formula: Callable[..., ir.Value], *values: ir.Value) -> ir.Value:
    """A formula computed in another element type, the result in the values' own."""
    made = formula(*(t.cast(value, dtype) for value in values))
    return t.cast(made, t.dtype(values[0]))


def widened(t: Writer, formula: Callable[..., ir.Value], *values: ir.Value) -> ir.Value:
    """A formula of several steps: for 16 bits in float32, rounded once at its end, as TensorFlow's kernels do."""
    return via(t, _D.FLOAT, formula, *values) if is_half(values[0]) else formula(*values)


def in_double(t: Writer, formula: Callable[..., ir.Value], *values: ir.Value) -> ir.Value:
    """A formula computed in doubles, the result rounded once to the values' own precision."""
    return via(t, _D.DOUBLE, formula, *values)


def expm1(t: Writer, x: ir.Value) -> ir.Value:
    """exp(x) - 1 without cancellation: tanh(x / 2) (exp(x) + 1)."""
    half = t.op.Tanh(t.op.Mul(x, t.op.like(0.5, x)))
    return t.op.Mul(half, t.op.Add(t.op.Exp(x), t.op.like(1, x)))


def log1p(t: Writer, x: ir.Value) -> ir.Value:
    """log(1 + x), the rounding of 1 + x made good by the quotient of x and what was added."""
    one = t.op.like(1, x)
    total = t.op.Add(x, one)
    added = t.op.Sub(total, one)
    corrected = t.op.Mul(t.op.Log(total), t.op.Div(x, added))
    # Nothing was added to 1 (the quotient is x / 0), or all that counts is infinite (inf / inf).
    plain = t.op.Where(t.op.IsInf(x, detect_negative=0), x, corrected)
    return t.op.Where(t.op.Equal(added, t.op.like(0, x)), x, plain)


def log_softmax(t: Writer, x: ir.Value) -> ir.Value:
    """The operator; for doubles written out, as ONNX Runtime's kernel gives finite numbers for rows with a NaN."""
    if not is_double(x):
        return t.op.LogSoftmax(x, axis=-1)
    below: ir.Value = t.op.Sub(x, t.op.ReduceMax(x, [-1]))
    return t.op.Sub(below, t.op.Log(t.op.ReduceSum(t.op.Exp(below), [-1])))
