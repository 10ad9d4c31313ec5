"""Resize names axes since 18; sampling on a grid had other names for its modes before 20."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx_ir import Value

from trueport.passes.lower.adapt import Downgrade, downgrades

__all__: list[str] = []


@downgrades("Resize", 19, 18)
def resize_19_to_18(
    op: Downgrade, *inputs: Value | None, coordinate_transformation_mode: str, **attributes: Any
) -> Any:
    """One transformation came with 19."""
    if coordinate_transformation_mode == "half_pixel_symmetric":
        raise op.fail("coordinate_transformation_mode 'half_pixel_symmetric' came with it")
    return op.again(*inputs, coordinate_transformation_mode=coordinate_transformation_mode, **attributes)


@downgrades("Resize", 18, 13)
def resize_18_to_13(
    op: Downgrade,
    X: Value,
    roi: Value | None,
    scales: Value | None,
    sizes: Value | None,
    *,
    antialias: int,
    axes: list[int] | None,
    keep_aspect_ratio_policy: str,
    **attributes: Any,
) -> Any:
    """Before 18 there is a scale or size for each axis, and no filter when scaling down."""
    if antialias and attributes["mode"] != "nearest" and not _grows(op, X, scales, sizes, axes):
        raise op.fail("antialias when scaling down came with it")
    if sizes is not None and keep_aspect_ratio_policy != "stretch":
        raise op.fail(f"keep_aspect_ratio_policy {keep_aspect_ratio_policy!r} came with it")
    if axes is not None:
        rank = op.rank(X)
        along = [axis % rank for axis in axes]
        scales = scales and _for_all(op, np.ones(rank, np.float32), along, scales)
        sizes = sizes and _placed(op, op.Shape(X), along, sizes)
        limits = np.repeat([0, 1], rank)
        both = along + [axis + rank for axis in along]
        roi = roi and _for_all(op, limits.astype(roi.dtype.numpy()) if roi.dtype else limits, both, roi)
    return op.again(X, roi, scales, sizes, **attributes)


def _grows(op: Downgrade, X: Value, scales: Value | None, sizes: Value | None, axes: list[int] | None) -> bool:
    factors, lengths = op.known(scales), op.known(sizes)
    if factors is not None:
        return bool(np.all(factors >= 1))
    if lengths is None:
        return False
    along = range(op.rank(X)) if axes is None else axes
    before = [op.dim(X, axis) for axis in along]
    return all(dim is not None and dim <= size for dim, size in zip(before, lengths, strict=True))


def _for_all(op: Downgrade, default: np.ndarray, places: list[int], values: Value) -> Value:
    known = op.known(values)
    if known is None:
        return _placed(op, op.const(default), places, values)
    default[places] = known
    return op.const(default)


def _placed(op: Downgrade, default: Value, places: list[int], values: Value) -> Value:
    return op.ScatterElements(default, places, values)


@downgrades("GridSample", 20, 16)
def grid_sample_20_to_16(op: Downgrade, X: Value, grid: Value, *, mode: str, **attributes: Any) -> Any:
    """Before 20 only images are sampled."""
    if op.rank(X) != 4:
        raise op.fail(f"only data of rank 4 can be sampled, not of rank {op.rank(X)}")
    return op.again(X, grid, mode={"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode), **attributes)


@downgrades("RoiAlign", 16, 10)
def roi_align_16_to_10(op: Downgrade, *inputs: Value, coordinate_transformation_mode: str, **attributes: Any) -> Any:
    """Before 16 regions are not moved by half a pixel, and are at least one pixel large."""
    if coordinate_transformation_mode != "output_half_pixel":
        raise op.fail(f"coordinate_transformation_mode {coordinate_transformation_mode!r} came with it")
    return op.again(*inputs, **attributes)
