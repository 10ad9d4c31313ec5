"""Numbers computed of sizes: Python has them in float64, PyTorch's exporter in float32.

``int(100 * 0.29)`` is 28, by float32 it is 29. The exporter types such a number as float32; beside it each value here
keeps the float64 one, which later steps go on from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import ulps
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

_D = ir.DataType
_WIDE = "trueport.float64"
"""Where a value's metadata keep the float64 number."""


@maps_torch("torch::sym_float", error=ulps(1))
@recorded
def sym_float(t: TorchTranslation, x: Any) -> ir.Value:
    return _number(t, _wide(t, x))


@maps_torch("_operator::mul", error=ulps(1))
@recorded
def multiplied(t: TorchTranslation, x: Any, y: Any) -> ir.Value:
    return _combined(t, "Mul", x, y)


@maps_torch("_operator::add", error=ulps(1))
@recorded
def added(t: TorchTranslation, x: Any, y: Any) -> ir.Value:
    return _combined(t, "Add", x, y)


@maps_torch("_operator::sub", error=ulps(1))
@recorded
def subtracted(t: TorchTranslation, x: Any, y: Any) -> ir.Value:
    return _combined(t, "Sub", x, y)


@maps_torch("_operator::truediv", error=ulps(1))
@recorded
def divided(t: TorchTranslation, x: Any, y: Any) -> ir.Value:
    return _number(t, t.op.Div(_wide(t, x), _wide(t, y)))


@maps_torch("math::trunc", error=ulps(0))
@recorded
def truncated(t: TorchTranslation, x: Any) -> ir.Value:
    return t.op.Cast(_wide(t, x), to=_D.INT64)


@maps_torch("math::floor", error=ulps(0))
@recorded
def floored(t: TorchTranslation, x: Any) -> ir.Value:
    return t.op.Cast(t.op.Floor(_wide(t, x)), to=_D.INT64)


@maps_torch("math::ceil", error=ulps(0))
@recorded
def raised(t: TorchTranslation, x: Any) -> ir.Value:
    return t.op.Cast(t.op.Ceil(_wide(t, x)), to=_D.INT64)


def _combined(t: TorchTranslation, op_type: str, x: Any, y: Any) -> ir.Value:
    if _is_float(x) or _is_float(y):
        return _number(t, t.op.add(op_type, [_wide(t, x), _wide(t, y)], {}))
    return t.op.add(op_type, [_integer(x), _integer(y)], {})


def _is_float(x: Any) -> bool:
    return x.dtype != _D.INT64 if isinstance(x, ir.Value) else isinstance(x, float)


def _integer(x: Any) -> Any:
    return x if isinstance(x, ir.Value) else np.array(int(x), np.int64)


def _wide(t: TorchTranslation, x: Any) -> ir.Value:
    if not isinstance(x, ir.Value):
        return t.op.const(np.float64(x))
    known = x.meta.get(_WIDE)
    return known if isinstance(known, ir.Value) else t.cast(x, _D.DOUBLE)


def _number(t: TorchTranslation, wide: ir.Value) -> ir.Value:
    made: ir.Value = t.op.Cast(wide, to=_D.FLOAT)
    made.meta[_WIDE] = wide
    return made
