"""ONNX Runtime's attention operators in NumPy, in the inputs' precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trueport.reference.onnx.microsoft.quantized import integer_product

__all__ = ["ATTENTION"]

Array = Any
_FILTER = -10000.0
"""What is added to the scores of masked keys, unless a node says otherwise."""


def _heads(x: Array, count: int) -> Array:
    """Return ``[B, L, H·D]`` as ``[B, H, L, D]``; what has four dimensions stays."""
    if x.ndim == 4:
        return x
    return x.reshape(*x.shape[:2], count, x.shape[2] // count).transpose(0, 2, 1, 3)


def _packed(x: Array) -> Array:
    batch, heads, length, width = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, length, heads * width)


def _softmax(scores: Array) -> Array:
    exponents = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponents / exponents.sum(axis=-1, keepdims=True)


def _scores(q: Array, k: Array, scale: float) -> Array:
    return np.matmul(q * (scale or 1 / np.sqrt(q.shape[3])), k.swapaxes(2, 3))


def _masked(mask: Array | None, k: Array, filtered: float) -> Array:
    """Return what a mask adds to the scores: lengths, ends before starts, or ones where there are keys."""
    if mask is None:
        return 0.0
    total, batch = k.shape[2], len(k)
    if mask.ndim == 1:
        allowed = np.arange(total)[None] < mask[:batch, None]
        if len(mask) >= 2 * batch:
            allowed &= np.arange(total)[None] >= mask[batch : 2 * batch, None]
        allowed = allowed[:, None, None]
    else:
        allowed = {2: (mask > 0)[:, None, None], 3: (mask > 0)[:, None] if mask.ndim == 3 else None}.get(mask.ndim)
        allowed = mask > 0 if allowed is None else allowed
    return np.where(allowed, 0.0, filtered)


def _causal(q: Array, k: Array, is_causal: int) -> Array:
    if not is_causal:
        return 0.0
    ahead = np.arange(k.shape[2]) - np.arange(q.shape[2])[:, None] > k.shape[2] - q.shape[2]
    return np.where(ahead, float(np.finfo(np.float32).min), 0.0)


def _self_attention(
    projected: Array,
    mask: Array | None,
    past: Array | None,
    bias: Array | None,
    *,
    num_heads: int,
    mask_filter_value: float = _FILTER,
    qkv_hidden_sizes: Sequence[int] | None = None,
    scale: float = 0.0,
    unidirectional: int = 0,
    do_rotary: int = 0,
    past_present_share_buffer: int = 0,
    rotary_embedding_dim: int = 0,
) -> tuple[Array, Array]:
    if do_rotary or past_present_share_buffer:
        raise NotImplementedError("rotation inside, or a buffer that past and present share")
    ends = np.cumsum(qkv_hidden_sizes)[:2] if qkv_hidden_sizes else 3
    q, k, v = (_heads(part, num_heads) for part in np.split(projected, ends, axis=-1))
    if past is not None:
        k, v = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
    scores = _scores(q, k, scale) + _masked(mask, k, mask_filter_value) + (0 if bias is None else bias)
    made = np.matmul(_softmax(scores + _causal(q, k, unidirectional)), v)
    return _packed(made), np.stack([k, v]) if k.shape == v.shape else k


def _attention(
    input: Array,
    weights: Array,
    bias: Array | None = None,
    mask_index: Array | None = None,
    past: Array | None = None,
    attention_bias: Array | None = None,
    past_sequence_length: Array | None = None,
    **attributes: Any,
) -> tuple[Array, Array]:
    projected = np.matmul(input, weights)
    projected = projected if bias is None else projected + bias
    return _self_attention(projected, mask_index, past, attention_bias, **attributes)


def _quantized_attention(
    input: Array,
    weight: Array,
    bias: Array,
    input_scale: Array,
    weight_scale: Array,
    mask_index: Array | None = None,
    input_zero_point: Array | None = None,
    weight_zero_point: Array | None = None,
    past: Array | None = None,
    **attributes: Any,
) -> tuple[Array, Array]:
    total = integer_product(input, weight, input_zero_point, weight_zero_point)
    projected = total * (weight_scale * input_scale.reshape(-1)[0]) + bias
    return _self_attention(projected, mask_index, past, None, **attributes)


def _multi_head(
    query: Array,
    key: Array,
    value: Array,
    bias: Array | None = None,
    key_padding_mask: Array | None = None,
    attention_bias: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    *_: Array | None,
    num_heads: int,
    mask_filter_value: float = _FILTER,
    scale: float = 0.0,
    unidirectional: int = 0,
) -> tuple[Array, Array, Array, Array]:
    if key is None or value is None:
        raise NotImplementedError("keys and values packed with the queries")
    if bias is not None:
        width = query.shape[2]
        query, key, value = query + bias[:width], key + bias[width : 2 * width], value + bias[2 * width :]
    q, k, v = (_heads(part, num_heads) for part in (query, key, value))
    k = k if past_key is None else np.concatenate([past_key, k], 2)
    v = v if past_value is None else np.concatenate([past_value, v], 2)
    added = 0 if attention_bias is None else attention_bias
    scores = _scores(q, k, scale) + _masked(key_padding_mask, k, mask_filter_value) + added
    scores = scores + _causal(q, k, unidirectional)
    return _packed(np.matmul(_softmax(scores), v)), k, v, scores


def _rotated(x: Array, positions: Array, cos_cache: Array, sin_cache: Array, interleaved: int, width: int) -> Array:
    """Return ``x[B, H, L, D]`` with the pairs of its first ``width`` elements rotated by their positions' angles."""
    cos, sin = (cache[positions][:, None] for cache in (cos_cache, sin_cache))
    part, kept = np.split(x, [width or 2 * cos_cache.shape[1]], axis=-1)
    half = part.shape[3] // 2
    first, second = (part[..., 0::2], part[..., 1::2]) if interleaved else (part[..., :half], part[..., half:])
    made = [cos * first - sin * second, sin * first + cos * second]
    joined = np.stack(made, -1).reshape(part.shape) if interleaved else np.concatenate(made, -1)
    return np.concatenate([joined, kept], -1)


