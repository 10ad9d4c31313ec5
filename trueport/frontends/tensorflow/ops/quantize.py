"""Quantization: the scales and zero points that TensorFlow computes, in ONNX's operators for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import APPROXIMATE, ulps
from trueport.frontends.tensorflow.shared.quantized_ranges import (
    TIES,
    Grid,
    affine_grid,
    along,
    bounds_of,
    dequantized,
    integer_range,
    known_range,
    lose_ties,
    min_first_scale,
    nudged_grid,
    quantized,
    rounded_through,
    scaled_step,
    symmetric_scales,
    widened_range,
)
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []

_D = ir.DataType
_INTEGERS = (_D.INT8, _D.UINT8, _D.INT16, _D.UINT16)
_NAN = f"{TIES}; NaN has no integer"


@maps("FakeQuantWithMinMaxArgs", domain=TF, fidelity=APPROXIMATE, because=_NAN, kept=True)
def fake_quant_args(
    t: Translation, inputs: ir.Value, *, min: float, max: float, num_bits: int, narrow_range: bool
) -> ir.Value:
    return _through(t, inputs, nudged_grid(min, max, num_bits, narrow_range), -1)


@maps("FakeQuantWithMinMaxVars", domain=TF, fidelity=APPROXIMATE, because=_NAN, kept=True)
@maps("FakeQuantWithMinMaxVarsPerChannel", domain=TF, fidelity=APPROXIMATE, because=_NAN, kept=True)
def fake_quant_vars(
    t: Translation, inputs: ir.Value, min: ir.Value, max: ir.Value, *, num_bits: int, narrow_range: bool
) -> ir.Value:
    low, high = known_range(t, min), known_range(t, max)
    if low is None or high is None:
        return _computed(t, inputs, min, max, num_bits, narrow_range)
    return _through(t, inputs, nudged_grid(low, high, num_bits, narrow_range), -1)


def _through(t: Translation, value: ir.Value, grid: Grid, axis: int) -> ir.Value:
    axis %= max(t.rank(value), 1)
    return dequantized(t, quantized(t, value, grid, axis), grid, axis)


def _computed(
    t: Translation, inputs: ir.Value, low: ir.Value, high: ir.Value, num_bits: int, narrow_range: bool
) -> ir.Value:
    """The range is known only while the model runs: the same arithmetic in float32."""
    op = t.op
    least, most, half = (op.like(number, inputs) for number in (int(narrow_range), 2**num_bits - 1, 0.5))
    scale = op.Div(op.Sub(high, low), op.Sub(most, least))
    zero = op.Clip(op.Floor(op.Add(op.Sub(least, op.Div(low, scale)), half)), least, most)
    lowest, highest = (op.Mul(op.Sub(end, zero), scale) for end in (least, most))
    shifted = op.Sub(op.Max(op.Min(inputs, highest), lowest), lowest)
    steps = op.Sub(op.Div(shifted, scale), op.Sub(zero, least))
    made = op.Mul(op.Floor(op.Add(steps, half)), scale)
    nothing = op.like(0, inputs)
    empty = op.And(op.Equal(low, nothing), op.Equal(high, nothing))
    return op.Where(empty, nothing, made)


@maps("QuantizeV2", domain=TF, error=ulps(1), kept=True)
def quantize_v2(
    t: Translation,
    input: ir.Value,
    min_range: ir.Value,
    max_range: ir.Value,
    *,
    mode: str,
    round_mode: str,
    narrow_range: bool,
    axis: int,
    ensure_minimum_range: float,
) -> tuple[ir.Value, ir.Value, ir.Value]:
    dtype = t.output_type()
    if dtype == _D.INT32:
        raise t.fail("quantizes to 32 bits, for which ONNX has no operator", "quantize to 8 or 16 bits")
    low, high = widened_range(*_range(t, min_range, max_range), ensure_minimum_range)
    if mode == "MIN_COMBINED":
        made = _combined(t, input, low, high, axis)
    else:
        scale, zero_point, low, high = _steps(low, high, dtype, mode, narrow_range)
        grid = affine_grid(scale, zero_point, dtype, *((low, high) if narrow_range and mode == "SCALED" else ()))
        if grid is None:
            raise t.fail(
                "quantizes a range that is empty or infinite, for which ONNX has no scale",
                "give it two different, finite ends",
            )
        if round_mode != "HALF_TO_EVEN":
            lose_ties(t)
        made = quantized(t, input, grid, axis)
    return made, t.op.const(low), t.op.const(high)


def _range(t: Translation, low: ir.Value, high: ir.Value) -> tuple[np.ndarray, np.ndarray]:
    ends = known_range(t, low), known_range(t, high)
    if ends[0] is None or ends[1] is None:
        raise t.fail(
            "its range is computed while the model runs; ONNX has it as a constant", "make the range a constant"
        )
    return ends[0], ends[1]


def _steps(low: Any, high: Any, dtype: ir.DataType, mode: str, narrow_range: bool) -> tuple[np.ndarray, ...]:
    """A step, the integer of zero, and the range as TensorFlow tells it."""
    if mode == "MIN_FIRST":
        scale, end = min_first_scale(low, high, dtype)
        return scale, bounds_of(dtype)[0] - end, low, high
    least, most = bounds_of(dtype, narrow_range)
    factor, _ = symmetric_scales(low, high, least, most)
    return 1 / factor, np.zeros_like(factor), np.float32(least) / factor, np.float32(most) / factor


def _combined(t: Translation, value: ir.Value, low: np.ndarray, high: np.ndarray, axis: int) -> ir.Value:
    """The range starts at the least integer, and zero lies between two: QuantizeLinear has no such zero point."""
    op, dtype = t.op, t.output_type()
    least, most = bounds_of(dtype)
    low, high = (along(end, axis, t.rank(value)) for end in (low, high))
    steps = op.Mul(op.Sub(op.Max(op.Min(value, high), low), low), np.float32(most - least) / (high - low))
    half = op.const(np.float32(0.5))
    if least == 0:
        return op.Cast(op.Floor(op.Add(steps, half)), to=dtype)
    shifted = op.Add(steps, op.const(np.float32(least)))
    rounded = op.Mul(op.Sign(shifted), op.Floor(op.Add(op.Abs(shifted), half)))
    return op.Cast(rounded, to=dtype)


@maps("Dequantize", domain=TF, error=ulps(4), kept=True)
def dequantize(
    t: Translation,
    input: ir.Value,
    min_range: ir.Value,
    max_range: ir.Value,
    *,
    mode: str,
    narrow_range: bool,
    axis: int,
) -> ir.Value:
    low, high = _range(t, min_range, max_range)
    dtype = t.dtype(input)
    least, most = bounds_of(dtype)
    if mode == "MIN_COMBINED":
        scale = ((high - low) / np.float32(most - least)).astype(np.float32)
        zero_point = least - low / scale
    elif mode == "MIN_FIRST":
        scale, end = min_first_scale(low, high, dtype)
        zero_point = least - end
    else:
        scale = scaled_step(low, high, bounds_of(dtype, narrow_range))
        zero_point = np.zeros_like(scale)
    grid = affine_grid(scale, zero_point, dtype) if mode != "MIN_COMBINED" and dtype != _D.INT32 else None
    if grid is not None:
        return t.cast(dequantized(t, input, grid, axis), t.output_type())
    step, offset = (along(np.asarray(part, np.float32), axis, t.rank(input)) for part in (scale, -zero_point * scale))
    made = t.op.Add(t.op.Mul(t.op.Cast(input, to=_D.FLOAT), step), offset)
    return t.cast(made, t.output_type())


@maps("QuantizeAndDequantizeV2", domain=TF, error=ulps(4), kept=True)
@maps("QuantizeAndDequantizeV4", domain=TF, error=ulps(4), kept=True)
def quantize_and_dequantize(
    t: Translation,
    input: ir.Value,
    input_min: ir.Value,
    input_max: ir.Value,
    *,
    signed_input: bool,
    num_bits: int,
    range_given: bool,
    round_mode: str,
    narrow_range: bool,
    axis: int,
) -> ir.Value:
    ends = integer_range(num_bits, signed_input, narrow_range)
    low, high = known_range(t, input_min), known_range(t, input_max)
    if range_given and low is not None and high is not None and num_bits in (8, 16) and t.dtype(input) == _D.FLOAT:
        _, inverse = symmetric_scales(low, high, *ends)
        dtype = next(kind for kind in _INTEGERS if bounds_of(kind)[1] == ends[1])
        clipped = (inverse * ends[0], inverse * ends[1]) if narrow_range else ()
        grid = affine_grid(inverse, np.zeros_like(inverse), dtype, *clipped)
        if grid is not None:
            if round_mode != "HALF_TO_EVEN":
                lose_ties(t)
            return _through(t, input, grid, axis)
    return rounded_through(t, input, (input_min, input_max) if range_given else None, ends, round_mode, axis)


@maps("QuantizeAndDequantizeV3", domain=TF, error=ulps(4), kept=True)
def quantize_and_dequantize_v3(
    t: Translation,
    input: ir.Value,
    input_min: ir.Value,
    input_max: ir.Value,
    num_bits: ir.Value,
    *,
    signed_input: bool,
    range_given: bool,
    narrow_range: bool,
    axis: int,
) -> ir.Value:
    return quantize_and_dequantize(
        t,
        input,
        input_min,
        input_max,
        signed_input=signed_input,
        num_bits=int(t.need(num_bits, "num_bits")),
        range_given=range_given,
        round_mode="HALF_TO_EVEN",
        narrow_range=narrow_range,
        axis=axis,
    )


@maps("QuantizedConcat", domain=TF, kept=True)
def quantized_concat(
    t: Translation,
    concat_dim: ir.Value,
    values: tuple[ir.Value, ...],
    input_mins: tuple[ir.Value, ...],
    input_maxes: tuple[ir.Value, ...],
) -> tuple[ir.Value, ir.Value, ir.Value]:
    ranges = {tuple(float(end) for end in _range(t, *ends)) for ends in zip(input_mins, input_maxes, strict=True)}
    if len(ranges) > 1:
        raise t.fail(
            "joins numbers of different ranges; ONNX joins only those of one scale", "quantize them with one range"
        )
    axis = int(t.need(concat_dim, "concat_dim"))
    return t.op.Concat(*values, axis=axis), input_mins[0], input_maxes[0]
