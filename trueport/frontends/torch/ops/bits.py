"""Shifts and logic on the bits of integers, in the type that PyTorch's promotion gives."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.shared.numbers import promoted
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

Value = ir.Value


@maps_torch("aten::__lshift__.Tensor")
@maps_torch("aten::__lshift__.Scalar")
@maps_torch("aten::bitwise_left_shift.Tensor")
@maps_torch("aten::bitwise_left_shift.Tensor_Scalar")
@maps_torch("aten::bitwise_left_shift.Scalar_Tensor")
@recorded
def left_shift(t: TorchTranslation, x: Any, places: Any) -> Value:
    return _shift(t, x, places, "LEFT")


@maps_torch("aten::__rshift__.Tensor")
@maps_torch("aten::__rshift__.Scalar")
@maps_torch("aten::bitwise_right_shift.Tensor")
@maps_torch("aten::bitwise_right_shift.Tensor_Scalar")
@maps_torch("aten::bitwise_right_shift.Scalar_Tensor")
@recorded
def right_shift(t: TorchTranslation, x: Any, places: Any) -> Value:
    """The bit of the sign moves in, as ONNX has it for signed integers."""
    return _shift(t, x, places, "RIGHT")


def _shift(t: TorchTranslation, x: Any, places: Any, direction: str) -> Value:
    value, count = promoted(t, x, places)
    return t.op.BitShift(value, count, direction=direction)
