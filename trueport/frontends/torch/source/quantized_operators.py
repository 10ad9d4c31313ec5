"""PyTorch's operators that quantize, made known to it as far as capturing and the float64 truth ask for it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from trueport.frontends.torch._torch import torch

__all__ = ["QUANTIZED_STEPS", "known_quantized_operators", "open_quantized"]


def known_quantized_operators() -> None:
    """Let PyTorch know its operators of quantized networks, which it loads only on demand."""
    importlib.import_module("torch.ao.quantization.fx._decomposed")


@contextmanager
def open_quantized() -> Iterator[None]:
    """Within it fake quantization is captured with open dims: PyTorch has no shapes for it, they are the operand's."""
    aten = torch.ops.aten
    operators = [
        aten.fake_quantize_per_tensor_affine_cachemask.default,
        aten.fake_quantize_per_channel_affine_cachemask.default,
        aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default,
    ]
    without = [operator for operator in operators if torch._C.DispatchKey.Meta not in operator.py_kernels]
    for operator in without:
        operator.py_impl(torch._C.DispatchKey.Meta)(_shapes)
    try:
        yield
    finally:
        for operator in without:
            operator.py_kernels.pop(torch._C.DispatchKey.Meta)
            operator._dispatch_cache.clear()


def _shapes(x: Any, *parameters: Any) -> tuple[Any, Any]:
    return torch.empty_like(x), torch.empty_like(x, dtype=torch.bool)


def _quantize(x: Any, scale: Any, zero_point: Any, low: Any, high: Any, dtype: Any) -> Any:
    # What follows the division are whole numbers, which do not err.
    steps = torch.clamp(torch.round(x / scale), low - zero_point, high - zero_point)
    return (steps.to(torch.int64) + zero_point).to(dtype)


def _dequantize(x: Any, scale: Any, zero_point: Any, low: Any, high: Any, dtype: Any, *, out_dtype: Any = None) -> Any:
    return (x.to(torch.int64) - zero_point).to(torch.float64) * scale


def _quantize_channels(x: Any, scales: Any, zero_points: Any, axis: int, low: int, high: int, dtype: Any) -> Any:
    return _quantize(x, _along(scales, x, axis), _along(zero_points, x, axis), low, high, dtype)


def _dequantize_channels(
    x: Any, scales: Any, zero_points: Any, axis: int, low: int, high: int, dtype: Any, *, out_dtype: Any = None
) -> Any:
    zero_points = torch.zeros_like(scales, dtype=torch.int64) if zero_points is None else zero_points
    return _dequantize(x, _along(scales, x, axis), _along(zero_points, x, axis), low, high, dtype)


def _choose(x: Any, low: int, high: int, eps: float, dtype: Any) -> tuple[Any, Any]:
    least, most = x.min().clamp(max=0), x.max().clamp(min=0)
    scale = ((most - least) / (high - low)).clamp(min=eps)
    zero_point = torch.clamp(low - torch.round(least / scale).to(torch.int64), low, high)
    return scale.reshape(1), zero_point.reshape(1)


def _choose_symmetric(x: Any, low: int, high: int, eps: float, dtype: Any) -> tuple[Any, Any]:
    scale = (x.abs().max() / ((high - low) / 2)).clamp(min=eps)
    return scale.reshape(1), torch.full([1], 128 if dtype == torch.uint8 else 0, dtype=torch.int64)


def _there_and_back(x: Any, scale: Any, zero_point: Any, low: int, high: int) -> tuple[Any, Any]:
    """The scale is a float32 to these operators, also where it comes as a Python number."""
    step = torch.as_tensor(scale, dtype=torch.float32).to(torch.float64)
    steps = torch.round(x / step)
    least, most = low - zero_point, high - zero_point
    return torch.clamp(steps, least, most) * step, (steps >= least) & (steps <= most)


def _there_and_back_if(x: Any, scale: Any, zero_point: Any, enabled: Any, low: int, high: int) -> tuple[Any, Any]:
    there = _there_and_back(x, scale, zero_point, low, high)
    return there if bool(enabled) else (x.clone(), torch.ones_like(x, dtype=torch.bool))


def _there_and_back_by_channel(
    x: Any, scales: Any, zero_points: Any, axis: int, low: int, high: int
) -> tuple[Any, Any]:
    return _there_and_back(x, _along(scales, x, axis), _along(zero_points, x, axis), low, high)


def _along(parameter: Any, x: Any, axis: int) -> Any:
    return parameter.view([-1 if other == axis % x.dim() else 1 for other in range(x.dim())])


_LIBRARY = "quantized_decomposed::"
QUANTIZED_STEPS: dict[str, Callable[..., Any]] = {
    **{f"{_LIBRARY}quantize_per_tensor{kind}": _quantize for kind in ("", ".tensor", ".tensor2")},
    **{f"{_LIBRARY}dequantize_per_tensor{kind}": _dequantize for kind in ("", ".tensor", ".tensor2")},
    f"{_LIBRARY}quantize_per_channel": _quantize_channels,
    f"{_LIBRARY}dequantize_per_channel": _dequantize_channels,
    f"{_LIBRARY}choose_qparams.tensor": _choose,
    f"{_LIBRARY}choose_qparams_symmetric.tensor": _choose_symmetric,
    "aten::fake_quantize_per_tensor_affine_cachemask": _there_and_back,
    "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": _there_and_back_if,
    "aten::fake_quantize_per_channel_affine_cachemask": _there_and_back_by_channel,
}
"""In arithmetic of any type: the operators take no doubles, or compute in float32 whatever they take. Each step errs on
its own, so that near a border a step more or less is what rounding makes."""
