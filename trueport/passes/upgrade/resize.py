"""Upsample became Resize in 10; Resize states its coordinates since 11, and lost one transformation in 13."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
from onnx_ir import Value

from trueport.passes.upgrade.adapt import AdapterBuilder, upgrades

__all__: list[str] = []


@upgrades("Upsample", 1, 7)
def upsample_1_to_7(op: AdapterBuilder, X: Value, *, mode: str, height_scale: float, width_scale: float) -> Any:
    """Before 7 only images were scaled."""
    scales = [1.0, 1.0, height_scale, width_scale]
    return op.again(X, mode="linear" if mode == "bilinear" else mode, scales=scales)


@upgrades("Upsample", 7, 9)
def upsample_7_to_9(op: AdapterBuilder, X: Value, *, mode: str, scales: list[float]) -> Any:
    """The scales became an input."""
    return op.again(X, op.const(scales, np.float32), mode=mode)


@upgrades("Upsample", 9, 10)
def upsample_9_to_10(op: AdapterBuilder, X: Value, scales: Value, *, mode: str) -> Any:
    """Resize is Upsample that also scales down."""
    return op.Resize(X, scales, mode="linear" if mode == "bilinear" else mode)


@upgrades("Resize", 10, 11)
def resize_10_to_11(op: AdapterBuilder, X: Value, scales: Value, *, mode: str) -> Any:
    """Before 11 an output pixel i stood at i / scale; the nearest was below it, or above when scaling down."""
    new = op.at(13)

    def resized(value: Value, by: Value, nearest_mode: str | None) -> Any:
        asymmetric = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": nearest_mode}
        return new.Resize(value, None, by, mode="linear" if mode == "bilinear" else mode, **asymmetric)

    if mode != "nearest":
        return resized(X, scales, None)
    known = op.known(scales)
    if known is not None and np.all(known >= 1):
        return resized(X, scales, "floor")
    if known is not None and np.all(known <= 1):
        return resized(X, scales, "ceil")
    one = op.const(np.float32(1))
    return resized(resized(X, new.Max(scales, one), "floor"), new.Min(scales, one), "ceil")


@upgrades("Resize", 11, 13)
def resize_11_to_13(
    op: AdapterBuilder,
    X: Value,
    roi: Value,
    scales: Value | None,
    sizes: Value | None,
    *,
    coordinate_transformation_mode: str,
    nearest_mode: str,
    **attributes: Any,
) -> Any:
    """Inputs that do not apply were empty tensors; one transformation is gone."""
    if coordinate_transformation_mode == "tf_half_pixel_for_nn":
        if attributes["mode"] != "nearest" or nearest_mode not in _NEAREST_BY_HALF_PIXEL:
            return _every_second(op, X, scales, sizes, nearest_mode=nearest_mode, **attributes)
        coordinate_transformation_mode, nearest_mode = "half_pixel", _NEAREST_BY_HALF_PIXEL[nearest_mode]
    return op.again(
        X,
        roi if coordinate_transformation_mode == "tf_crop_and_resize" else None,
        scales if sizes is None else None,
        sizes,
        coordinate_transformation_mode=coordinate_transformation_mode,
        nearest_mode=nearest_mode,
        **attributes,
    )


_NEAREST_BY_HALF_PIXEL = {"floor": "round_prefer_ceil", "round_prefer_floor": "ceil"}
"""``tf_half_pixel_for_nn`` is half_pixel plus a half: a rounding of x + 0.5, as a rounding of x."""


def _every_second(op: AdapterBuilder, X: Value, scales: Value | None, sizes: Value | None, **attributes: Any) -> Value:
    """``(i + 0.5) / scale`` is ``(2 i + 1) / (2 scale)``: every second element of twice the size, where it changes."""
    unchanged = op.Equal(scales, op.const(np.float32(1))) if sizes is None else op.Equal(sizes, op.Shape(X))
    times = op.Where(unchanged, op.const(1), op.const(2))
    if sizes is None:
        scales = op.Mul(scales, op.Cast(times, to=ir.DataType.FLOAT.value))
    else:
        scales, sizes = None, op.Mul(sizes, times)
    twice = op.again(X, None, scales, sizes, coordinate_transformation_mode="asymmetric", **attributes)
    ends = op.Expand(op.const([np.iinfo(np.int64).max]), op.Shape(times))
    return op.Slice(twice, op.Sub(times, op.const(1)), ends, None, times)


@upgrades("RoiAlign", 10, 16)
def roi_align_10_to_16(op: AdapterBuilder, *inputs: Value, **attributes: Any) -> Any:
    """Before 16 the regions were not moved by half a pixel."""
    return op.again(*inputs, coordinate_transformation_mode="output_half_pixel", **attributes)


@upgrades("GridSample", 16, 20)
def grid_sample_16_to_20(op: AdapterBuilder, *inputs: Value, mode: str, **attributes: Any) -> Any:
    """The modes' names lost their prefix when other ranks were allowed."""
    return op.again(*inputs, mode=mode.removeprefix("bi"), **attributes)
