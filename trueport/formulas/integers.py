"""Integers in an ONNX graph: what is known of their signs, and powers that wrap around as TensorFlow's do."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.formulas.iteration import any_of, iterate
from trueport.formulas.numeric import is_unsigned, via
from trueport.formulas.writer import Writer
from trueport.ir.build import known_array

__all__ = ["integer_power", "never_negative"]

_D = ir.DataType
_COUNTS = frozenset({"Shape", "Size"})
_MOVES = frozenset({"Cast", "Concat", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Unsqueeze"})
_PARTS = {"Concat": None, "Add": 2, "Mul": 2, "Max": 2, "Div": 2}
"""How many of the inputs must not be negative for the result not to be; only the first unless said here."""
_LARGEST_UNROLLED = 64


def never_negative(value: ir.Value) -> bool:
    """Whether integers come from sizes or are constants from zero on: overflow left aside, as for all sizes."""
    known = known_array(value)
    if known is not None:
        return bool(np.all(known >= 0))
    if is_unsigned(value):
        return True
    maker = value.producer()
    if maker is None or not (maker.op_type in _MOVES or maker.op_type in _PARTS):
        return maker is not None and maker.op_type in _COUNTS
    count = _PARTS.get(maker.op_type, 1)
    return all(part is not None and never_negative(part) for part in maker.inputs[:count])


def integer_power(t: Writer, x: ir.Value, y: ir.Value) -> ir.Value:
    """x to the power y by squaring: ONNX's Pow is computed in floating point, which does not wrap around."""
    if t.dtype(x) in (_D.INT8, _D.INT16):
        return via(t, _D.INT32, lambda a, b: integer_power(t, a, b), x, y)
    known = t.static(y)
    if known is not None and known.size == 1 and known.ndim <= t.rank(x) and 0 < known.item() <= _LARGEST_UNROLLED:
        return _unrolled(t, x, int(known.item()))
    return _looped(t, x, y)


def _unrolled(t: Writer, x: ir.Value, exponent: int) -> ir.Value:
    result = None
    while True:
        if exponent & 1:
            result = x if result is None else t.op.Mul(result, x)
        exponent >>= 1
        if not exponent:
            assert result is not None
            return result
        x = t.op.Mul(x, x)


def _looped(t: Writer, x: ir.Value, y: ir.Value) -> ir.Value:
    """While an exponent is left: the power takes the base where the exponent is odd, and the base is squared."""
    zero = t.op.Mul(t.op.Add(x, y), t.op.like(0, x))

    def step(body: Writer, _: ir.Value, power: ir.Value, base: ir.Value, exponent: ir.Value) -> list[ir.Value]:
        op = body.op
        odd = op.Equal(op.Mod(exponent, op.like(2, x)), op.like(1, x))
        rest = op.Div(exponent, op.like(2, x))
        more = any_of(body, op.Greater(rest, op.like(0, x)))
        return [more, op.Where(odd, op.Mul(power, base), power), op.Mul(base, base), rest]

    starts = [t.op.Add(zero, t.op.like(1, x)), t.op.Add(x, zero), t.op.Add(y, zero)]
    return iterate(t, starts, step)[0]
