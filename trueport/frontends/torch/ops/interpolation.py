"""Interpolation: PyTorch's exporter computes lengths, scales and ties in other ways than PyTorch's kernels do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_PLACES, BITWISE, accumulation
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.shared.nearest import Rounding, computed_positions, is_repetition, known_positions
from trueport.frontends.torch.shared.resampling import (
    CUBIC,
    LANCZOS,
    LINEAR,
    Axis,
    Kernel,
    axes_of,
    is_small_image,
    resample,
    sizes_of,
)
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

Value = ir.Value
_D = ir.DataType
_MIXES = accumulation(8, 4, against=AGAINST_PLACES)
_FEW_BITS = 256
"""Factors that are a multiple of one part in so many: times any length, float32 holds the product exactly."""
_KEYS = replace(CUBIC, coefficient=-0.5)
"""PyTorch's filter when it smooths; it interpolates by another."""


@maps_torch("aten::upsample_nearest1d", fidelity=BITWISE)
@maps_torch("aten::upsample_nearest1d.vec", fidelity=BITWISE)
@maps_torch("aten::upsample_nearest2d", fidelity=BITWISE)
@maps_torch("aten::upsample_nearest2d.vec", fidelity=BITWISE)
@maps_torch("aten::upsample_nearest3d", fidelity=BITWISE)
@maps_torch("aten::upsample_nearest3d.vec", fidelity=BITWISE)
@recorded
def upsample_nearest(t: TorchTranslation, x: Value, size: Any, *scales: Any, **named: Any) -> Value:
    return _nearest(t, x, axes_of(t, x, size, _factors(scales, named)), exact=False)


@maps_torch("aten::_upsample_nearest_exact1d", fidelity=BITWISE)
@maps_torch("aten::_upsample_nearest_exact1d.vec", fidelity=BITWISE)
@maps_torch("aten::_upsample_nearest_exact2d", fidelity=BITWISE)
@maps_torch("aten::_upsample_nearest_exact2d.vec", fidelity=BITWISE)
@maps_torch("aten::_upsample_nearest_exact3d", fidelity=BITWISE)
@maps_torch("aten::_upsample_nearest_exact3d.vec", fidelity=BITWISE)
@recorded
def upsample_nearest_exact(t: TorchTranslation, x: Value, size: Any, *scales: Any, **named: Any) -> Value:
    return _nearest(t, x, axes_of(t, x, size, _factors(scales, named)), exact=True)


@maps_torch("aten::upsample_linear1d", error=_MIXES)
@maps_torch("aten::upsample_linear1d.vec", error=_MIXES)
@maps_torch("aten::upsample_bilinear2d", error=_MIXES)
@maps_torch("aten::upsample_bilinear2d.vec", error=_MIXES)
@maps_torch("aten::upsample_trilinear3d", error=_MIXES)
@maps_torch("aten::upsample_trilinear3d.vec", error=_MIXES)
@recorded
def upsample_linear(t: TorchTranslation, x: Value, size: Any, align: bool, *scales: Any, **named: Any) -> Value:
    return _interpolated(t, x, axes_of(t, x, size, _factors(scales, named)), LINEAR, align)


@maps_torch("aten::upsample_bicubic2d", error=_MIXES)
@maps_torch("aten::upsample_bicubic2d.vec", error=_MIXES)
@recorded
def upsample_bicubic(t: TorchTranslation, x: Value, size: Any, align: bool, *scales: Any, **named: Any) -> Value:
    return _interpolated(t, x, axes_of(t, x, size, _factors(scales, named)), CUBIC, align)


@maps_torch("aten::_upsample_bilinear2d_aa", error=_MIXES)
@maps_torch("aten::_upsample_bilinear2d_aa.vec", error=_MIXES)
@recorded
def upsample_bilinear_aa(t: TorchTranslation, x: Value, size: Any, align: bool, *scales: Any, **named: Any) -> Value:
    return _smoothed(t, x, axes_of(t, x, size, _factors(scales, named)), LINEAR, align)


@maps_torch("aten::_upsample_bicubic2d_aa", error=_MIXES)
@maps_torch("aten::_upsample_bicubic2d_aa.vec", error=_MIXES)
@recorded
def upsample_bicubic_aa(t: TorchTranslation, x: Value, size: Any, align: bool, *scales: Any, **named: Any) -> Value:
    return _smoothed(t, x, axes_of(t, x, size, _factors(scales, named)), _KEYS, align)


@maps_torch("aten::_upsample_lanczos2d_aa", error=_MIXES)
@maps_torch("aten::_upsample_lanczos2d_aa.vec", error=_MIXES)
@recorded
def upsample_lanczos_aa(t: TorchTranslation, x: Value, size: Any, align: bool, *scales: Any, **named: Any) -> Value:
    return _smoothed(t, x, axes_of(t, x, size, _factors(scales, named)), LANCZOS, align)


