"""Attention: scaled dot products, with masks, caches, grouped heads, and its customizable and linear kinds."""

from __future__ import annotations

import math
from typing import Any

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.build.dtypes import tf_dtype
from trueport.backends.tensorflow.kernels.heads import heads_of, inverse_root_of_width, packed_heads
from trueport.backends.tensorflow.kernels.recurrence import loop
from trueport.backends.tensorflow.kernels.shapes import of_rank, rank_of
from trueport.backends.tensorflow.kernels.sizes import size_of
from trueport.mapping.declare import maps
from trueport.mapping.needs import known_rank

__all__: list[str] = []


def _may_be_packed(node: ir.Node) -> bool:
    """True if heads may be packed in the last axis: without their number the data has an axis of heads."""
    return "q_num_heads" in node.attributes


@maps("Attention", audited=25, needs=[known_rank(0, 1, 2, of="its query, key and value", when=_may_be_packed)])
def attention(
    t: Emission,
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    attn_mask: Tensor | None,
    past_key: Tensor | None,
    past_value: Tensor | None,
    nonpad_kv_seqlen: Tensor | None,
    *,
    is_causal: int,
    kv_num_heads: int | None,
    left_window_size: int,
    q_num_heads: int | None,
    qk_matmul_output_mode: int,
    right_window_size: int,
    scale: float | None,
    softcap: float,
    softmax_precision: int | None,
) -> list[Tensor]:
    rank = 4 if q_num_heads is None else t.rank(Q, K, V, of="its query, key and value")
    Q, K, V = (of_rank(x, rank) for x in (Q, K, V))
    dtype, packed, wide = Q.dtype, Q.shape.rank == 3, _compute_dtype(Q.dtype)
    Q, K, V = (heads_of(x, n) for x, n in ((Q, q_num_heads), (K, kv_num_heads), (V, kv_num_heads)))
    K = K if past_key is None else tf.concat([past_key, K], 2)
    V = V if past_value is None else tf.concat([past_value, V], 2)
    raw = _scores(tf.cast(Q, wide), tf.cast(K, wide), scale)
    capped = softcap * tf.tanh(raw / softcap) if softcap > 0 else raw
    allowed, bias = _mask(attn_mask, K, wide)
    allowed += _window(Q, K, past_key, nonpad_kv_seqlen, left_window_size, 0 if is_causal else right_window_size)
    allowed += _padding(K, nonpad_kv_seqlen)
    biased = _biased(capped, allowed, bias)
    # A bound on the right alone leaves the first key to every query.
    may_be_empty = attn_mask is not None or nonpad_kv_seqlen is not None or left_window_size >= 0
    some = _any_key(allowed, bias) if may_be_empty else None
    precision = wide if softmax_precision is None else tf_dtype(ir.DataType(softmax_precision))
    probabilities = _softmax(tf.cast(biased, precision), some)
    Y = _weighted(tf.cast(probabilities, wide), tf.cast(V, wide))
    seen = (raw, capped, biased, probabilities)[qk_matmul_output_mode]
    return [tf.cast(packed_heads(Y) if packed else Y, dtype), K, V, tf.cast(seen, dtype)]


@maps("FlexAttention", domain="ai.onnx.preview", audited=1)
def flex_attention(
    t: Emission,
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    *,
    prob_mod: ir.Graph | None,
    scale: float | None,
    score_mod: ir.Graph | None,
    softmax_precision: int | None,
) -> Tensor:
    wide = _compute_dtype(Q.dtype)
    precision = wide if softmax_precision is None else tf_dtype(ir.DataType(softmax_precision))
    scores = tf.cast(_scores(tf.cast(Q, wide), tf.cast(K, wide), scale), precision)
    scores = t.run(score_mod, scores)[0] if score_mod is not None else scores
    probabilities = tf.nn.softmax(scores)
    probabilities = t.run(prob_mod, probabilities)[0] if prob_mod is not None else probabilities
    return tf.cast(_weighted(probabilities, tf.cast(V, precision)), V.dtype)


