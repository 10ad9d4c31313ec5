"""Operations on the bits of integers."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.formulas.numeric import is_unsigned
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []

_D = ir.DataType


@maps("LeftShift", domain=TF, fidelity=BITWISE)
def left_shift(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    return _shifted(t, x, _places(t, y), "LEFT")


@maps("RightShift", domain=TF, fidelity=BITWISE)
def right_shift(t: Translation, x: ir.Value, y: ir.Value) -> ir.Value:
    places = _places(t, y)
    if is_unsigned(x):
        return _shifted(t, x, places, "RIGHT")
    # The sign's bit is what moves in: of a negative number the inverted bits are shifted, and inverted again.
    negative = t.op.Less(x, t.op.like(0, x))
    shifted = _shifted(t, _inverted(t, x, negative), places, "RIGHT")
    return _inverted(t, shifted, negative)


def _inverted(t: Translation, x: ir.Value, where: ir.Value) -> ir.Value:
    """All bits the other way round in some places."""
    return t.op.Where(where, t.op.Sub(t.op.like(-1, x), x), x)


def _places(t: Translation, y: ir.Value) -> ir.Value:
    """By how many places: no fewer than none, and no more than leave one bit."""
    largest = t.dtype(y).bitwidth - 1
    known = t.static(y)
    if known is not None:
        return t.op.const(np.clip(known, 0, largest).astype(known.dtype))
    return t.op.Clip(y, t.op.like(0, y), t.op.like(largest, y))


def _shifted(t: Translation, x: ir.Value, y: ir.Value, direction: str) -> ir.Value:
    """Bits are shifted without a sign, and with 32 bits at least: what leaves a smaller number is cut off after."""
    width = _D.UINT64 if t.dtype(x).bitwidth == 64 else _D.UINT32
    shifted = t.op.BitShift(t.cast(x, width), t.cast(y, width), direction=direction)
    return t.cast(shifted, t.dtype(x))


@maps("PopulationCount", domain=TF, fidelity=BITWISE)
def population_count(t: Translation, x: ir.Value) -> ir.Value:
    bits = t.dtype(x).bitwidth
    unsigned = {8: _D.UINT8, 16: _D.UINT16, 32: _D.UINT32, 64: _D.UINT64}[bits]
    places = t.op.const(np.arange(bits, dtype=np.uint64))
    apart = t.op.Unsqueeze(t.cast(t.cast(x, unsigned), _D.UINT64), [-1])
    lowest = t.op.Mod(t.op.BitShift(apart, places, direction="RIGHT"), t.op.like(2, apart))
    return t.cast(t.op.ReduceSum(t.cast(lowest, _D.INT32), [-1], keepdims=0), _D.UINT8)
