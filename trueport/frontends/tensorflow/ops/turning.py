"""Elements in another order along an axis: reversed or rolled."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.formulas.indexing.shapes import Element, Item, dim_elements, elements, vector
from trueport.formulas.indexing.slices import FIRST, LAST, Span, sliced
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("ReverseV2", domain=TF, fidelity=BITWISE)
def reverse_v2(t: Translation, tensor: ir.Value, axis: ir.Value) -> ir.Value:
    axes = [int(number) % t.rank(tensor) for number in t.need(axis, "axis")]
    return _reversed(t, tensor, axes)


@maps("Reverse", domain=TF, fidelity=BITWISE)
def reverse(t: Translation, tensor: ir.Value, dims: ir.Value) -> ir.Value:
    return _reversed(t, tensor, np.flatnonzero(t.need(dims, "dims")).tolist())


def _reversed(t: Translation, value: ir.Value, axes: list[int]) -> ir.Value:
    return sliced(t, value, [Span(axis, LAST, FIRST, -1) for axis in axes])


@maps("ReverseSequence", domain=TF, fidelity=BITWISE)
def reverse_sequence(
    t: Translation, input: ir.Value, seq_lengths: ir.Value, *, seq_dim: int, batch_dim: int
) -> ir.Value:
    batch, time, lengths = batch_dim % t.rank(input), seq_dim % t.rank(input), t.int64(seq_lengths)
    if {batch, time} == {0, 1}:
        return t.op.ReverseSequence(input, lengths, batch_axis=batch, time_axis=time)
    order = [time, batch, *(axis for axis in range(t.rank(input)) if axis not in (time, batch))]
    turned = t.op.ReverseSequence(t.op.Transpose(input, perm=order), lengths, batch_axis=1, time_axis=0)
    return t.op.Transpose(turned, perm=np.argsort(order).tolist())


@maps("Roll", domain=TF, fidelity=BITWISE)
def roll(t: Translation, input: ir.Value, shift: ir.Value, axis: ir.Value) -> ir.Value:
    shifts = elements(shift)
    if shifts is None:
        raise t.fail("the number of axes that are rolled is not known", "roll by shifts of a fixed number")
    made = input
    for along, by in zip(t.need(axis, "axis").ravel().tolist(), shifts, strict=True):
        made = _rolled(t, made, along % t.rank(input), by)
    return made


def _rolled(t: Translation, value: ir.Value, axis: int, shift: Element) -> ir.Value:
    dim = dim_elements(t, value)[axis]
    if isinstance(dim, int) and isinstance(shift, int):
        cut: Element = -shift % max(dim, 1)
    else:
        length = t.op.Max(vector(t, [dim]), [1])
        cut = Item(t.op.Mod(t.op.Neg(vector(t, [shift])), length), 0)
    if cut == 0:
        return value
    parts = [sliced(t, value, [Span(axis, cut, LAST)]), sliced(t, value, [Span(axis, 0, cut)])]
    return t.op.Concat(*parts, axis=axis)