def _rotary(
    input: Array,
    position_ids: Array,
    cos_cache: Array,
    sin_cache: Array,
    *,
    interleaved: int = 0,
    is_packed_batching: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    scale: float = 1.0,
) -> Array:
    if is_packed_batching or scale != 1:
        raise NotImplementedError("a packed batch, or scaled angles")
    is_packed = input.ndim == 3
    x = _heads(input, num_heads or input.shape[2] // (2 * cos_cache.shape[1])) if is_packed else input
    places = position_ids + np.arange(x.shape[2])[None] if position_ids.ndim == 1 else position_ids
    places = np.broadcast_to(places, (len(x), x.shape[2]))
    made = _rotated(x, places, cos_cache, sin_cache, interleaved, rotary_embedding_dim)
    return _packed(made) if is_packed else made


def _grouped(
    query: Array,
    key: Array | None,
    value: Array | None,
    past_key: Array | None,
    past_value: Array | None,
    seqlens_k: Array,
    total_sequence_length: Array,
    *more: Array | None,
    num_heads: int,
    kv_num_heads: int,
    do_rotary: int = 0,
    local_window_size: int = -1,
    qk_norm_epsilon: float = 1e-6,
    rotary_interleaved: int = 0,
    scale: float = 0.0,
    smooth_softmax: int = -1,
    softcap: float = 0.0,
    causal: int = 1,
    sliding_window_cache: int = 0,
    **formats: Any,
) -> tuple[Array, Array, Array]:
    """Each sample has ``seqlens_k + 1`` keys; those of the past are the first of its row in the cache."""
    cos, sin, position_ids, bias, sink, k_scale, v_scale, q_weight, k_weight = (*more, *[None] * 9)[:9]
    if not causal or sliding_window_cache or k_scale is not None or v_scale is not None:
        raise NotImplementedError("a quantized or sliding cache, or attention ahead")
    q, k, v = _three(query, key, value, num_heads, kv_num_heads)
    q, k = (_normed(x, weight, qk_norm_epsilon) for x, weight in ((q, q_weight), (k, k_weight)))
    steps, total = q.shape[2], int(np.asarray(total_sequence_length).reshape(-1)[0])
    before = np.zeros(len(q), np.int64) if total == steps else seqlens_k.reshape(-1) + 1 - steps
    if do_rotary:
        places = before[:, None] + np.arange(steps) if position_ids is None else position_ids
        q, k = (_rotated(x, places, cos, sin, rotary_interleaved, 0) for x in (q, k))
    total = max(total, 0 if past_key is None else past_key.shape[2])
    k, v = (_appended(past, new, before, total) for past, new in ((past_key, k), (past_value, v)))
    repeats = num_heads // kv_num_heads
    scores = _scores(q, np.repeat(k, repeats, axis=1), scale)
    scores = softcap * np.tanh(scores / softcap) if softcap > 0 else scores
    scores = scores if bias is None else scores + bias[..., :total]
    own, keys = (before[:, None] + np.arange(steps))[:, None, :, None], np.arange(total)
    is_visible = (keys <= own) & (keys > own - local_window_size) if local_window_size > 0 else keys <= own
    scores = np.where(is_visible, scores, -np.inf)
    sink = np.zeros(num_heads) if smooth_softmax == 1 and sink is None else sink
    return _packed(np.matmul(_with_sink(scores, sink), np.repeat(v, repeats, axis=1))), k, v


def _three(query: Array, key: Array | None, value: Array | None, heads: int, kv_heads: int) -> tuple[Array, ...]:
    if key is None:
        return tuple(np.split(_heads(query, heads + 2 * kv_heads), [heads, heads + kv_heads], axis=1))
    return _heads(query, heads), _heads(key, kv_heads), _heads(value, kv_heads)


def _normed(x: Array, weight: Array | None, epsilon: float) -> Array:
    if weight is None:
        return x
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + epsilon) * weight


def _appended(past: Array | None, new: Array, before: Array, total: int) -> Array:
    """Return a cache of ``total`` positions: per sample ``before`` of the past, then the new ones, then zeros."""
    made = np.zeros((*new.shape[:2], total, new.shape[3]))
    for row, kept in enumerate(int(count) for count in before):
        if past is not None:
            made[row, :, :kept] = past[row, :, :kept]
        made[row, :, kept : kept + new.shape[2]] = new[row]
    return made


def _with_sink(scores: Array, sink: Array | None) -> Array:
    """With a sink one more score per head takes its share, and is dropped."""
    if sink is None:
        return _softmax(scores)
    extra = np.broadcast_to(sink[:, None, None], (*scores.shape[:3], 1))
    return _softmax(np.concatenate([scores, extra], -1))[..., :-1]


ATTENTION: dict[str, Callable[..., Any]] = {
    "Attention": _attention,
    "GroupQueryAttention": _grouped,
    "MultiHeadAttention": _multi_head,
    "QAttention": _quantized_attention,
    "RotaryEmbedding": _rotary,
}