@maps("LinearAttention", audited=27, ignores={"chunk_size": "a hint for speed; the recurrence runs step by step"})
def linear_attention(
    t: Emission,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    past_state: Tensor | None,
    decay: Tensor | None,
    beta: Tensor | None,
    *,
    kv_num_heads: int,
    q_num_heads: int,
    scale: float,
    update_rule: str,
) -> list[Tensor]:
    gated, corrected = update_rule.startswith("gated"), update_rule.endswith("delta")
    q, k, v = (_time_first(x, n) for x, n in ((query, q_num_heads), (key, kv_num_heads), (value, kv_num_heads)))
    factor = scale or inverse_root_of_width(q)
    grouped = [size_of(q, 1), kv_num_heads, q_num_heads // kv_num_heads, size_of(q, 3)]
    inputs = [q * factor, k, v]
    inputs += [tf.exp(_time_first(decay, kv_num_heads))] if gated else []
    inputs += [_time_first(beta, size_of(beta, 2))] if corrected else []
    shape = [size_of(q, 1), kv_num_heads, size_of(k, 3), size_of(v, 3)]
    state = tf.zeros(shape) if past_state is None else tf.cast(past_state, tf.float32)

    def step(time: Tensor, now: tuple[Tensor, ...], states: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
        (state,), (q, k, v) = states, now[:3]
        state = state * now[3][..., None] if gated else state
        if corrected:
            v = now[-1] * (v - tf.squeeze(tf.matmul(k[:, :, None], state), 2))
        state = state + k[..., None] * v[:, :, None]
        return tf.matmul(tf.reshape(q, grouped), state), (state,)

    group_shape = [*grouped[:3], size_of(v, 3)]
    output, (state,) = loop(step, tuple(inputs), (state,), group_shape)
    output = tf.transpose(output, [1, 0, 2, 3, 4])
    output = tf.reshape(output, [size_of(query, 0), size_of(query, 1), q_num_heads * size_of(v, 3)])
    return [tf.cast(output, query.dtype), tf.cast(state, query.dtype if past_state is None else past_state.dtype)]


def _compute_dtype(dtype: Any) -> Any:
    """Half precision is computed in float32: exacter, and faster on a CPU."""
    return tf.float32 if dtype in (tf.float16, tf.bfloat16) else dtype


def _time_first(x: Tensor, count: Any) -> Tensor:
    """[B, T, H·D] → [T, B, H, D] in float32, in which states are kept."""
    split = tf.reshape(tf.cast(x, tf.float32), [size_of(x, 0), size_of(x, 1), count, size_of(x, 2) // count])
    return tf.transpose(split, [1, 0, 2, 3])


def _scores(Q: Tensor, K: Tensor, scale: float | None) -> Tensor:
    """Q · Kᵀ · scale; query heads that share a key head are rows of one product, so no key is repeated."""
    Q = Q * (inverse_root_of_width(Q) if scale is None else scale)
    return _shared_heads(Q, K, transpose_b=True)


def _weighted(probabilities: Tensor, V: Tensor) -> Tensor:
    return _shared_heads(probabilities, V, transpose_b=False)


def _shared_heads(x: Tensor, y: Tensor, transpose_b: bool) -> Tensor:
    if x.shape[1] is not None and x.shape[1] == y.shape[1]:
        return tf.matmul(x, y, transpose_b=transpose_b)
    heads = size_of(y, 1)
    rows = tf.reshape(x, [size_of(x, 0), heads, size_of(x, 1) // heads * size_of(x, 2), size_of(x, 3)])
    made = tf.matmul(rows, y, transpose_b=transpose_b)
    return tf.reshape(made, [size_of(x, 0), size_of(x, 1), size_of(x, 2), size_of(y, 2 if transpose_b else 3)])


def _mask(mask: Tensor | None, K: Tensor, dtype: Any) -> tuple[list[Tensor], Tensor | None]:
    """The keys that ``attn_mask`` allows, or the bias that it adds; keys that it is too short for are disallowed."""
    if mask is None:
        return [], None
    boolean = mask.dtype == tf.bool
    mask = mask if boolean else tf.cast(mask, dtype)
    if mask.shape[-1] is None or mask.shape[-1] != K.shape[2]:
        missing = tf.maximum(0, tf.shape(K)[2] - tf.shape(mask)[-1])
        pads = tf.concat([tf.zeros(tf.stack([rank_of(mask) - 1, 2]), tf.int32), [[0, missing]]], 0)
        mask = tf.pad(mask, pads, constant_values=False if boolean else -math.inf)
    return ([mask], None) if boolean else ([], mask)


def _window(
    Q: Tensor, K: Tensor, past_key: Tensor | None, lengths: Tensor | None, left: int, right: int
) -> list[Tensor]:
    """Which keys lie at most ``left`` before and ``right`` after a query; a negative bound is none."""
    if left < 0 and right < 0:
        return []
    offset: Any = 0 if past_key is None else size_of(past_key, 2)
    if past_key is None and lengths is not None:
        offset = tf.reshape(tf.cast(lengths, tf.int32), [-1, 1, 1, 1]) - size_of(Q, 2)
    distance = tf.range(size_of(K, 2)) - tf.expand_dims(tf.range(size_of(Q, 2)), 1) - offset
    return ([distance >= -left] if left >= 0 else []) + ([distance <= right] if right >= 0 else [])


def _padding(K: Tensor, lengths: Tensor | None) -> list[Tensor]:
    if lengths is None:
        return []
    return [tf.range(size_of(K, 2)) < tf.reshape(tf.cast(lengths, tf.int32), [-1, 1, 1, 1])]


def _biased(scores: Tensor, allowed: list[Tensor], bias: Tensor | None) -> Tensor:
    scores = scores if bias is None else scores + bias
    return tf.where(_all(allowed), scores, tf.constant(-math.inf, scores.dtype)) if allowed else scores


def _any_key(allowed: list[Tensor], bias: Tensor | None) -> Tensor:
    """[..., L, 1]: whether a query has a key at all."""
    open_keys = [*allowed, *([] if bias is None else [bias > -math.inf])]
    return tf.reduce_any(_all(open_keys), -1, keepdims=True)


def _all(conditions: list[Tensor]) -> Tensor:
    made = conditions[0]
    for condition in conditions[1:]:
        made = made & condition
    return made


def _softmax(scores: Tensor, some: Tensor | None) -> Tensor:
    """A query without keys has no probabilities: zeros, and no NaN on the way, for its gradient's sake."""
    if some is None:
        return tf.nn.softmax(scores)
    zero = tf.zeros([], scores.dtype)
    return tf.where(some, tf.nn.softmax(tf.where(some, scores, zero)), zero)
