"""Attention: with any number of leading axes, grouped heads, and rows of a mask that let nothing through."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import accumulation
from trueport.formulas.linear.matrices import swapped
from trueport.formulas.numeric import is_float
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.shared.numbers import factor
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded
from trueport.ir.marks import mark_nan_ignored

__all__: list[str] = []

_D = ir.DataType
Value = ir.Value


@maps_torch("aten::scaled_dot_product_attention", error=accumulation())
@recorded
def scaled_dot_product_attention(
    t: TorchTranslation,
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Value:
    if dropout_p:
        raise t.fail(
            "drops weights at random, also outside of training", "pass dropout_p=0.0 when the module is in eval"
        )
    if enable_gqa:
        key, value = (_repeated_heads(t, part, query) for part in (key, value))
    scores = _scores(t, query, key, scale)
    if is_causal:
        scores = t.op.Where(_until_now(t, scores), scores, t.op.like(-np.inf, scores))
    if attn_mask is not None:
        scores = _masked(t, scores, attn_mask)
    shares = t.op.Softmax(scores, axis=-1)
    if attn_mask is not None:
        # Where all is masked PyTorch has zeros; the softmax of nothing is no number.
        most = mark_nan_ignored(t.op.ReduceMax(scores, [t.rank(scores) - 1], keepdims=1))
        shares = t.op.Where(t.op.Equal(most, t.op.like(-np.inf, scores)), t.op.like(0, scores), shares)
    return t.op.MatMul(shares, value)


def _scores(t: TorchTranslation, query: Value, key: Value, scale: float | None) -> Value:
    """Both sides get the root of the scale, as in PyTorch: their product stays within a half's range."""
    turned = swapped(t, key)
    width = t.dims(query)[-1]
    if scale is None and width is None:
        size = t.op.Cast(t.op.Shape(query, start=t.rank(query) - 1), to=t.dtype(query))
        root = t.op.Sqrt(t.op.Reciprocal(t.op.Sqrt(size)))
    else:
        assert scale is not None or width is not None
        number = scale if scale is not None else 1 / np.sqrt(float(width or 1))
        if number < 0:
            return t.op.Mul(t.op.MatMul(query, turned), t.op.like(number, query))
        sides = [t.op.Mul(side, factor(t, np.sqrt(number), side)) for side in (query, turned)]
        return t.op.MatMul(*sides)
    return t.op.MatMul(t.op.Mul(query, root), t.op.Mul(turned, root))


def _repeated_heads(t: TorchTranslation, part: Value, query: Value) -> Value:
    """Each head as often as there are heads of the query to it."""
    axis = t.rank(part) - 3
    own, wanted = t.dims(part)[axis], t.dims(query)[axis]
    if own is None or wanted is None or wanted % own:
        raise t.fail("the number of heads is open", "leave the axis of the heads out of the dynamic dims")
    if own == wanted:
        return part
    one_more = t.op.Unsqueeze(part, [axis + 1])
    ones = [1] * (t.rank(part) + 1)
    ones[axis + 1] = wanted // own
    spread = t.op.Expand(one_more, ones)
    lead, rest = t.op.Shape(part, end=axis), t.op.Shape(part, start=axis + 1)
    return t.op.Reshape(spread, t.op.Concat(lead, t.op.const(np.array([wanted])), rest, axis=0))


def _until_now(t: TorchTranslation, scores: Value) -> Value:
    """Which keys stand no later than the query, counted from the first of both."""
    rank = t.rank(scores)
    rows, columns = (
        t.op.Range(0, t.op.Squeeze(t.op.Shape(scores, start=axis, end=axis + 1), [0]), 1)
        for axis in (rank - 2, rank - 1)
    )
    return t.op.LessOrEqual(t.op.Unsqueeze(columns, [0]), t.op.Unsqueeze(rows, [1]))


def _masked(t: TorchTranslation, scores: Value, mask: Value) -> Value:
    if is_float(mask):
        made: Value = t.op.Add(scores, t.cast(mask, t.dtype(scores)))
    else:
        made = t.op.Where(t.cast(mask, _D.BOOL), scores, t.op.like(-np.inf, scores))
    return made
