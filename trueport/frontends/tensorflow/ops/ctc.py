"""Decoding of connectionist temporal classification."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import accumulation
from trueport.formulas.indexing.indices import joined, positions, size_of
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("CTCGreedyDecoder", domain=TF, error=accumulation())
def ctc_greedy_decoder(
    t: Translation, inputs: ir.Value, sequence_length: ir.Value, *, merge_repeated: bool, blank_index: int
) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value]:
    """The likeliest class of each step; repeated ones and blanks are left out, and so is what is past the end."""
    classes = size_of(t, inputs, 2)
    best = t.op.Transpose(t.op.ArgMax(inputs, axis=2, keepdims=0), perm=[1, 0])
    steps = positions(t, size_of(t, inputs, 0))
    running = t.op.Less(steps, t.op.Unsqueeze(t.int64(sequence_length), [1]))
    blank = t.op.Add(classes, blank_index) if blank_index < 0 else t.op.const(np.array([blank_index], np.int64))
    kept = t.op.And(running, t.op.Not(t.op.Equal(best, blank)))
    if merge_repeated:
        before = t.op.Slice(t.op.Pad(best, [0, 1, 0, 0], np.array(-1, np.int64)), [0], [-1], [1])
        kept = t.op.And(kept, t.op.Not(t.op.Equal(best, before)))
    counted = t.op.CumSum(t.int64(kept), np.int64(1))
    found = t.op.Transpose(t.op.NonZero(kept), perm=[1, 0])
    place = t.op.Sub(t.op.GatherND(counted, found), np.array(1, np.int64))
    indices = t.op.Concat(t.op.Slice(found, [0], [1], [1]), t.op.Unsqueeze(place, [1]), axis=1)
    most = t.op.ReduceMax(t.op.Concat([0], t.op.Reshape(counted, [-1]), axis=0), [0], keepdims=1)
    likely = t.op.Transpose(t.op.ReduceMax(inputs, [2], keepdims=0), perm=[1, 0])
    total = t.op.ReduceSum(t.op.Where(running, likely, t.op.like(0, likely)), [1], keepdims=1)
    shape = joined(t, [size_of(t, inputs, 1), most])
    return indices, t.op.GatherND(best, found), shape, t.op.Neg(total)
