"""N-grams of ragged rows of strings."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.formulas.texts import word
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("StringNGrams", domain=TF, fidelity=BITWISE)
def string_ngrams(
    t: Translation,
    data: ir.Value,
    data_splits: ir.Value,
    *,
    separator: str,
    ngram_widths: list[int],
    left_pad: str,
    right_pad: str,
    pad_width: int,
    preserve_short_sequences: bool,
) -> tuple[ir.Value, ir.Value]:
    if preserve_short_sequences:
        raise t.fail(
            "gives a short row as one n-gram of another width",
            "leave preserve_short_sequences out; add n-grams of the smaller widths",
        )
    splits = t.int64(data_splits)
    starts, ends = t.op.Slice(splits, [0], [-1]), t.op.Slice(splits, [1], [np.iinfo(np.int64).max])
    lengths = t.op.Sub(ends, starts)
    tokens = t.op.Concat(data, np.array([left_pad, right_pad], object), axis=0)
    blocks, masks = [], []
    for width in ngram_widths:
        padding = min(width - 1, pad_width if pad_width >= 0 else width - 1)
        counts = t.op.Max(t.op.Add(lengths, t.op.const(np.array(2 * padding - width + 1))), t.op.const(np.array(0)))
        if padding:
            # A row without tokens has n-grams of padding, but not where all rows are without.
            counts = t.op.Mul(counts, t.op.Sign(t.op.Gather(t.op.Shape(data), 0)))
        most = t.op.ReduceMax(t.op.Concat(counts, [0], axis=0), keepdims=0)
        first = t.op.Range(0, most, 1)
        chosen = [_token_places(t, data, first, starts, lengths, step - padding) for step in range(width)]
        blocks.append(_joined(t, [t.op.Gather(tokens, place) for place in chosen], separator))
        masks.append(t.op.Less(first, t.op.Unsqueeze(counts, [1])))
    there = t.op.Concat(*masks, axis=1)
    places = t.op.Transpose(t.op.NonZero(there), perm=[1, 0])
    counted = t.op.ReduceSum(t.op.Cast(there, to=ir.DataType.INT64), [1], keepdims=0)
    ends = t.op.Concat([0], t.op.CumSum(counted, np.array(0)), axis=0)
    return t.op.GatherND(t.op.Concat(*blocks, axis=1), places), t.cast(ends, t.dtype(data_splits))


def _token_places(
    t: Translation, data: ir.Value, first: ir.Value, starts: ir.Value, lengths: ir.Value, step: int
) -> ir.Value:
    """Where a token of each n-gram stands, [rows, n-grams]; behind the data there are the two paddings."""
    offset = t.op.Add(first, t.op.const(np.array(step)))
    left = t.op.Less(offset, t.op.const(np.array(0)))
    right = t.op.GreaterOrEqual(offset, t.op.Unsqueeze(lengths, [1]))
    count = t.op.Gather(t.op.Shape(data), 0)
    inside = t.op.Add(t.op.Unsqueeze(starts, [1]), offset)
    return t.op.Where(left, count, t.op.Where(right, t.op.Add(count, t.op.const(np.array(1))), inside))


def _joined(t: Translation, parts: list[ir.Value], separator: str) -> ir.Value:
    made = parts[0]
    for part in parts[1:]:
        made = t.op.StringConcat(made, word(t, separator)) if separator else made
        made = t.op.StringConcat(made, part)
    return made
