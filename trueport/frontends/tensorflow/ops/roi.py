"""Regions of images: cropping, and choosing among boxes."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_PLACES, BITWISE, accumulation
from trueport.formulas.images.sampling import Pixels, as_float, index_of, number, rounded, within
from trueport.formulas.images.spatial import size_at
from trueport.formulas.images.suppression import padded_to, selected, softly_selected
from trueport.formulas.indexing.indices import shaped
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("CropAndResize", domain=TF, error=accumulation(16, 8, against=AGAINST_PLACES))
def crop_and_resize(
    t: Translation,
    image: ir.Value,
    boxes: ir.Value,
    box_ind: ir.Value,
    crop_size: ir.Value,
    *,
    method: str,
    extrapolation_value: float,
) -> ir.Value:
    sizes = [int(size) for size in t.need(crop_size, "crop_size")]
    pixels = Pixels(t, as_float(t, image))
    counts = pixels.height, pixels.width
    # Places of shape (boxes, rows, 1) and (boxes, 1, columns).
    y, x = (t.op.Unsqueeze(_crop_places(t, boxes, axis, sizes[axis], counts[axis]), [2 - axis]) for axis in (0, 1))
    inside = t.op.And(within(t, y, pixels.height), within(t, x, pixels.width))
    which = t.op.Unsqueeze(index_of(t, box_ind), [1, 2])
    zero = number(t, 0)
    y, x = t.op.Where(inside, y, zero), t.op.Where(inside, x, zero)
    if method == "nearest":
        taken = pixels.at(which, index_of(t, rounded(t, y)), index_of(t, rounded(t, x)))
    else:
        taken = _bilinear(t, pixels, which, y, x)
    return t.op.Where(t.op.Unsqueeze(inside, [3]), taken, number(t, extrapolation_value))


def _crop_places(t: Translation, boxes: ir.Value, axis: int, size: int, count: ir.Value) -> ir.Value:
    """Where in the image the rows (or columns) of each crop lie: (boxes, size)."""
    first, last = (t.op.Slice(boxes, [edge], [edge + 1], [1]) for edge in (axis, axis + 2))
    reach = t.op.Sub(as_float(t, count), number(t, 1))
    if size == 1:
        return t.op.Mul(t.op.Mul(number(t, 0.5), t.op.Add(first, last)), reach)
    scale = t.op.Div(t.op.Mul(t.op.Sub(last, first), reach), number(t, size - 1))
    return t.op.Add(t.op.Mul(first, reach), t.op.Mul(np.arange(size, dtype=np.float32), scale))


def _bilinear(t: Translation, pixels: Pixels, which: ir.Value, y: ir.Value, x: ir.Value) -> ir.Value:
    top, bottom, left, right = t.op.Floor(y), t.op.Ceil(y), t.op.Floor(x), t.op.Ceil(x)
    down, along = (t.op.Unsqueeze(t.op.Sub(place, floor), [3]) for place, floor in ((y, top), (x, left)))

    def row(at: ir.Value) -> ir.Value:
        one, other = (pixels.at(which, index_of(t, at), index_of(t, column)) for column in (left, right))
        return t.op.Add(one, t.op.Mul(t.op.Sub(other, one), along))

    above, below = row(top), row(bottom)
    return t.op.Add(above, t.op.Mul(t.op.Sub(below, above), down))


@maps("NonMaxSuppression", domain=TF, fidelity=BITWISE)
def non_max_suppression(
    t: Translation, boxes: ir.Value, scores: ir.Value, max_output_size: ir.Value, *, iou_threshold: float
) -> ir.Value:
    return t.cast(selected(t, boxes, scores, max_output_size, number(t, iou_threshold), None), ir.DataType.INT32)


@maps("NonMaxSuppressionV2", domain=TF, fidelity=BITWISE)
def non_max_suppression_v2(
    t: Translation, boxes: ir.Value, scores: ir.Value, max_output_size: ir.Value, iou_threshold: ir.Value
) -> ir.Value:
    return t.cast(selected(t, boxes, scores, max_output_size, iou_threshold, None), ir.DataType.INT32)


@maps("NonMaxSuppressionV3", domain=TF, fidelity=BITWISE)
def non_max_suppression_v3(
    t: Translation,
    boxes: ir.Value,
    scores: ir.Value,
    max_output_size: ir.Value,
    iou_threshold: ir.Value,
    score_threshold: ir.Value,
) -> ir.Value:
    return t.cast(selected(t, boxes, scores, max_output_size, iou_threshold, score_threshold), ir.DataType.INT32)


@maps("NonMaxSuppressionV4", domain=TF, fidelity=BITWISE)
def non_max_suppression_v4(
    t: Translation,
    boxes: ir.Value,
    scores: ir.Value,
    max_output_size: ir.Value,
    iou_threshold: ir.Value,
    score_threshold: ir.Value,
    *,
    pad_to_max_output_size: bool,
) -> tuple[ir.Value, ir.Value]:
    chosen = t.cast(selected(t, boxes, scores, max_output_size, iou_threshold, score_threshold), ir.DataType.INT32)
    count = t.cast(t.op.Size(chosen), ir.DataType.INT32)
    return (padded_to(t, chosen, max_output_size) if pad_to_max_output_size else chosen), count


@maps("NonMaxSuppressionV5", domain=TF, error=accumulation(8))
def non_max_suppression_v5(
    t: Translation,
    boxes: ir.Value,
    scores: ir.Value,
    max_output_size: ir.Value,
    iou_threshold: ir.Value,
    score_threshold: ir.Value,
    soft_nms_sigma: ir.Value,
    *,
    pad_to_max_output_size: bool,
) -> tuple[ir.Value, ir.Value, ir.Value]:
    sigma = float(t.need(soft_nms_sigma, "soft_nms_sigma"))
    if sigma > 0:
        chosen, kept = softly_selected(t, boxes, scores, max_output_size, iou_threshold, score_threshold, sigma)
    else:
        chosen = selected(t, boxes, scores, max_output_size, iou_threshold, score_threshold)
        kept = t.op.Gather(scores, chosen, axis=0)
    indices = t.cast(chosen, ir.DataType.INT32)
    count = t.cast(t.op.Size(indices), ir.DataType.INT32)
    if pad_to_max_output_size:
        indices, kept = padded_to(t, indices, max_output_size), padded_to(t, kept, max_output_size)
    return indices, kept, count


@maps("CombinedNonMaxSuppression", domain=TF, fidelity=BITWISE)
def combined_non_max_suppression(
    t: Translation,
    boxes: ir.Value,
    scores: ir.Value,
    max_output_size_per_class: ir.Value,
    max_total_size: ir.Value,
    iou_threshold: ir.Value,
    score_threshold: ir.Value,
    *,
    pad_per_class: bool,
    clip_boxes: bool,
) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value]:
    batch, count, classes = (size_at(t, scores, axis) for axis in (0, 1, 2))
    by_class = t.op.Transpose(scores, perm=[0, 2, 1])
    chosen = _by_class(t, boxes, by_class, max_output_size_per_class, iou_threshold, score_threshold)
    # All candidates of an image in one row; those that were not chosen fall behind all that were.
    lowest = float(np.finfo(np.float32).min)
    row = t.op.Mul(classes, count)
    kept = t.op.GatherND(by_class, chosen)
    shape = t.op.Concat(batch, classes, count, axis=0)
    empty = t.op.ConstantOfShape(shape, value=ir.tensor(np.array([lowest], np.float32)))
    dense = shaped(t, t.op.ScatterND(empty, chosen, kept), t.op.Concat(batch, row, axis=0))
    total = t.op.Reshape(t.int64(max_total_size), [1])
    if pad_per_class:
        total = t.op.Min(total, t.op.Mul(t.op.Reshape(t.int64(max_output_size_per_class), [1]), classes))
    short = t.op.Max(t.op.Sub(total, row), [0])
    wide = t.op.Pad(dense, t.op.Concat([0, 0, 0], short, axis=0), number(t, lowest))
    best, places = t.op.several(2).TopK(wide, total, axis=1)
    real = t.op.Greater(best, number(t, lowest))
    places = t.op.Where(real, places, t.op.const(np.array(0)))
    kind, place = t.op.Div(places, count), t.op.Mod(places, count)
    zero = number(t, 0)
    found = _boxes_at(t, boxes, kind, place)
    found = t.op.Clip(found, zero, number(t, 1)) if clip_boxes else found
    return (
        t.op.Where(t.op.Unsqueeze(real, [2]), found, zero),
        t.op.Where(real, best, zero),
        t.op.Where(real, as_float(t, kind), zero),
        t.cast(t.op.ReduceSum(t.cast(real, ir.DataType.INT32), [1], keepdims=0), ir.DataType.INT32),
    )


def _by_class(
    t: Translation, boxes: ir.Value, by_class: ir.Value, most: ir.Value, overlap: ir.Value, least: ir.Value
) -> ir.Value:
    """Image, class and box of each that is chosen; the same boxes serve all classes, or each has its own."""
    limit = t.op.Reshape(t.int64(most), [1])
    if t.dims(boxes)[2] == 1:
        return t.op.NonMaxSuppression(t.op.Squeeze(boxes, [2]), by_class, limit, overlap, least)
    if t.dims(boxes)[2] is None:
        raise t.fail("whether classes share their boxes is not known", "fix the boxes' third dim (tf.ensure_shape)")
    classes = size_at(t, by_class, 1)
    own = t.op.Reshape(t.op.Transpose(boxes, perm=[0, 2, 1, 3]), t.op.Concat([-1], size_at(t, boxes, 1), [4], axis=0))
    alone = t.op.Reshape(by_class, t.op.Concat([-1, 1], size_at(t, by_class, 2), axis=0))
    chosen = t.op.NonMaxSuppression(own, alone, limit, overlap, least)
    both, place = t.op.Slice(chosen, [0], [1], [1]), t.op.Slice(chosen, [2], [3], [1])
    return t.op.Concat(t.op.Div(both, classes), t.op.Mod(both, classes), place, axis=1)


def _boxes_at(t: Translation, boxes: ir.Value, kind: ir.Value, place: ir.Value) -> ir.Value:
    shared = t.dims(boxes)[2] == 1
    which = t.op.Mul(kind, [0]) if shared else kind
    return t.op.GatherND(boxes, t.op.Concat(*(t.op.Unsqueeze(v, [2]) for v in (place, which)), axis=2), batch_dims=1)


@maps("NonMaxSuppressionWithOverlaps", domain=TF, fidelity=BITWISE)
def non_max_suppression_with_overlaps(
    t: Translation,
    overlaps: ir.Value,
    scores: ir.Value,
    max_output_size: ir.Value,
    overlap_threshold: ir.Value,
    score_threshold: ir.Value,
) -> ir.Value:
    chosen, _ = softly_selected(
        t, None, scores, max_output_size, overlap_threshold, score_threshold, None, overlaps=overlaps
    )
    return t.cast(chosen, ir.DataType.INT32)
