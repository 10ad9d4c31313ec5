"""Images: colours, contrast, and what is drawn onto them."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_DATA, AGAINST_LARGEST, BITWISE, accumulation, ulps
from trueport.formulas.images.colours import hsv_of, rgb_of, split_channels
from trueport.formulas.images.sampling import as_float, index_of, number
from trueport.formulas.images.spatial import size_at
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("RGBToHSV", domain=TF, error=ulps(8, against=AGAINST_LARGEST))
def rgb_to_hsv(t: Translation, images: ir.Value) -> ir.Value:
    return t.op.Concat(*hsv_of(t, *split_channels(t, images)), axis=-1)


@maps("HSVToRGB", domain=TF, error=ulps(8, against=AGAINST_LARGEST))
def hsv_to_rgb(t: Translation, images: ir.Value) -> ir.Value:
    return rgb_of(t, *split_channels(t, images))


@maps("AdjustHue", domain=TF, error=ulps(16, against=AGAINST_LARGEST))
def adjust_hue(t: Translation, images: ir.Value, delta: ir.Value) -> ir.Value:
    hue, saturation, value = hsv_of(t, *split_channels(t, as_float(t, images)))
    moved = t.op.Add(hue, delta)
    turned = t.op.Sub(moved, t.op.Floor(moved))
    return t.cast(rgb_of(t, turned, saturation, value), t.dtype(images))


@maps("AdjustSaturation", domain=TF, error=ulps(16, against=AGAINST_LARGEST))
def adjust_saturation(t: Translation, images: ir.Value, scale: ir.Value) -> ir.Value:
    hue, saturation, value = hsv_of(t, *split_channels(t, as_float(t, images)))
    scaled = t.op.Clip(t.op.Mul(saturation, scale), number(t, 0), number(t, 1))
    return t.cast(rgb_of(t, hue, scaled, value), t.dtype(images))


@maps("AdjustContrastv2", domain=TF, error=accumulation(4, against=AGAINST_DATA))
def adjust_contrast(t: Translation, images: ir.Value, contrast_factor: ir.Value) -> ir.Value:
    data = as_float(t, images)
    mean = t.op.ReduceMean(data, [-3, -2])
    made = t.op.Add(t.op.Mul(t.op.Sub(data, mean), contrast_factor), mean)
    return t.cast(made, t.dtype(images))


_COLOURS = np.array(
    [
        [1, 1, 0, 1],
        [0, 0, 1, 1],
        [1, 0, 0, 1],
        [0, 1, 0, 1],
        [0.5, 0, 0.5, 1],
        [0.5, 0.5, 0, 1],
        [0.5, 0, 0, 1],
        [0, 0, 0.5, 1],
        [0, 1, 1, 1],
        [1, 0, 1, 1],
    ],
    np.float32,
)
"""What TensorFlow draws with if it is given no colours, by turns."""


@maps("DrawBoundingBoxes", domain=TF, fidelity=BITWISE)
def draw_bounding_boxes(t: Translation, images: ir.Value, boxes: ir.Value) -> ir.Value:
    return _drawn(t, images, boxes, t.op.const(_COLOURS))


@maps("DrawBoundingBoxesV2", domain=TF, fidelity=BITWISE)
def draw_bounding_boxes_v2(t: Translation, images: ir.Value, boxes: ir.Value, colors: ir.Value) -> ir.Value:
    if t.dims(colors)[0] == 0:
        return _drawn(t, images, boxes, t.op.const(_COLOURS))
    return _drawn(t, images, boxes, colors)


def _drawn(t: Translation, images: ir.Value, boxes: ir.Value, colours: ir.Value) -> ir.Value:
    """Each pixel takes the colour of the last box whose edge it lies on."""
    op = t.op
    channels = t.dims(images)[3]
    if channels is None:
        raise t.fail(
            "the number of channels is not known; each colour is cut to it",
            "fix the images' last dim (tf.ensure_shape, or --shape NAME=DIMS of an input)",
        )
    # (batch, boxes, 1, 1) edges against (height, 1) and (width) places.
    top, left, bottom, right = (op.Unsqueeze(op.Gather(boxes, np.array(i), axis=2), [2, 3]) for i in range(4))
    rows, columns = (_counted(t, images, axis) for axis in (1, 2))
    low_y, high_y = _edges(t, top, bottom, size_at(t, images, 1))
    low_x, high_x = _edges(t, left, right, size_at(t, images, 2))
    places = op.Unsqueeze(rows, [1])
    in_y, in_x = _between(t, places, low_y, high_y), _between(t, columns, low_x, high_x)
    on_y, on_x = _either(t, places, low_y, high_y), _either(t, columns, low_x, high_x)
    edge = op.And(op.And(in_y, in_x), op.Or(on_y, on_x))
    edge = op.And(edge, _is_drawn(t, (low_y, high_y, size_at(t, images, 1)), (low_x, high_x, size_at(t, images, 2))))
    numbers = op.Unsqueeze(_counted(t, boxes, 1), [1, 2])
    last = op.ReduceMax(op.Where(edge, numbers, op.const(np.array(-1))), [1], keepdims=0)
    turn = op.Mod(op.Max(last, [0]), size_at(t, colours, 0))
    paint = op.Slice(op.Gather(colours, turn, axis=0), [0], [channels], [3])
    return op.Where(op.Unsqueeze(op.Greater(last, [-1]), [3]), t.cast(paint, t.dtype(images)), images)


def _counted(t: Translation, value: ir.Value, axis: int) -> ir.Value:
    return t.op.Range(0, t.op.Squeeze(size_at(t, value, axis)), 1)


def _edges(t: Translation, low: ir.Value, high: ir.Value, count: ir.Value) -> tuple[ir.Value, ir.Value]:
    """In pixels, cut off towards zero."""
    reach = t.op.Sub(as_float(t, count), number(t, 1))
    first, last = (index_of(t, t.op.Mul(as_float(t, edge), reach)) for edge in (low, high))
    return first, last


def _between(t: Translation, place: ir.Value, low: ir.Value, high: ir.Value) -> ir.Value:
    return t.op.And(t.op.GreaterOrEqual(place, low), t.op.LessOrEqual(place, high))


def _either(t: Translation, place: ir.Value, low: ir.Value, high: ir.Value) -> ir.Value:
    return t.op.Or(t.op.Equal(place, low), t.op.Equal(place, high))


def _is_drawn(t: Translation, *axes: tuple[ir.Value, ir.Value, ir.Value]) -> ir.Value:
    """Boxes that are turned inside out, or that lie outside of the image, are left out."""
    op = t.op
    fits = [
        op.And(op.LessOrEqual(low, high), op.And(op.Less(low, count), op.GreaterOrEqual(high, [0])))
        for low, high, count in axes
    ]
    return op.And(*fits)
