"""Colours as red, green, blue and as hue, saturation, value."""

from __future__ import annotations

import onnx_ir as ir

from trueport.formulas.writer import Writer

__all__ = ["Hsv", "hsv_of", "rgb_of", "split_channels"]

Hsv = tuple[ir.Value, ir.Value, ir.Value]


def split_channels(t: Writer, images: ir.Value) -> Hsv:
    """The three channels, each with a last axis of size 1."""
    first, second, third = t.op.several(3).Split(images, axis=-1, num_outputs=3)
    return first, second, third


def hsv_of(t: Writer, red: ir.Value, green: ir.Value, blue: ir.Value) -> Hsv:
    """Hue in turns, from 0 up to 1."""
    op = t.op
    value = op.Max(red, green, blue)
    spread = op.Sub(value, op.Min(red, green, blue))
    zero, one, sixth = op.like(0.0, value), op.like(1.0, value), op.like(1 / 6, value)
    saturation = op.Where(op.Greater(value, zero), op.Div(spread, value), zero)
    norm = op.Div(sixth, spread)

    def sector(more: ir.Value, less: ir.Value, turn: float) -> ir.Value:
        part = op.Mul(norm, op.Sub(more, less))
        return op.Add(part, op.like(turn, value)) if turn else part

    by_green = op.Where(op.Equal(green, value), sector(blue, red, 2 / 6), sector(red, green, 4 / 6))
    hue = op.Where(op.Equal(red, value), sector(green, blue, 0), by_green)
    hue = op.Where(op.Greater(spread, zero), hue, zero)
    return op.Where(op.Less(hue, zero), op.Add(hue, one), hue), saturation, value


def rgb_of(t: Writer, hue: ir.Value, saturation: ir.Value, value: ir.Value) -> ir.Value:
    """Red, green and blue along the last axis."""
    op = t.op
    turn = op.Mul(hue, op.like(6.0, hue))
    rest = op.Sub(op.like(1.0, hue), saturation)

    def channel(centre: float, sign: float, base: float) -> ir.Value:
        distance = op.Abs(op.Sub(turn, op.like(centre, hue)))
        moved = op.Sub(distance, op.like(base, hue)) if sign > 0 else op.Sub(op.like(base, hue), distance)
        share = op.Clip(moved, op.like(0.0, hue), op.like(1.0, hue))
        return op.Mul(op.Add(rest, op.Mul(saturation, share)), value)

    return op.Concat(channel(3, 1, 1), channel(2, -1, 2), channel(4, -1, 2), axis=-1)
