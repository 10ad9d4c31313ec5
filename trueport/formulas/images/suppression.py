"""Choosing boxes by their scores while those that overlap with a chosen one are suppressed."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.formulas.images.sampling import as_float, number
from trueport.formulas.writer import Writer

__all__ = ["padded_to", "selected", "softly_selected"]

_GONE = -np.inf
"""The score of a box that can no longer be chosen."""


def selected(
    t: Writer,
    boxes: ir.Value,
    scores: ir.Value,
    most: ir.Value,
    overlap: ir.Value,
    least: ir.Value | None,
) -> ir.Value:
    """The places of the chosen boxes, best first, as ONNX's operator gives them for one image and one class."""
    limit = t.op.Reshape(t.int64(most), [1])
    chosen = t.op.NonMaxSuppression(
        t.op.Unsqueeze(as_float(t, boxes), [0]),
        t.op.Unsqueeze(as_float(t, scores), [0, 1]),
        limit,
        as_float(t, overlap),
        None if least is None else as_float(t, least),
    )
    return t.op.Squeeze(t.op.Slice(chosen, [2], [3], [1]), [1])


def padded_to(t: Writer, values: ir.Value, size: ir.Value) -> ir.Value:
    """As many elements as asked for, zeros at the end."""
    missing = t.op.Sub(t.op.Reshape(t.int64(size), [1]), t.op.Shape(values))
    return t.op.Pad(values, t.op.Concat([0], missing, axis=0))


def softly_selected(
    t: Writer,
    boxes: ir.Value | None,
    scores: ir.Value,
    most: ir.Value,
    overlap: ir.Value,
    least: ir.Value,
    sigma: float | None,
    *,
    overlaps: ir.Value | None = None,
) -> tuple[ir.Value, ir.Value]:
    """The chosen boxes and their scores by a loop: each choice lowers the scores of those that overlap with it.

    By how much, ``sigma`` says; without it they are not lowered but gone once they overlap by more than the limit.
    """
    start, limit = as_float(t, scores), as_float(t, overlap)
    counted = t.op.Min(t.op.Squeeze(t.op.Shape(scores)), t.op.Squeeze(t.int64(most)))
    floor = as_float(t, least)
    any_left = _any_left(t, start, floor)
    body = t.inside(_arguments(start))
    _, _, left = body.op.graph.inputs
    best = body.op.ArgMax(left, axis=0, keepdims=1)
    score = body.op.Gather(left, best, axis=0)
    shared = _overlaps(body, boxes, best) if overlaps is None else _column(body, overlaps, best)
    lowered = _lowered(body, left, shared, limit, sigma)
    after = _without(body, lowered, best)
    graph = body.close([_any_left(body, after, floor), after, body.op.Squeeze(best), body.op.Squeeze(score)])
    _, chosen, kept = _loop(t, counted, any_left, start, graph)
    return chosen, t.cast(kept, t.dtype(scores))


def _arguments(start: ir.Value) -> list[ir.Value]:
    return [
        ir.Value(name="step", type=ir.TensorType(ir.DataType.INT64), shape=ir.Shape([])),
        ir.Value(name="go_on", type=ir.TensorType(ir.DataType.BOOL), shape=ir.Shape([])),
        ir.Value(name="left", type=ir.TensorType(ir.DataType.FLOAT), shape=start.shape),
    ]


def _loop(t: Writer, count: ir.Value, go_on: ir.Value, start: ir.Value, body: ir.Graph) -> tuple[Any, Any, Any]:
    last, chosen, kept = t.op.several(3).Loop(count, go_on, start, body=body)
    for value, dtype in ((chosen, ir.DataType.INT64), (kept, ir.DataType.FLOAT)):
        value.type, value.shape = ir.TensorType(dtype), ir.Shape([None])
    return last, chosen, kept


def _any_left(t: Writer, scores: ir.Value, floor: ir.Value) -> ir.Value:
    lowest = t.op.const(np.array([_GONE], np.float32))
    best = t.op.ReduceMax(t.op.Concat(scores, lowest, axis=0), keepdims=0)
    return t.op.Greater(best, floor)


def _without(t: Writer, scores: ir.Value, place: ir.Value) -> ir.Value:
    return t.op.ScatterElements(scores, place, np.array([_GONE], np.float32), axis=0)


def _column(t: Writer, overlaps: ir.Value, place: ir.Value) -> ir.Value:
    """Of all with the chosen one; that need not be what the chosen one has with all."""
    return t.op.Squeeze(t.op.Gather(overlaps, place, axis=1), [1])


def _overlaps(t: Writer, boxes: ir.Value | None, place: ir.Value) -> ir.Value:
    """How much each box shares with one of them: intersection over union, 0 where a box has no area."""
    assert boxes is not None
    every = as_float(t, boxes)
    one = t.op.Gather(every, place, axis=0)
    low, high = _corners(t, every)
    own_low, own_high = _corners(t, one)
    zero = number(t, 0)
    sides = t.op.Max(t.op.Sub(t.op.Min(high, own_high), t.op.Max(low, own_low)), zero)
    shared = _product(t, sides)
    area, own = (_product(t, t.op.Sub(*pair)) for pair in ((high, low), (own_high, own_low)))
    whole = t.op.Sub(t.op.Add(area, own), shared)
    real = t.op.And(t.op.Greater(area, zero), t.op.Greater(own, zero))
    return t.op.Where(real, t.op.Div(shared, whole), zero)


def _corners(t: Writer, boxes: ir.Value) -> tuple[ir.Value, ir.Value]:
    one, other = (t.op.Slice(boxes, [edge], [edge + 2], [1]) for edge in (0, 2))
    return t.op.Min(one, other), t.op.Max(one, other)


def _product(t: Writer, sides: ir.Value) -> ir.Value:
    return t.op.ReduceProd(sides, [1], keepdims=0)


def _lowered(t: Writer, scores: ir.Value, shared: ir.Value, limit: ir.Value, sigma: float | None) -> ir.Value:
    allowed = t.op.LessOrEqual(shared, limit)
    if sigma is None:
        return t.op.Where(allowed, scores, number(t, _GONE))
    weight = t.op.Exp(t.op.Mul(number(t, -0.5 / sigma), t.op.Mul(shared, shared)))
    softened = t.op.Mul(scores, t.op.Where(allowed, weight, number(t, 0)))
    return t.op.Where(t.op.IsInf(scores), scores, softened)
