"""Numbers drawn by ONNX's generators, in TensorFlow's distributions and element types."""

from __future__ import annotations

import ml_dtypes
import onnx_ir as ir

from trueport.formulas.repeating import repeated_while
from trueport.formulas.writer import Writer
from trueport.ir.dtypes import numpy_dtype

__all__ = ["full_integers", "integers_between", "normal", "shuffled", "truncated_normal", "uniform"]

_D = ir.DataType
_HALVES = {_D.FLOAT16, _D.BFLOAT16}


def uniform(t: Writer, shape: ir.Value, dtype: ir.DataType, seed: float | None = None) -> ir.Value:
    """At least 0 and less than 1; rounding to 16 bits must not give 1."""
    made = _drawn(t, "RandomUniform", shape, _D.FLOAT if dtype in _HALVES else dtype, seed)
    if dtype not in _HALVES:
        return made
    steps = t.op.like(2.0 ** ml_dtypes.finfo(numpy_dtype(dtype)).nmant, made)
    return t.cast(t.op.Div(t.op.Floor(t.op.Mul(made, steps)), steps), dtype)


def normal(t: Writer, shape: ir.Value, dtype: ir.DataType, seed: float | None = None) -> ir.Value:
    """Mean 0 and deviation 1."""
    return t.cast(_drawn(t, "RandomNormal", shape, _D.FLOAT if dtype in _HALVES else dtype, seed), dtype)


def truncated_normal(t: Writer, shape: ir.Value, dtype: ir.DataType, seed: float | None = None) -> ir.Value:
    """Normal numbers of at most 2 deviations: those beyond are drawn again until none is left."""
    first = _drawn(t, "RandomNormal", shape, _D.DOUBLE if dtype == _D.DOUBLE else _D.FLOAT, seed)

    def step(body: Writer, _: ir.Value, values: list[ir.Value]) -> list[ir.Value]:
        held = values[1]
        again = body.op.Where(_beyond(body, held), body.op.RandomNormalLike(held, seed=seed), held)
        return [_any(body, _beyond(body, again)), again]

    _, made = repeated_while(t, [_any(t, _beyond(t, first)), first], step)
    return t.cast(made, dtype)


def _any(t: Writer, truths: ir.Value) -> ir.Value:
    return t.op.Greater(t.op.ReduceSum(t.op.Cast(truths, to=_D.INT64), keepdims=0), 0)


def _beyond(t: Writer, value: ir.Value) -> ir.Value:
    return t.op.Greater(t.op.Abs(value), t.op.like(2, value))


def integers_between(t: Writer, shape: ir.Value, low: ir.Value, high: ir.Value, seed: float | None = None) -> ir.Value:
    """At least ``low`` and less than ``high``; ranges up to 2**53 are evenly filled."""
    dtype = t.dtype(low)
    span = t.op.Cast(t.op.Sub(high, low), to=_D.DOUBLE)
    steps = t.op.Floor(t.op.Mul(_drawn(t, "RandomUniform", shape, _D.DOUBLE, seed), span))
    return t.op.Add(t.op.Cast(steps, to=dtype), low)


def full_integers(t: Writer, shape: ir.Value, dtype: ir.DataType) -> ir.Value:
    """Any integer of the type: 32 random bits, or twice as many."""
    low = _bits(t, shape)
    if dtype in (_D.INT32, _D.UINT32):
        return t.cast(t.op.Cast(low, to=_D.UINT32), dtype)
    high = t.op.Mul(_bits(t, shape), t.op.like(2**32, low))
    return t.cast(t.op.Add(high, low), dtype)


def _bits(t: Writer, shape: ir.Value) -> ir.Value:
    drawn = _drawn(t, "RandomUniform", shape, _D.DOUBLE, None)
    return t.op.Cast(t.op.Mul(drawn, t.op.like(2.0**32, drawn)), to=_D.INT64)


def shuffled(t: Writer, value: ir.Value, seed: float | None = None) -> ir.Value:
    """The rows in another order: that of random numbers."""
    rows = t.op.Shape(value, start=0, end=1)
    _, order = t.op.several(2).TopK(_drawn(t, "RandomUniform", rows, _D.FLOAT, seed), rows)
    return t.op.Gather(value, order, axis=0)


def _drawn(t: Writer, op: str, shape: ir.Value, dtype: ir.DataType, seed: float | None) -> ir.Value:
    known = t.static(shape)
    options = {"dtype": dtype, "seed": seed}
    made: ir.Value
    if known is not None:
        made = t.op.add(op, (), {"shape": [int(size) for size in known.ravel()], **options})
    else:
        made = t.op.add(f"{op}Like", (t.op.ConstantOfShape(t.int64(shape)),), options)
    return made
