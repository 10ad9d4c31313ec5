"""TensorFlow's sparse specification of a strided slice, resolved to axes of the input and of the result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from trueport.formulas.indexing.shapes import Element, Item, dim_elements, vector
from trueport.formulas.writer import Writer

__all__ = ["FIRST", "LAST", "Masks", "Pick", "Span", "Spec", "after", "resolved", "sliced"]

LAST = int(np.iinfo(np.int64).max)
"""An end that is beyond all elements."""
FIRST = int(np.iinfo(np.int64).min)
"""An end before all elements, for slices that run backwards."""


@dataclass(frozen=True)
class Span:
    """Elements of one axis of the input, from ``begin`` to ``end``, as ONNX's Slice counts them."""

    axis: int
    begin: Element
    end: Element
    step: Element = 1


@dataclass(frozen=True)
class Pick:
    """One element of an axis, which goes."""

    axis: int
    index: Element


@dataclass(frozen=True)
class Spec:
    """What a strided slice does: spans and picks by the input's axes, new axes by the result's."""

    spans: tuple[Span, ...]
    picks: tuple[Pick, ...]
    new_axes: tuple[int, ...]


@dataclass(frozen=True)
class Masks:
    """The bits of a strided slice, one per entry of its specification."""

    begin: int
    end: int
    ellipsis: int
    new_axis: int
    shrink_axis: int


def resolved(
    t: Writer,
    value: ir.Value,
    masks: Masks,
    bounds: tuple[Sequence[Element], Sequence[Element], Sequence[Element]],
) -> Spec:
    """A specification (begin, end, strides) by axes; an ellipsis wins over a new axis, that over a shrunk one."""
    begin, end, strides = bounds
    spans: list[Span] = []
    picks: list[Pick] = []
    new_axes: list[int] = []
    kept = 0
    for entry, axis in _entries(masks, len(begin), t.rank(value)):
        if isinstance(axis, range):
            kept += len(axis)
        elif axis is None:
            new_axes.append(kept)
            kept += 1
        elif masks.shrink_axis >> entry & 1:
            picks.append(Pick(axis, begin[entry]))
        else:
            step = strides[entry]
            first = _by_sign(t, step, 0, -1) if masks.begin >> entry & 1 else begin[entry]
            last = _by_sign(t, step, LAST, FIRST) if masks.end >> entry & 1 else end[entry]
            spans.append(Span(axis, first, last, step))
            kept += 1
    needed = [span for span in spans if not _is_whole(span, t.dims(value)[span.axis])]
    return Spec(tuple(needed), tuple(picks), tuple(new_axes))


def _by_sign(t: Writer, step: Element, forwards: int, backwards: int) -> Element:
    if isinstance(step, int):
        return backwards if step < 0 else forwards
    return Item(t.op.Where(t.op.Less(vector(t, [step]), [0]), [backwards], [forwards]), 0)


def _entries(masks: Masks, count: int, rank: int) -> Iterator[tuple[int, int | range | None]]:
    """Each entry of a specification with the axis it speaks of: None for a new one, a range for an ellipsis."""
    axis = 0
    seen_ellipsis = False
    for entry in range(count):
        if masks.ellipsis >> entry & 1 and not seen_ellipsis:
            seen_ellipsis = True
            later = range(entry + 1, count)
            taken = sum(not masks.new_axis >> other & 1 for other in later)
            stop = max(axis, rank - taken)
            yield entry, range(axis, stop)
            axis = stop
        elif masks.new_axis >> entry & 1:
            yield entry, None
        else:
            yield entry, axis
            axis += 1


def _is_whole(span: Span, dim: int | None) -> bool:
    covers = span.end == LAST or (dim is not None and isinstance(span.end, int) and span.end >= dim)
    return span.step == 1 and span.begin == 0 and covers


def sliced(t: Writer, value: ir.Value, spans: Sequence[Span]) -> ir.Value:
    """The spans of a value, by one Slice."""
    if not spans:
        return value
    return t.op.Slice(
        value,
        vector(t, [span.begin for span in spans]),
        vector(t, [_end(t, value, span) for span in spans]),
        [span.axis for span in spans],
        None if all(span.step == 1 for span in spans) else vector(t, [span.step for span in spans]),
    )


def _end(t: Writer, value: ir.Value, span: Span) -> Element:
    """Where a span ends: at once, where it goes backwards from before the first element.

    ONNX would start at the first element then; TensorFlow takes nothing.
    """
    dim = dim_elements(t, value)[span.axis]
    if (isinstance(span.step, int) and span.step > 0) or (isinstance(span.begin, int) and span.begin >= -1):
        return span.end
    if isinstance(span.begin, int) and isinstance(dim, int) and isinstance(span.step, int):
        return 0 if span.begin + dim < 0 else span.end
    too_early = t.op.Less(t.op.Add(vector(t, [span.begin]), vector(t, [dim])), [0])
    if not isinstance(span.step, int):
        too_early = t.op.And(too_early, t.op.Less(vector(t, [span.step]), [0]))
    return Item(t.op.Where(too_early, [0], vector(t, [span.end])), 0)


def after(t: Writer, index: Element) -> Element:
    """The index behind another one; behind the last, counted from the end, is the end."""
    if isinstance(index, int):
        return LAST if index in (-1, LAST) else index + 1
    known = vector(t, [index])
    return Item(t.op.Where(t.op.Equal(known, [-1]), [LAST], t.op.Add(known, [1])), 0)