def _factors(scales: Sequence[Any], named: Mapping[str, Any]) -> list[float | None] | None:
    """The factors of all axes, which come as one list or one by one; None where there is none."""
    given = [*scales, *named.values()]
    for item in given:
        if isinstance(item, (list, tuple)):
            return list(item) or None
    return given if any(item is not None for item in given) else None


def _nearest(t: TorchTranslation, x: Value, axes: list[Axis], *, exact: bool) -> Value:
    small = is_small_image(t, axes)
    double = t.dtype(x) == _D.DOUBLE
    kinds = [Rounding(exact=exact, wide=double and not is_small, small=is_small) for is_small in (False, True)]
    possible = kinds if isinstance(small, ir.Value) else [kinds[small]]
    fixed = all(axis.is_fixed for axis in axes)
    alike = fixed or not any(axis.is_fixed for axis in axes)
    # Runtimes have no Resize of float64.
    if alike and not double and all(is_repetition(axis, kind) for axis in axes for kind in possible):
        options = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        return _resized(t, x, axes, by_factor=not fixed, **options)
    for axis in reversed(axes):
        if axis.is_fixed and axis.old == axis.new and axis.factor is None:
            continue
        x = t.op.Gather(x, _positions(t, axis, possible, small), axis=axis.index)
    return x


def _positions(t: TorchTranslation, axis: Axis, kinds: Sequence[Rounding], small: bool | Value) -> Value:
    def positions(kind: Rounding) -> Value:
        return t.op.const(known_positions(axis, kind)) if axis.is_fixed else computed_positions(t, axis, kind)

    if len(kinds) == 1 or not any(kind.shortcut(axis) or kind.wide for kind in kinds):
        return positions(kinds[0])
    return t.op.Where(small, positions(kinds[1]), positions(kinds[0]))


def _interpolated(t: TorchTranslation, x: Value, axes: list[Axis], kernel: Kernel, align: bool) -> Value:
    if align or all(_is_ratio(axis) for axis in axes):
        by_factor: bool | None = False
    else:
        by_factor = True if all(_is_factor_exact(axis, kernel) for axis in axes) else None

    def work(data: Value) -> Value:
        if by_factor is None or t.dtype(data) == _D.DOUBLE:
            return resample(t, data, axes, kernel, align, antialias=False)
        centres = "align_corners" if align else "half_pixel"
        return _resized(t, data, axes, by_factor, mode=kernel.name, coordinate_transformation_mode=centres)

    return _in_floats(t, x, work)


def _smoothed(t: TorchTranslation, x: Value, axes: list[Axis], kernel: Kernel, align: bool) -> Value:
    return _in_floats(t, x, lambda data: resample(t, data, axes, kernel, align, antialias=True))


def _is_ratio(axis: Axis) -> bool:
    """True if the coordinates follow from both lengths: there is no factor, or it is their ratio."""
    if axis.factor is None or axis.factor == int(axis.factor):
        return True
    return axis.old is not None and Fraction(axis.factor) * axis.old == axis.new


def _is_factor_exact(axis: Axis, kernel: Kernel) -> bool:
    """True if Resize by the factor, which it has in float32, gives PyTorch's length and coordinates."""
    assert axis.factor is not None
    if kernel is LINEAR and axis.may_copy and not (axis.old is None and axis.factor >= 1.5):
        return False  # from 1.5 on only a single sample stays single, which is a copy anyway
    if axis.old is not None:
        return axis.new == int(np.float32(axis.factor) * np.float32(axis.old))
    return (axis.factor * _FEW_BITS).is_integer() and axis.factor < _FEW_BITS


def _resized(t: TorchTranslation, x: Value, axes: Sequence[Axis], by_factor: bool, **options: Any) -> Value:
    if by_factor:
        factors = t.op.const(np.array([1, 1, *(axis.factor for axis in axes)], np.float32))
        made: Value = t.op.Resize(x, None, factors, **options)
    else:
        made = t.op.Resize(x, None, None, sizes_of(t, x, axes), **options)
    return made


def _in_floats(t: TorchTranslation, x: Value, work: Callable[[Value], Value]) -> Value:
    """Half precision in float32; bytes as well, and rounded."""
    dtype = t.dtype(x)
    if dtype in (_D.FLOAT, _D.DOUBLE):
        return work(x)
    made = work(t.op.Cast(x, to=_D.FLOAT))
    if dtype == _D.UINT8:
        made = t.op.Clip(t.op.Round(made), np.float32(0), np.float32(255))
    return t.cast(made, dtype)
