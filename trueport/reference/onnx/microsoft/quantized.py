"""ONNX Runtime's quantized operators in NumPy.

ONNX does not define them; what the runtime computes is their definition. Where the result is an integer the
intermediate values are float32 and in the runtime's order, because another precision would decide ties differently.
Where the result is a float it is float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trueport.reference.onnx.windows import conv, max_pool, pads_of, windows_of

__all__ = ["QUANTIZED", "dynamically_quantized", "integer_product"]

Array = Any
_LIMIT: dict[str, tuple[int, int]] = {
    name: (int(np.iinfo(name).min), int(np.iinfo(name).max)) for name in ("int8", "uint8", "int16", "uint16", "int32")
}


def _single(x: Array | None) -> Array:
    """Return a parameter in float32, in which the runtime has it; 0 where it is left out."""
    return np.float32(0) if x is None else np.asarray(x, np.float32)


def _along(parameter: Array | None, rank: int, axis: int) -> Array | None:
    if parameter is None or parameter.ndim == 0 or parameter.size == 1:
        return None if parameter is None else parameter.reshape(())
    return parameter.reshape([-1 if index == axis % rank else 1 for index in range(rank)])


def _saturated(x: Array, dtype: Any) -> Array:
    low, high = _LIMIT[np.dtype(dtype).name]
    return np.clip(np.where(np.isnan(x), low, x), low, high).astype(dtype)


def _dequantized(x: Array, scale: Array, zero_point: Array | None) -> Array:
    return (x.astype(np.float32) - _single(zero_point)) * _single(scale)


def _quantized(real: Array, scale: Array, zero_point: Array | None, dtype: Any) -> Array:
    return _requantized(real / _single(scale), zero_point, dtype)


def _requantized(real: Array, zero_point: Array | None, dtype: Any) -> Array:
    return _saturated(np.rint(real) + _single(zero_point), dtype)


def _quantize_linear(x: Array, y_scale: Array, y_zero_point: Array | None, *, axis: int = 1) -> Array:
    zero = np.uint8(0) if y_zero_point is None else y_zero_point
    scale, offset = (_along(np.asarray(part), x.ndim, axis) for part in (y_scale, zero))
    # The quotient is rounded to float32 first, as in the runtime.
    return _quantized(x.astype(np.float32), scale, offset, zero.dtype)


def _dequantize_linear(x: Array, x_scale: Array, x_zero_point: Array | None, *, axis: int = 1) -> Array:
    scale, zero = (_along(part, x.ndim, axis) for part in (x_scale, x_zero_point))
    return (x.astype(np.float64) - (0 if zero is None else zero.astype(np.float64))) * scale


def _add(
    A: Array, a_scale: Array, a_zero: Array | None, B: Array, b_scale: Array, b_zero: Array | None, *of_c: Array | None
) -> Array:
    """Fold the zero points into one term; each product is fused with its sum and rounded once."""
    c_scale, c_zero = (*of_c, None)[:2]
    a_ratio, b_ratio = _single(a_scale) / _single(c_scale), _single(b_scale) / _single(c_scale)
    constant = _single(c_zero) - _fused(a_ratio, _single(a_zero), b_ratio * _single(b_zero))
    return _saturated(np.rint(_fused(A, a_ratio, _fused(B, b_ratio, constant))), A.dtype)


def _fused(a: Array, b: Array, c: Array) -> Array:
    return (np.asarray(a, np.float64) * np.asarray(b, np.float64) + np.asarray(c, np.float64)).astype(np.float32)


def _mul(
    A: Array, a_scale: Array, a_zero: Array | None, B: Array, b_scale: Array, b_zero: Array | None, *of_c: Array | None
) -> Array:
    """Add the zero point before rounding."""
    c_scale, c_zero = (*of_c, None)[:2]
    product = (A.astype(np.float32) - _single(a_zero)) * (B.astype(np.float32) - _single(b_zero))
    scaled = product * (_single(a_scale) * _single(b_scale) / _single(c_scale))
    return _saturated(np.rint(scaled + _single(c_zero)), A.dtype)


def _unary(function: Callable[[Array], Array]) -> Callable[..., Array]:
    def kernel(x: Array, x_scale: Array, x_zero: Array | None, y_scale: Array, y_zero: Array | None = None) -> Array:
        return _quantized(function(_dequantized(x, x_scale, x_zero)), y_scale, y_zero, x.dtype)

    return kernel


def _sigmoid(x: Array) -> Array:
    return (1 / (1 + np.exp(-x.astype(np.float64)))).astype(np.float32)


def _leaky_relu(*inputs: Array, alpha: float = 0.01) -> Array:
    return _unary(lambda x: np.where(x >= 0, x, x * np.float32(alpha)))(*inputs)


def _softmax(x: Array, x_scale: Array, x_zero: Array | None, y_scale: Array, *rest: Array, **given: int) -> Array:
    """Before opset 13 all axes from ``axis`` on are one; the output counts whole steps."""
    opset, axis = given["opset"], given.get("axis", -1)
    rows = x if opset >= 13 else x.reshape(*x.shape[:axis], -1)
    along = axis if opset >= 13 else -1
    real = rows.astype(np.float64) * float(np.asarray(x_scale).reshape(()))
    exponents = np.exp(real - real.max(axis=along, keepdims=True))
    shares = exponents / exponents.sum(axis=along, keepdims=True)
    steps = float(np.floor(np.float32(1) / _single(y_scale).reshape(())))
    zero = rest[0] if rest else None
    return _requantized((shares * steps).astype(np.float32), zero, x.dtype).reshape(x.shape)


def _concat(y_scale: Array, y_zero: Array, *inputs: Array, axis: int) -> Array:
    parts = zip(inputs[::3], inputs[1::3], inputs[2::3], strict=True)
    return np.concatenate([_quantized(_dequantized(*part), y_scale, y_zero, y_zero.dtype) for part in parts], axis)


def _where(condition: Array, *inputs: Array) -> Array:
    z_scale, z_zero = inputs[6:]
    parts = (_quantized(_dequantized(*part), z_scale, z_zero, z_zero.dtype) for part in (inputs[:3], inputs[3:6]))
    return np.where(condition, *parts)


def _global_average(x: Array, x_scale: Array, x_zero: Array, *of_y: Array, channels_last: int = 0) -> Array:
    y_scale, y_zero = of_y
    axes = tuple(range(1, x.ndim - 1)) if channels_last else tuple(range(2, x.ndim))
    total = np.sum(x.astype(np.int64) - int(x_zero), axis=axes, keepdims=True)
    count = np.float32(math.prod(x.shape[axis] for axis in axes))
    return _requantized(total.astype(np.float32) * (_single(x_scale) / (_single(y_scale) * count)), y_zero, x.dtype)


def _average(
    x: Array,
    x_scale: Array,
    x_zero: Array | None,
    y_scale: Array,
    y_zero: Array | None = None,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    channels_last: int = 0,
    count_include_pad: int = 0,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """Sum floats one by one in their order, and add the zero point before rounding."""
    real = _dequantized(np.moveaxis(x, -1, 1) if channels_last else x, x_scale, x_zero)
    steps, gaps = list(strides or [1] * len(kernel_shape)), [1] * len(kernel_shape)
    around = pads_of(real.shape[2:], kernel_shape, steps, gaps, auto_pad, pads)
    is_ceil = bool(ceil_mode) and auto_pad in ("", "NOTSET")
    total, counted = (
        _in_order(windows_of(data, 0, kernel_shape, steps, gaps, around, is_ceil))
        for data in (real, np.ones_like(real[:1, :1]))
    )
    count = np.float32(math.prod(kernel_shape)) if count_include_pad else counted
    made = _saturated(np.rint(total / count / _single(y_scale) + _single(y_zero)), x.dtype)
    return np.moveaxis(made, 1, -1) if channels_last else made


def _in_order(windows: Array) -> Array:
    rank = (windows.ndim - 2) // 2
    total = np.zeros(windows.shape[: 2 + rank], np.float32)
    for position in np.ndindex(*windows.shape[2 + rank :]):
        total = total + windows[(..., *position)]
    return total


def _nhwc_max(x: Array, **attributes: Any) -> Array:
    return np.moveaxis(max_pool(np.moveaxis(x, -1, 1), **attributes), 1, -1)


def _convolution(
    x: Array,
    x_scale: Array,
    x_zero: Array,
    w: Array,
    w_scale: Array,
    w_zero: Array,
    y_scale: Array,
    y_zero: Array,
    B: Array | None = None,
    *,
    channels_last: int = 0,
    **attributes: Any,
) -> Array:
    data = np.moveaxis(x, -1, 1) if channels_last else x
    rank = data.ndim
    w_offset: Array = _along(w_zero, rank, 0)
    weights = w.astype(np.float64) - w_offset.astype(np.float64)
    total = conv(data.astype(np.float64) - float(x_zero), weights, **attributes)
    total = total if B is None else total + B.astype(np.float64).reshape(1, -1, *[1] * (rank - 2))
    scale = _single(x_scale) * _single(w_scale) / _single(y_scale)
    scale = scale.reshape(1, -1, *[1] * (rank - 2)) if scale.ndim else scale
    made = _requantized(total.astype(np.float32) * scale, y_zero, y_zero.dtype)
    return np.moveaxis(made, 1, -1) if channels_last else made


def integer_product(a: Array, b: Array, a_zero: Array | None, b_zero: Array | None) -> Array:
    """Return the exact matrix product of centred integers as float64, which holds it."""
    left = a.astype(np.float64) - (0 if a_zero is None else np.asarray(a_zero, np.float64).reshape(-1)[0])
    return np.matmul(left, b.astype(np.float64) - (0 if b_zero is None else b_zero.astype(np.float64)))


def dynamically_quantized(x: Array) -> tuple[Array, float, float]:
    """Return uint8 codes of ``x``, their scale and their zero point; the range with zero fills 256 steps."""
    low, high = min(0.0, float(x.min(initial=0))), max(0.0, float(x.max(initial=0)))
    scale = (high - low) / 255 or 1.0
    zero = float(np.clip(np.rint(-low / scale), 0, 255))
    return np.clip(np.rint(x / scale) + zero, 0, 255), scale, zero


def _to_float(
    A: Array, B: Array, a_scale: Array, b_scale: Array, a_zero: Array | None = None, *rest: Array | None
) -> Array:
    b_zero, bias = (*rest, None, None)[:2]
    made = integer_product(A, B, a_zero, b_zero) * (a_scale.reshape(-1)[0] * b_scale)
    return made if bias is None else made + bias


def _dynamic_product(
    A: Array, B: Array, b_scale: Array, b_zero: Array | None = None, bias: Array | None = None
) -> Array:
    codes, scale, zero = dynamically_quantized(A)
    made = integer_product(codes, B, np.asarray(zero), b_zero) * (scale * b_scale)
    return made if bias is None else made + bias


def _wide_integer_product(A: Array, B: Array) -> Array:
    return np.matmul(A.astype(np.int64), B.astype(np.int64)).astype(np.int32)


def _gemm(
    A: Array,
    a_scale: Array,
    a_zero: Array,
    B: Array,
    b_scale: Array,
    b_zero: Array,
    C: Array | None = None,
    y_scale: Array | None = None,
    y_zero: Array | None = None,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Array:
    """Return integers where there is a scale for them, else floats."""
    total = integer_product(A.T if transA else A, B.T if transB else B, a_zero, b_zero)
    total = total if C is None else total + C
    if y_scale is None:
        return total * (alpha * a_scale.reshape(-1)[0] * b_scale)
    scale = np.float32(alpha) * _single(a_scale).reshape(-1)[0] * _single(b_scale) / _single(y_scale)
    return _requantized(total.astype(np.float32) * scale, y_zero, A.dtype)


QUANTIZED: dict[str, Callable[..., Any]] = {
    "DequantizeLinear": _dequantize_linear,
    "DynamicQuantizeMatMul": _dynamic_product,
    "MatMulInteger16": _wide_integer_product,
    "MatMulIntegerToFloat": _to_float,
    "NhwcMaxPool": _nhwc_max,
    "QGemm": _gemm,
    "QLinearAdd": _add,
    "QLinearAveragePool": _average,
    "QLinearConcat": _concat,
    "QLinearConv": _convolution,
    "QLinearGlobalAveragePool": _global_average,
    "QLinearLeakyRelu": _leaky_relu,
    "QLinearMul": _mul,
    "QLinearSigmoid": _unary(_sigmoid),
    "QLinearSoftmax": _softmax,
    "QLinearWhere": _where,
    "QuantizeLinear": _quantize_linear,
}
