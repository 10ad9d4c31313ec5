"""Sums and products that run along an axis."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_TERMS, accumulation
from trueport.formulas.images.spatial import size_at
from trueport.formulas.indexing.indices import integer_of
from trueport.formulas.numeric import log1p
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []

_NARROW = {ir.DataType.INT8, ir.DataType.INT16, ir.DataType.UINT8, ir.DataType.UINT16}


@maps("Cumsum", domain=TF, error=accumulation(against=AGAINST_TERMS))
def cumsum(t: Translation, x: ir.Value, axis: ir.Value, *, exclusive: bool, reverse: bool) -> ir.Value:
    return _running(t, "CumSum", x, axis, exclusive, reverse)


@maps("Cumprod", domain=TF, error=accumulation())
def cumprod(t: Translation, x: ir.Value, axis: ir.Value, *, exclusive: bool, reverse: bool) -> ir.Value:
    return _running(t, "CumProd", x, axis, exclusive, reverse)


def _running(t: Translation, kind: str, x: ir.Value, axis: ir.Value, exclusive: bool, reverse: bool) -> ir.Value:
    # ONNX has no narrow integers here; a wider one overflows to the same low bits.
    data = t.op.Cast(x, to=ir.DataType.INT32) if x.dtype in _NARROW else x
    options = {"exclusive": int(exclusive) or None, "reverse": int(reverse) or None}
    return t.cast(t.op.add(kind, [data, t.int64(axis)], options), t.dtype(x))


@maps("CumulativeLogsumexp", domain=TF, error=accumulation())
def cumulative_logsumexp(t: Translation, x: ir.Value, axis: ir.Value, *, exclusive: bool, reverse: bool) -> ir.Value:
    """A Scan: one maximum for all would lose what is far smaller than it."""
    rank = t.rank(x)
    along = integer_of(t, axis, "axis") % rank
    steps = t.dims(x)[along]
    # Along the first axis only, and joined instead of padded: ONNX Runtime 1.31 refuses a Scan of no steps, and ends
    # the process on a Pad of an empty tensor and on a Scan of one along another axis.
    order = [along, *(place for place in range(rank) if place != along)]
    first = t.op.Transpose(x, perm=order) if along else x
    if not steps:
        one_step = t.op.Concat(t.op.const(np.ones(1, np.int64)), t.op.Shape(first, start=1), axis=0)
        first = t.op.Concat(first, t.op.Expand(t.op.like(-np.inf, x), one_step), axis=0)
    made = _scanned_log_sums(t, first, exclusive, reverse)
    if not steps:
        made = t.op.Slice(made, [0], size_at(t, x, along), [0])
    return t.op.Transpose(made, perm=[order.index(place) for place in range(rank)]) if along else made


def _scanned_log_sums(t: Translation, x: ir.Value, exclusive: bool, reverse: bool) -> ir.Value:
    """Return the running sums along the first axis, which is not empty."""
    total, item = (
        ir.Value(name=name, type=ir.TensorType(t.dtype(x)), shape=ir.Shape(t.dims(x)[1:])) for name in ("total", "item")
    )
    body = t.inside([total, item])
    added = _log_add(body, total, item)
    graph = body.close([added, total if exclusive else added])
    start = t.op.Expand(t.op.like(-np.inf, x), t.op.Shape(x, start=1))
    made = t.op.several(2).Scan(
        start,
        x,
        body=graph,
        num_scan_inputs=1,
        scan_input_directions=[int(reverse)],
        scan_output_directions=[int(reverse)],
    )
    return made[1]


def _log_add(t: Translation, a: ir.Value, b: ir.Value) -> ir.Value:
    """log(exp(a) + exp(b)) of any size; two equal infinities give themselves."""
    top = t.op.Max(a, b)
    apart = t.op.Sub(t.op.Min(a, b), top)
    smaller = t.op.Where(t.op.Equal(a, b), t.op.like(0, a), apart)
    return t.op.Add(top, log1p(t, t.op.Exp(smaller)))
