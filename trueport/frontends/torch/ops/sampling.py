"""Images sampled at places of a grid, in three dims: ONNX has it from an opset on that the exporter does not write."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import onnx_ir as ir

from trueport.fidelity import accumulation
from trueport.formulas.numeric import widened
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded

__all__: list[str] = []

_D = ir.DataType
Value = ir.Value
_LINEAR, _NEAREST = 0, 1
_ZEROS, _BORDER, _REFLECTION = 0, 1, 2


@maps_torch("aten::grid_sampler_3d", error=accumulation())
@recorded
def grid_sampler_3d(
    t: TorchTranslation, x: Value, grid: Value, interpolation: int, padding: int, align_corners: bool
) -> Value:
    assert interpolation in (_LINEAR, _NEAREST), "PyTorch itself has no other in three dims"
    return widened(t, lambda image, places: _sampled(t, image, places, interpolation, padding, align_corners), x, grid)


@dataclass(frozen=True)
class _Axis:
    """One axis of the image: its size, and the places on it."""

    size: Value
    """int64, without axes"""
    at: Value
    """[N, places]"""


def _sampled(t: TorchTranslation, x: Value, grid: Value, interpolation: int, padding: int, align: bool) -> Value:
    axes = [_axis(t, x, grid, index, padding, align) for index in range(3)]
    flat = t.op.Reshape(x, [0, 0, -1])
    if interpolation == _NEAREST:
        found = _picked(t, flat, axes, [t.op.Round(axis.at) for axis in axes])
    else:
        found = _mixed(t, flat, axes)
    shape = t.op.Concat(t.op.Shape(x, end=2), t.op.Shape(grid, start=1, end=4), axis=0)
    return t.op.Reshape(found, shape)


def _axis(t: TorchTranslation, x: Value, grid: Value, index: int, padding: int, align: bool) -> _Axis:
    """The grid counts from the last axis on, from -1 to 1."""
    size = t.op.Squeeze(t.op.Shape(x, start=2 + index, end=3 + index), [0])
    span = t.op.Cast(size, to=t.dtype(grid))
    column = t.op.Slice(grid, [2 - index], [3 - index], [4])
    given = t.op.Reshape(column, [0, -1])
    one, two = t.op.like(1, grid), t.op.like(2, grid)
    raised = t.op.Add(given, one)
    if align:
        at = t.op.Mul(t.op.Div(raised, two), t.op.Sub(span, one))
    else:
        at = t.op.Div(t.op.Sub(t.op.Mul(raised, span), one), two)
    if padding == _REFLECTION:
        at = _reflected(t, at, span, align)
    if padding != _ZEROS:
        at = t.op.Min(t.op.Max(at, t.op.like(0, grid)), t.op.Sub(span, one))
    return _Axis(size, at)


def _reflected(t: TorchTranslation, at: Value, span: Value, align: bool) -> Value:
    """Back and forth between the first and the last pixel's centre, or their outer edges."""
    zero, one = t.op.like(0, at), t.op.like(1, at)
    low = zero if align else t.op.like(-0.5, at)
    length = t.op.Sub(span, one) if align else span
    usable = t.op.Where(t.op.Equal(length, zero), one, length)
    away = t.op.Abs(t.op.Sub(at, low))
    turns = t.op.Floor(t.op.Div(away, usable))
    rest = t.op.Sub(away, t.op.Mul(turns, usable))
    odd = t.op.Sub(turns, t.op.Mul(t.op.like(2, at), t.op.Floor(t.op.Div(turns, t.op.like(2, at)))))
    back = t.op.Where(t.op.Equal(odd, zero), rest, t.op.Sub(usable, rest))
    return t.op.Where(t.op.Equal(length, zero), zero, t.op.Add(back, low))


def _mixed(t: TorchTranslation, flat: Value, axes: list[_Axis]) -> Value:
    """The eight pixels around each place, by their nearness."""
    lows = [t.op.Floor(axis.at) for axis in axes]
    shares = [t.op.Sub(axis.at, low) for axis, low in zip(axes, lows, strict=True)]
    parts = []
    for corner in itertools.product((0, 1), repeat=3):
        places, weight = [], None
        for low, share, upper in zip(lows, shares, corner, strict=True):
            places.append(t.op.Add(low, t.op.like(1, low)) if upper else low)
            own = share if upper else t.op.Sub(t.op.like(1, share), share)
            weight = own if weight is None else t.op.Mul(weight, own)
        parts.append(t.op.Mul(_picked(t, flat, axes, places), t.op.Unsqueeze(weight, [1])))
    return t.op.Sum(*parts)


def _picked(t: TorchTranslation, flat: Value, axes: list[_Axis], places: list[Value]) -> Value:
    """[N, C, places]: the pixels at whole places, zero outside of the image."""
    inside, number = None, None
    for axis, place in zip(axes, places, strict=True):
        span = t.op.Cast(axis.size, to=t.dtype(place))
        last = t.op.Sub(span, t.op.like(1, place))
        here = t.op.And(t.op.GreaterOrEqual(place, t.op.like(0, place)), t.op.LessOrEqual(place, last))
        bounded = t.op.Where(here, place, t.op.like(0, place))
        index = t.op.Cast(bounded, to=_D.INT64)
        number = index if number is None else t.op.Add(t.op.Mul(number, axis.size), index)
        inside = here if inside is None else t.op.And(inside, here)
    shape = t.op.Concat(t.op.Shape(flat, end=2), t.op.Shape(number, start=1), axis=0)
    pixels = t.op.GatherElements(flat, t.op.Expand(t.op.Unsqueeze(number, [1]), shape), axis=2)
    return t.op.Where(t.op.Unsqueeze(inside, [1]), pixels, t.op.like(0, flat))
