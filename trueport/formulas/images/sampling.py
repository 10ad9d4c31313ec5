"""Pixels of images at places that are computed."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.formulas.images.spatial import size_at
from trueport.formulas.writer import Writer

__all__ = ["Pixels", "as_float", "index_of", "number", "rounded", "within"]


class Pixels:
    """Images of shape (batch, height, width, channels), read at any place."""

    def __init__(self, t: Writer, images: ir.Value) -> None:
        self._t = t
        self.height, self.width = size_at(t, images, 1), size_at(t, images, 2)
        self._flat = t.op.Reshape(images, t.op.Concat([-1], size_at(t, images, 3), axis=0))

    def at(self, image: ir.Value, y: ir.Value, x: ir.Value) -> ir.Value:
        """The channels of pixels whose integer places broadcast together."""
        op = self._t.op
        place = op.Add(op.Mul(op.Add(op.Mul(image, self.height), y), self.width), x)
        return op.Gather(self._flat, place, axis=0)


def number(t: Writer, value: float) -> ir.Value:
    return t.op.const(np.float32(value))


def as_float(t: Writer, value: ir.Value) -> ir.Value:
    return t.cast(value, ir.DataType.FLOAT)


def index_of(t: Writer, value: ir.Value) -> ir.Value:
    return t.cast(value, ir.DataType.INT64)


def rounded(t: Writer, value: ir.Value) -> ir.Value:
    """To the nearest whole number, halves away from zero, without the error of adding a half first."""
    size = t.op.Abs(value)
    whole = t.op.Floor(size)
    up = as_float(t, t.op.GreaterOrEqual(t.op.Sub(size, whole), number(t, 0.5)))
    return t.op.Mul(t.op.Sign(value), t.op.Add(whole, up))


def within(t: Writer, value: ir.Value, count: ir.Value) -> ir.Value:
    """Whether places lie between the first sample and the last."""
    last = t.op.Sub(as_float(t, count), number(t, 1))
    return t.op.And(t.op.GreaterOrEqual(value, number(t, 0)), t.op.LessOrEqual(value, last))
