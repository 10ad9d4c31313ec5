"""Means over windows with a divisor of their own, which the exporter leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trueport.errors import ConversionError
from trueport.fidelity import accumulation
from trueport.frontends.torch.registry import maps_torch
from trueport.lazy import LazyModule

__all__: list[str] = []

_exporter = LazyModule("onnxscript.function_libs.torch_lib.ops.nn", "PyTorch's exporter", "torch")
_opset = LazyModule("onnxscript.onnx_opset", "PyTorch's exporter", "torch")


@maps_torch("aten::avg_pool2d", error=accumulation())
def avg_pool2d(x: Any, kernel_size: Sequence[int], *rest: Any, divisor_override: int | None = None) -> Any:
    return _averaged(_exporter.aten_avg_pool2d, 2, x, kernel_size, rest, divisor_override)


@maps_torch("aten::avg_pool3d", error=accumulation())
def avg_pool3d(x: Any, kernel_size: Sequence[int], *rest: Any, divisor_override: int | None = None) -> Any:
    return _averaged(_exporter.aten_avg_pool3d, 3, x, kernel_size, rest, divisor_override)


def _averaged(
    pool: Any, rank: int, x: Any, kernel: Sequence[int], rest: Sequence[Any], divisor_override: int | None
) -> Any:
    """By the exporter's own translation; ``rest``: stride, padding, ceil_mode, count_include_pad, the divisor."""
    usual: tuple[Any, ...] = ((), 0, False, True, None)
    stride, padding, ceil, included, divisor = (*rest, *usual[len(rest) :])
    divisor = divisor_override if divisor is None else divisor
    if divisor is None:
        return pool(x, kernel, stride, padding, ceil, included)
    if ceil:
        raise ConversionError(
            "divides windows that reach over the edge by a number of their own, divisor_override",
            where=f"avg_pool{rank}d",
            remedy="leave ceil_mode off",
        )
    area = float(np.prod(kernel)) if len(kernel) == rank else float(kernel[0] ** rank)
    op = _opset.opset18
    return op.Mul(pool(x, kernel, stride, padding, ceil, True), op.CastLike(op.Constant(value_float=area / divisor), x))
