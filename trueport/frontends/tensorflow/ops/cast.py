"""Conversions between element types."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import ulps
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.ir.build import known_array
from trueport.mapping.declare import maps

__all__: list[str] = []

_OVERFLOWS = {
    ir.DataType.FLOAT8E4M3FN: np.nextafter(np.float32(464), np.float32(np.inf)),
    ir.DataType.FLOAT8E5M2: np.float32(61440),
}
"""The least float32 that is rounded beyond the largest finite value; a tie goes to the even one."""


@maps("Cast", domain=TF, error=ulps(0))
def cast(t: Translation, x: ir.Value, *, DstT: ir.DataType, Truncate: bool) -> ir.Value:
    if Truncate and DstT.is_floating_point():
        raise t.fail("it drops the digits that don't fit; ONNX's Cast rounds", "cast without truncate")
    if DstT in _OVERFLOWS and t.dtype(x) != DstT and not _is_limited(x, float(_OVERFLOWS[DstT])):
        return _cast_to_float8(t, t.cast(x, ir.DataType.FLOAT), DstT)
    return t.cast(x, DstT)


def _is_limited(x: ir.Value, overflow: float) -> bool:
    """True if a Min and a Max with constants keep a value below what overflows, as quantization does."""
    seen: set[str] = set()
    value: ir.Value | None = x
    while value is not None and (node := value.producer()) is not None and node.op_type in {"Max", "Min"} - seen:
        limits = [known for each in node.inputs if (known := known_array(each)) is not None]
        if not limits or not all(np.all(np.abs(limit.astype(np.float64)) < overflow) for limit in limits):
            return False
        seen.add(node.op_type)
        value = next((each for each in node.inputs if known_array(each) is None), None)
    return seen == {"Max", "Min"}


def _cast_to_float8(t: Translation, x: ir.Value, to: ir.DataType) -> ir.Value:
    """Cast float32 as TensorFlow does: too large a value becomes what infinity becomes, not the largest finite one.

    Infinity is put in before: ONNX Runtime 1.31 casts values just above the largest to it or to NaN (``saturate=0``).
    """
    overflows = t.op.GreaterOrEqual(t.op.Abs(x), t.op.like(_OVERFLOWS[to], x))
    infinite = t.op.Mul(x, t.op.like(np.inf, x))
    return t.op.Cast(t.op.Where(overflows, infinite, x), to=to, saturate=0)
