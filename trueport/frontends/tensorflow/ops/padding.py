"""Borders around tensors."""

from __future__ import annotations

import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.formulas.images.borders import padded_by
from trueport.formulas.indexing.slices import FIRST
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Pad", domain=TF, fidelity=BITWISE)
def pad(t: Translation, input: ir.Value, paddings: ir.Value) -> ir.Value:
    return padded_by(t, input, paddings)


@maps("PadV2", domain=TF, fidelity=BITWISE)
def pad_v2(t: Translation, input: ir.Value, paddings: ir.Value, constant_values: ir.Value) -> ir.Value:
    return padded_by(t, input, paddings, constant_values)


@maps("MirrorPad", domain=TF, fidelity=BITWISE)
def mirror_pad(t: Translation, input: ir.Value, paddings: ir.Value, *, mode: str) -> ir.Value:
    if mode == "REFLECT":
        return padded_by(t, input, paddings, mode="reflect")
    made = input
    for axis, (before, after) in enumerate(t.need(paddings, "paddings").tolist()):
        made = _mirrored(t, made, axis, before, after)
    return made


def _mirrored(t: Translation, value: ir.Value, axis: int, before: int, after: int) -> ir.Value:
    """An axis with its first and last elements once more, turned; ONNX mirrors without repeating the outermost."""
    pieces = [value]
    if before:
        pieces.insert(0, t.op.Slice(value, [before - 1], [FIRST], [axis], [-1]))
    if after:
        pieces.append(t.op.Slice(value, [-1], [-after - 1], [axis], [-1]))
    return t.op.Concat(*pieces, axis=axis) if len(pieces) > 1 else value
