"""Parts of tensors by ranges of indices."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.formulas.indexing.shapes import (
    Dim,
    Element,
    Item,
    dim_elements,
    dim_vector,
    elements,
    reshaped,
    vector,
)
from trueport.formulas.indexing.slices import LAST, Masks, Pick, Span, Spec, after, resolved, sliced
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.frontends.tensorflow.translate.values import Translated
from trueport.frontends.tensorflow.translate.variables import read_variable, write_variable
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("StridedSlice", domain=TF, fidelity=BITWISE)
def strided_slice(
    t: Translation,
    input: ir.Value,
    begin: ir.Value,
    end: ir.Value,
    strides: ir.Value,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> ir.Value:
    masks = Masks(begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    return _strided(t, input, begin, end, strides, masks)


def _strided(
    t: Translation, input: ir.Value, begin: ir.Value, end: ir.Value, strides: ir.Value, masks: Masks
) -> ir.Value:
    bounds = (begin, end, strides)
    count = next((dim for bound in bounds if bound.shape is not None for dim in bound.shape), None)
    for bound in bounds:
        if bound.shape is None:  # TensorFlow takes three vectors of one length
            bound.shape = ir.Shape([count])
    spec = resolved(t, input, masks, (_entries(t, begin), _entries(t, end), _entries(t, strides)))
    made = _taken(t, input, spec)
    return t.op.Unsqueeze(made, list(spec.new_axes)) if spec.new_axes else made


@maps("Slice", domain=TF, fidelity=BITWISE)
def slice_(t: Translation, input: ir.Value, begin: ir.Value, size: ir.Value) -> ir.Value:
    starts, sizes, dims = _entries(t, begin), _entries(t, size), t.dims(input)
    known = t.output_shape() or (None,) * len(dims)
    spans = []
    for axis, (start, count, dim) in enumerate(zip(starts, sizes, dims, strict=True)):
        length = count if count == -1 or known[axis] is None else known[axis]
        if start != 0 or not (length == -1 or (length is not None and length == dim)):
            spans.append(Span(axis, start, _end(t, start, count if length is None else length)))
    return sliced(t, input, spans)


@maps("TensorStridedSliceUpdate", domain=TF, fidelity=BITWISE)
def tensor_strided_slice_update(
    t: Translation,
    input: ir.Value,
    begin: ir.Value,
    end: ir.Value,
    strides: ir.Value,
    value: ir.Value,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> ir.Value:
    masks = Masks(begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    return _updated(t, input, (begin, end, strides), masks, value)


@maps("ResourceStridedSliceAssign", domain=TF, fidelity=BITWISE)
def resource_strided_slice_assign(
    t: Translation,
    ref: Translated,
    begin: ir.Value,
    end: ir.Value,
    strides: ir.Value,
    value: ir.Value,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> None:
    masks = Masks(begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    before = read_variable(t, ref, t.dtype(value))
    write_variable(t, ref, _updated(t, before, (begin, end, strides), masks, value))


def _updated(
    t: Translation, input: ir.Value, bounds: tuple[ir.Value, ir.Value, ir.Value], masks: Masks, value: ir.Value
) -> ir.Value:
    """The input with a value, broadcast, in place of a strided slice of it."""
    dims = t.dims(input)
    count = t.op.Size(input) if None in dims else math.prod(dim or 0 for dim in dims)
    # The slice of a tensor that holds its own indices says which elements the value takes the place of.
    hit = _strided(t, reshaped(t, t.op.Range(0, count, 1), dim_elements(t, input)), *bounds, masks)
    known = t.dims(value) == t.dims(hit) and None not in t.dims(hit)
    update = value if known else t.op.Expand(value, dim_vector(t, hit))
    flat = [t.op.Reshape(part, [-1]) for part in (input, hit, update)]
    return reshaped(t, t.op.ScatterElements(*flat, axis=0), dim_elements(t, input))


@maps("XlaDynamicUpdateSlice", domain=TF, fidelity=BITWISE)
def xla_dynamic_update_slice(t: Translation, input: ir.Value, update: ir.Value, indices: ir.Value) -> ir.Value:
    starts, dims, sizes = _entries(t, indices), dim_elements(t, input), dim_elements(t, update)
    spans = [
        _window(t, axis, start, dim, size)
        for axis, (start, dim, size) in enumerate(zip(starts, dims, sizes, strict=True))
        if not (isinstance(dim, int) and dim == size)
    ]
    return _overwritten(t, input, spans, update)


def _window(t: Translation, axis: int, start: Element, dim: Element, size: Element) -> Span:
    """Where an update goes: moved back as far as it needs to fit."""
    if isinstance(start, int) and isinstance(dim, int) and isinstance(size, int):
        begin = max(0, min(start, dim - size))
        return Span(axis, begin, begin + size)
    room = t.op.Sub(vector(t, [dim]), vector(t, [size]))
    first = t.op.Max(t.op.Min(vector(t, [start]), room), [0]) if start != 0 else t.op.const(np.zeros(1, np.int64))
    return Span(axis, 0 if start == 0 else Item(first, 0), Item(t.op.Add(first, vector(t, [size])), 0))


def _overwritten(t: Translation, value: ir.Value, spans: Sequence[Span], update: ir.Value) -> ir.Value:
    """The value with an update in place of what the spans cover."""
    if not spans:
        return update
    span, *others = spans
    inner = _overwritten(t, sliced(t, value, [span]), others, update) if others else update
    before = [] if span.begin == 0 else [sliced(t, value, [Span(span.axis, 0, span.begin)])]
    return t.op.Concat(*before, inner, sliced(t, value, [Span(span.axis, span.end, LAST)]), axis=span.axis)


def _entries(t: Translation, bounds: ir.Value) -> list[Element]:
    found = elements(bounds)
    if found is None:
        raise t.fail("the number of axes that are sliced is not known", "slice with bounds of a fixed number of axes")
    return found


def _taken(t: Translation, value: ir.Value, spec: Spec) -> ir.Value:
    """Spans and picks, without the axes of the picks: known picks are spans of one element, others are gathered."""
    # ONNX Runtime (1.31) gathers only the first of the strings that stand behind an index.
    may_gather = t.dtype(value) != ir.DataType.STRING
    alone = not spec.spans and len(spec.picks) == 1
    gathered = [pick for pick in spec.picks if may_gather and (alone or not isinstance(pick.index, int))]
    others = [pick for pick in spec.picks if pick not in gathered]
    singles = [Span(pick.axis, pick.index, after(t, pick.index)) for pick in others]
    made = sliced(t, value, sorted([*spec.spans, *singles], key=lambda span: span.axis))
    for pick in sorted(gathered, key=lambda pick: -pick.axis):
        made = _gathered(t, made, pick)
    axes = [pick.axis - sum(gone.axis < pick.axis for gone in gathered) for pick in others]
    return t.op.Squeeze(made, axes) if axes else made


def _gathered(t: Translation, value: ir.Value, pick: Pick) -> ir.Value:
    match pick.index:
        case int():
            index: ir.Value | int = pick.index
        case Item(scalar, _) if not t.rank(scalar):
            index = t.int64(scalar)
        case _:
            index = t.op.Squeeze(vector(t, [pick.index]), [0])
    return t.op.Gather(value, index, axis=pick.axis)


def _end(t: Translation, start: Element, count: Element) -> Element:
    """Where a part of ``count`` elements ends; a count of -1 means all that follow."""
    if count == -1:
        return LAST
    if isinstance(start, int) and isinstance(count, int):
        return start + count
    if start == 0 and isinstance(count, Dim):
        return count
    sizes = vector(t, [count])
    stop = t.op.Add(vector(t, [start]), sizes)
    if isinstance(count, Item):
        stop = t.op.Where(t.op.Less(sizes, [0]), [LAST], stop)
    return Item(stop, 0)
