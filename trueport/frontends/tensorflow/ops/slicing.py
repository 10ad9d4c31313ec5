"""Parts of tensors by ranges of indices."""

from __future__ import annotations

import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.frontends.tensorflow.context import Translation
from trueport.frontends.tensorflow.nodes import TF
from trueport.frontends.tensorflow.shapes import Dim, Element, Item, elements, vector
from trueport.frontends.tensorflow.slices import LAST, Masks, Pick, Span, Spec, resolved, sliced
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
    steps = [int(step) for step in t.need(strides, "strides")]
    spec = resolved(masks, _entries(t, begin), _entries(t, end), steps, t.dims(input))
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


def _entries(t: Translation, bounds: ir.Value) -> list[Element]:
    found = elements(bounds)
    if found is None:
        raise t.fail("the number of axes that are sliced is not known", "slice with bounds of a fixed number of axes")
    return found


def _taken(t: Translation, value: ir.Value, spec: Spec) -> ir.Value:
    """Spans and picks, without the axes of the picks: known picks are spans of one element, others are gathered."""
    if not spec.spans and len(spec.picks) == 1:
        return _gathered(t, value, spec.picks[0])
    known = [pick for pick in spec.picks if isinstance(pick.index, int)]
    singles = [Span(p.axis, p.index, LAST if p.index == -1 else p.index + 1) for p in known if isinstance(p.index, int)]
    made = sliced(t, value, sorted([*spec.spans, *singles], key=lambda span: span.axis))
    for pick in sorted(spec.picks, key=lambda pick: -pick.axis):
        if pick not in known:
            made = _gathered(t, made, pick)
    gone = [pick.axis for pick in spec.picks if pick not in known]
    axes = [pick.axis - sum(other < pick.axis for other in gone) for pick in known]
    return t.op.Squeeze(made, axes) if axes else made


def _gathered(t: Translation, value: ir.Value, pick: Pick) -> ir.Value:
    match pick.index:
        case int():
            index: ir.Value | int = pick.index
        case Item(scalar, _) if not t.rank(scalar):
            index = t.int64(scalar)
        case _:
            index = t.op.Squeeze(vector(t, [pick.index]), [0])
    made: ir.Value = t.op.Gather(value, index, axis=pick.axis)
    return made


def _end(t: Translation, start: Element, count: Element) -> Element:
    """Where a part of ``count`` elements ends; a count of -1 means all that follow."""
    if isinstance(start, int) and isinstance(count, int):
        return LAST if count == -1 else start + count
    if start == 0 and isinstance(count, Dim):
        return count
    sizes = vector(t, [count])
    stop = t.op.Add(vector(t, [start]), sizes)
    if isinstance(count, Item):
        stop = t.op.Where(t.op.Less(sizes, [0]), [LAST], stop)
    return Item(stop, 0)
