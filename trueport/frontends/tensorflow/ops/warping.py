"""Images seen through a projection."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_PLACES, accumulation
from trueport.formulas.images.sampling import Pixels, as_float, index_of, number, rounded, within
from trueport.formulas.images.spatial import size_at
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("ImageProjectiveTransformV2", domain=TF, error=accumulation(16, 8, against=AGAINST_PLACES))
def image_projective_transform(
    t: Translation,
    images: ir.Value,
    transforms: ir.Value,
    output_shape: ir.Value,
    *,
    interpolation: str,
    fill_mode: str,
) -> ir.Value:
    return _projected(t, images, transforms, output_shape, number(t, 0), interpolation, fill_mode)


@maps("ImageProjectiveTransformV3", domain=TF, error=accumulation(16, 8, against=AGAINST_PLACES))
def image_projective_transform_v3(
    t: Translation,
    images: ir.Value,
    transforms: ir.Value,
    output_shape: ir.Value,
    fill_value: ir.Value,
    *,
    interpolation: str,
    fill_mode: str,
) -> ir.Value:
    return _projected(t, images, transforms, output_shape, fill_value, interpolation, fill_mode)


def _projected(
    t: Translation,
    images: ir.Value,
    transforms: ir.Value,
    output_shape: ir.Value,
    fill: ir.Value,
    interpolation: str,
    fill_mode: str,
) -> ir.Value:
    if t.dtype(images) == ir.DataType.DOUBLE:
        raise t.fail("samples float64 images, whose weights TensorFlow computes in float32", "cast them to float32")
    pixels = Pixels(t, as_float(t, images))
    x, y, known = _places(t, transforms, output_shape)
    column, row = (_FILLS[fill_mode](t, place, count) for place, count in ((x, pixels.width), (y, pixels.height)))
    which = t.op.Unsqueeze(t.op.Range(0, t.op.Squeeze(size_at(t, images, 0)), 1), [1, 2])
    reader = _Reader(t, pixels, which, fill)
    made = reader.nearest(row, column) if interpolation.upper() == "NEAREST" else reader.bilinear(row, column)
    return t.cast(t.op.Where(t.op.Unsqueeze(known, [3]), made, fill), t.dtype(images))


def _places(t: Translation, transforms: ir.Value, output_shape: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Column and row that each new pixel looks at, and whether there is such a place at all."""
    op = t.op
    shape = t.int64(output_shape)
    height, width = (op.Gather(shape, np.array(i), axis=0) for i in (0, 1))
    y = op.Unsqueeze(as_float(t, op.Range(0, height, 1)), [1])
    x = as_float(t, op.Range(0, width, 1))
    factors = [op.Unsqueeze(op.Gather(transforms, np.array(i), axis=1), [1, 2]) for i in range(8)]

    def plane(a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        return op.Add(op.Add(op.Mul(a, x), op.Mul(b, y)), c)

    depth = plane(factors[6], factors[7], number(t, 1))
    known = op.Not(op.Equal(depth, number(t, 0)))
    safe = op.Where(known, depth, number(t, 1))
    return op.Div(plane(*factors[:3]), safe), op.Div(plane(*factors[3:6]), safe), known


class _Reader:
    """Reads pixels at any place; those outside are the fill value."""

    def __init__(self, t: Translation, pixels: Pixels, which: ir.Value, fill: ir.Value) -> None:
        self._t, self._pixels, self._which, self._fill = t, pixels, which, fill

    def nearest(self, y: ir.Value, x: ir.Value) -> ir.Value:
        return self._at(rounded(self._t, y), rounded(self._t, x))

    def bilinear(self, y: ir.Value, x: ir.Value) -> ir.Value:
        op, one = self._t.op, number(self._t, 1)
        top, left = op.Floor(y), op.Floor(x)
        bottom, right = op.Add(top, one), op.Add(left, one)

        def mixed(before: ir.Value, after: ir.Value, low: ir.Value, high: ir.Value, place: ir.Value) -> ir.Value:
            near, far = (op.Unsqueeze(weight, [3]) for weight in (op.Sub(high, place), op.Sub(place, low)))
            return op.Add(op.Mul(near, before), op.Mul(far, after))

        above, below = (mixed(self._at(row, left), self._at(row, right), left, right, x) for row in (top, bottom))
        return mixed(above, below, top, bottom, y)

    def _at(self, y: ir.Value, x: ir.Value) -> ir.Value:
        t, op = self._t, self._t.op
        inside = op.And(within(t, y, self._pixels.height), within(t, x, self._pixels.width))
        zero = number(t, 0)
        row, column = (index_of(t, op.Where(inside, place, zero)) for place in (y, x))
        taken = self._pixels.at(self._which, row, column)
        return op.Where(op.Unsqueeze(inside, [3]), taken, self._fill)


def _outside(t: Translation, place: ir.Value, count: ir.Value) -> ir.Value:
    return place


def _clamped(t: Translation, place: ir.Value, count: ir.Value) -> ir.Value:
    last = t.op.Sub(as_float(t, count), number(t, 1))
    return t.op.Max(t.op.Min(place, last), number(t, 0))


def _reflected(t: Translation, place: ir.Value, count: ir.Value) -> ir.Value:
    """abcd is seen as dcba|abcd|dcba."""
    op, one, size = t.op, number(t, 1), as_float(t, count)
    period = op.Mul(size, number(t, 2))
    whole = op.Mul(period, op.Floor(op.Div(op.Abs(place), period)))
    below = op.Add(whole, place)
    under = op.Where(op.Less(below, op.Neg(size)), op.Add(below, period), op.Sub(op.Neg(below), one))
    above = op.Sub(place, whole)
    over = op.Where(op.GreaterOrEqual(above, size), op.Sub(op.Sub(period, above), one), above)
    found = op.Where(op.Less(place, number(t, 0)), under, over)
    inner = op.Where(op.Greater(place, op.Sub(size, one)), found, place)
    return _clamped(t, op.Where(op.Less(place, number(t, 0)), found, inner), count)


def _wrapped(t: Translation, place: ir.Value, count: ir.Value) -> ir.Value:
    """abcd is seen as abcd|abcd|abcd."""
    op, one, size = t.op, number(t, 1), as_float(t, count)
    last = op.Sub(size, one)
    rounds = op.Floor(op.Div(op.Abs(place), op.Max(last, one)))
    under = op.Add(place, op.Mul(size, op.Add(rounds, one)))
    over = op.Sub(place, op.Mul(size, rounds))
    inner = op.Where(op.Greater(place, last), over, place)
    return _clamped(t, op.Where(op.Less(place, number(t, 0)), under, inner), count)


_FILLS = {"CONSTANT": _outside, "NEAREST": _clamped, "REFLECT": _reflected, "WRAP": _wrapped}
