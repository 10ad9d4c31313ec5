"""Integers in an ONNX graph: what is known of their signs, and powers that wrap around as TensorFlow's do."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.frontends.tensorflow.context import Translation
from trueport.frontends.tensorflow.numeric import is_unsigned, via
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


def integer_power(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    """x to the power y by squaring: ONNX's Pow is computed in floating point, which does not wrap around."""
    if t.dtype(x) in (_D.INT8, _D.INT16):
        return via(t, _D.INT32, lambda a, b: integer_power(t, a, b), x, y)
    known = t.static(y)
    if known is not None and known.size == 1 and known.ndim <= t.rank(x) and 0 < known.item() <= _LARGEST_UNROLLED:
        return _unrolled(t, x, int(known.item()))
    return _looped(t, x, y)


def _unrolled(t: Translation, x: ir.Value, exponent: int) -> ir.Value:
    result = None
    while True:
        if exponent & 1:
            result = x if result is None else t.op.Mul(result, x)
        exponent >>= 1
        if not exponent:
            assert result is not None
            return result
        x = t.op.Mul(x, x)


def _looped(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    """While an exponent is left: the power takes the base where the exponent is odd, and the base is squared."""
    dtype = t.dtype(x)
    zero = t.op.Mul(t.op.Add(x, y), t.op.like(0, x))
    starts = [t.op.Add(zero, t.op.like(1, x)), t.op.Add(x, zero), t.op.Add(y, zero)]
    turn, go_on = (ir.Value(name=n, type=ir.TensorType(d), shape=ir.Shape([])) for n, d in _CONTROL)
    power, base, exponent = (ir.Value(name="state", type=ir.TensorType(dtype), shape=zero.shape) for _ in starts)
    body = t.inside([turn, go_on, power, base, exponent])
    two = body.op.like(2, x)
    odd = body.op.Equal(body.op.Mod(exponent, two), body.op.like(1, x))
    rest = body.op.Div(exponent, two)
    graph = body.close(
        [
            body.op.Greater(body.op.ReduceMax(rest, keepdims=0), body.op.like(0, x)),
            body.op.Where(odd, body.op.Mul(power, base), power),
            body.op.Mul(base, base),
            rest,
        ]
    )
    made: ir.Value = t.op.Loop(None, np.array(True), *starts, body=graph, outputs=3)[0]
    made.type, made.shape = ir.TensorType(dtype), zero.shape
    return made


_CONTROL = (("turn", _D.INT64), ("go_on", _D.BOOL))
