"""Linear quantization: QuantizeLinear and DequantizeLinear with PyTorch's own scales and zero points."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import APPROXIMATE, ulps
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.shared.numbers import scalar
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded
from trueport.ir.dtypes import numpy_dtype
from trueport.ir.marks import mark_borders_open

__all__: list[str] = []

_D = ir.DataType
Value = ir.Value
_HELD = (_D.INT8, _D.UINT8, _D.INT16, _D.UINT16)
"""What QuantizeLinear makes; others are rounded in arithmetic."""
_BORDERS = (
    "PyTorch multiplies by the scale's reciprocal, ONNX divides by the scale: what lies on the border between two "
    "steps, to the last bit, may go to the other one"
)


@maps_torch("quantized_decomposed::quantize_per_tensor", error=ulps(0), fidelity=APPROXIMATE, because=_BORDERS)
@maps_torch("quantized_decomposed::quantize_per_tensor.tensor", error=ulps(0), fidelity=APPROXIMATE, because=_BORDERS)
@maps_torch("quantized_decomposed::quantize_per_tensor.tensor2", error=ulps(0), fidelity=APPROXIMATE, because=_BORDERS)
@recorded
def quantize_per_tensor(
    t: TorchTranslation, x: Value, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: int
) -> Value:
    return _quantized(t, t.cast(x, _D.FLOAT), scale, zero_point, (quant_min, quant_max), _D(dtype))


@maps_torch("quantized_decomposed::quantize_per_channel", error=ulps(0), fidelity=APPROXIMATE, because=_BORDERS)
@recorded
def quantize_per_channel(
    t: TorchTranslation,
    x: Value,
    scales: Value,
    zero_points: Value,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: int,
) -> Value:
    return _quantized(t, t.cast(x, _D.FLOAT), scales, zero_points, (quant_min, quant_max), _D(dtype), axis)


@maps_torch("quantized_decomposed::dequantize_per_tensor", error=ulps(1))
@maps_torch("quantized_decomposed::dequantize_per_tensor.tensor", error=ulps(1))
@maps_torch("quantized_decomposed::dequantize_per_tensor.tensor2", error=ulps(1))
@recorded
def dequantize_per_tensor(
    t: TorchTranslation,
    x: Value,
    scale: Any,
    zero_point: Any,
    quant_min: Any,
    quant_max: Any,
    dtype: int,
    out_dtype: int | None = None,
) -> Value:
    return _dequantized(t, x, scale, zero_point, _float_of(out_dtype))


@maps_torch("quantized_decomposed::dequantize_per_channel", error=ulps(1))
@recorded
def dequantize_per_channel(
    t: TorchTranslation,
    x: Value,
    scales: Value,
    zero_points: Value | None,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: int,
    out_dtype: int | None = None,
) -> Value:
    return _dequantized(t, x, scales, 0 if zero_points is None else zero_points, _float_of(out_dtype), axis)


@maps_torch("quantized_decomposed::choose_qparams.tensor", error=ulps(2))
@recorded
def choose_parameters(
    t: TorchTranslation, x: Value, quant_min: int, quant_max: int, eps: float, dtype: int
) -> tuple[Value, Value]:
    """The step that spans all numbers and zero, and where zero falls: in float32, as PyTorch does it."""
    low, high = _range_with_zero(t, t.cast(x, _D.FLOAT))
    steps = t.op.like(float(quant_max - quant_min), low)
    scale = t.op.Max(t.op.Div(t.op.Sub(high, low), steps), t.op.like(eps, low))
    at_zero = t.op.Sub(t.op.like(quant_min, low), t.op.Round(t.op.Div(low, scale)))
    zero_point = t.op.Clip(at_zero, t.op.like(quant_min, low), t.op.like(quant_max, low))
    return t.cast(scale, _D.DOUBLE), t.cast(zero_point, _D.INT64)


@maps_torch("quantized_decomposed::choose_qparams_symmetric.tensor", error=ulps(2))
@recorded
def choose_symmetric_parameters(
    t: TorchTranslation, x: Value, quant_min: int, quant_max: int, eps: float, dtype: int
) -> tuple[Value, Value]:
    low, high = _range_with_zero(t, t.cast(x, _D.FLOAT))
    half = t.op.like((quant_max - quant_min) / 2, low)
    scale = t.op.Max(t.op.Div(t.op.Max(t.op.Neg(low), high), half), t.op.like(eps, low))
    middle = 128 if _D(dtype) == _D.UINT8 else 0
    return t.cast(scale, _D.DOUBLE), t.op.Identity(t.op.const(np.array([middle], np.int64)))


@maps_torch("aten::fake_quantize_per_tensor_affine", error=ulps(1), fidelity=APPROXIMATE, because=_BORDERS)
@maps_torch(
    "aten::fake_quantize_per_tensor_affine.tensor_qparams", error=ulps(1), fidelity=APPROXIMATE, because=_BORDERS
)
@recorded
def fake_quantize(t: TorchTranslation, x: Value, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Value:
    return _there_and_back(t, x, scale, zero_point, (quant_min, quant_max))


@maps_torch("aten::fake_quantize_per_channel_affine", error=ulps(1), fidelity=APPROXIMATE, because=_BORDERS)
@recorded
def fake_quantize_per_channel(
    t: TorchTranslation, x: Value, scale: Value, zero_point: Value, axis: int, quant_min: int, quant_max: int
) -> Value:
    if t.dtype(zero_point) not in (_D.INT32, _D.INT64):
        raise t.fail(
            "a zero point that is no whole number is no quantization in ONNX", "round the zero points to torch.int32"
        )
    return _there_and_back(t, x, scale, zero_point, (quant_min, quant_max), axis)


def _there_and_back(
    t: TorchTranslation, x: Value, scale: Any, zero_point: Any, steps: tuple[int, int], axis: int | None = None
) -> Value:
    fits = [kind for kind in _HELD if _least(kind) <= steps[0] and steps[1] <= _most(kind)]
    kind = fits[0] if fits else _D.INT32
    wide = x if t.dtype(x) == _D.DOUBLE else t.cast(x, _D.FLOAT)
    whole = _quantized(t, wide, scale, zero_point, steps, kind, axis)
    return t.cast(_dequantized(t, whole, scale, zero_point, t.dtype(wide), axis), t.dtype(x))


def _quantized(
    t: TorchTranslation,
    x: Value,
    scale: Any,
    zero_point: Any,
    steps: tuple[Any, Any],
    kind: ir.DataType,
    axis: int | None = None,
) -> Value:
    """``x`` is float32, or a double where PyTorch takes one."""
    real = t.dtype(x)
    if real == _D.DOUBLE or kind not in _HELD:
        return _rounded(t, x, scale, zero_point, steps, kind, axis)
    if steps != (_least(kind), _most(kind)):
        x = _within(t, x, scale, zero_point, steps, axis)
    made: Value = t.op.QuantizeLinear(x, _parameter(t, scale, real), _parameter(t, zero_point, kind), axis=axis)
    return mark_borders_open(made)


def _within(
    t: TorchTranslation, x: Value, scale: Any, zero_point: Any, steps: tuple[Any, Any], axis: int | None
) -> Value:
    """Kept to the numbers that the steps stand for.

    Ahead of the rounding, so that QuantizeLinear and DequantizeLinear stay neighbours: runtimes look for that. What a
    step stands for, divided by the scale, is off by 2 units in the last place and rounds to the step.
    """
    real = t.dtype(x)
    if not any(isinstance(given, Value) for given in (scale, zero_point, *steps)):
        low, high = (t.op.const(np.float32(bound - zero_point) * np.float32(scale)) for bound in steps)
        return t.op.Clip(x, low, high)
    step, zero = (_along(t, _parameter(t, given, real), x, axis) for given in (scale, zero_point))
    low, high = (t.op.Mul(t.op.Sub(_parameter(t, bound, real), zero), step) for bound in steps)
    return t.op.Min(t.op.Max(x, low), high)


def _rounded(
    t: TorchTranslation,
    x: Value,
    scale: Any,
    zero_point: Any,
    steps: tuple[Any, Any],
    kind: ir.DataType,
    axis: int | None,
) -> Value:
    """The same in arithmetic."""
    real = t.dtype(x)
    step, zero = (_along(t, _parameter(t, given, real), x, axis) for given in (scale, zero_point))
    low, high = (_parameter(t, bound, real) for bound in steps)
    whole = t.op.Add(t.op.Round(t.op.Div(x, step)), zero)
    return t.cast(t.op.Min(t.op.Max(whole, low), high), kind)


def _dequantized(
    t: TorchTranslation, x: Value, scale: Any, zero_point: Any, out: ir.DataType, axis: int | None = None
) -> Value:
    real = _D.DOUBLE if out == _D.DOUBLE else _D.FLOAT  # PyTorch multiplies in float32 for half precision, too
    if real == _D.FLOAT and t.dtype(x) in _HELD:
        zero = _parameter(t, zero_point, t.dtype(x))
        return t.cast(t.op.DequantizeLinear(x, _parameter(t, scale, real), zero, axis=axis), out)
    step, zero = (_along(t, _parameter(t, given, real), x, axis) for given in (scale, zero_point))
    return t.cast(t.op.Mul(t.op.Sub(t.cast(x, real), zero), step), out)


def _parameter(t: TorchTranslation, given: Any, kind: ir.DataType) -> Value:
    """A scale or a zero point: a number, a tensor of one, which is the same to PyTorch, or one for each channel."""
    if not isinstance(given, Value):
        return scalar(t, given, kind)
    value = t.cast(given, kind)
    single = t.dims(given) == (1,)
    return t.op.Squeeze(value, [0]) if single else value


def _along(t: TorchTranslation, parameter: Value, x: Value, axis: int | None) -> Value:
    """One for each channel, so that it meets the channels of ``x``."""
    if axis is None or t.rank(parameter) == 0:
        return parameter
    rank = t.rank(x)
    return t.op.Unsqueeze(parameter, [other for other in range(rank) if other != axis % rank])


def _range_with_zero(t: TorchTranslation, x: Value) -> tuple[Value, Value]:
    """The least and the largest of all numbers and zero, as tensors of one."""
    flat = t.op.Reshape(x, [-1])
    zero = t.op.like(0, x)
    return t.op.Min(t.op.ReduceMin(flat, keepdims=1), zero), t.op.Max(t.op.ReduceMax(flat, keepdims=1), zero)


def _float_of(dtype: int | None) -> ir.DataType:
    return _D.FLOAT if dtype is None or dtype < 0 else _D(dtype)


def _least(kind: ir.DataType) -> int:
    return int(np.iinfo(numpy_dtype(kind)).min)


def _most(kind: ir.DataType) -> int:
    return int(np.iinfo(numpy_dtype(kind)).max)
