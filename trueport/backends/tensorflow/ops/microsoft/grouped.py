"""ONNX Runtime's grouped attention over a cache of keys and values."""

from __future__ import annotations

import math

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.heads import heads_of, inverse_root_of_width, packed_heads, rotated
from trueport.backends.tensorflow.kernels.refusals import attribute, refused
from trueport.backends.tensorflow.kernels.sizes import size_of
from trueport.mapping.declare import maps
from trueport.mapping.examples import example

__all__: list[str] = []


def _goes_beyond(node: ir.Node) -> bool:
    quantized = {attribute(node, name, "NONE") for name in ("k_quant_type", "v_quant_type")} != {"NONE"}
    shows_scores = len(node.outputs) > 3 and bool(node.outputs[3].name)
    return (
        quantized or shows_scores or bool(attribute(node, "sliding_window_cache")) or not attribute(node, "causal", 1)
    )


@maps(
    "GroupQueryAttention",
    domain="com.microsoft",
    limits=[
        refused(
            "grouped-attention-cache",
            _goes_beyond,
            "has a quantized or a sliding cache, gives out its scores, or looks ahead",
            "export the model without these",
            example=example(
                "(float[1, 3, 8] x, int32[1] last, int32 total) => (float[1, 3, 8] y)"
                "{ y = com.microsoft.GroupQueryAttention <num_heads = 1, kv_num_heads = 1, causal = 0>"
                "(x, x, x, , , last, total) }"
            ),
        )
    ],
)
def group_query_attention(
    t: Emission,
    query: Tensor,
    key: Tensor | None,
    value: Tensor | None,
    past_key: Tensor | None,
    past_value: Tensor | None,
    seqlens_k: Tensor,
    total_sequence_length: Tensor,
    cos_cache: Tensor | None,
    sin_cache: Tensor | None,
    position_ids: Tensor | None,
    attention_bias: Tensor | None,
    head_sink: Tensor | None,
    k_scale: Tensor | None,
    v_scale: Tensor | None,
    q_norm_weight: Tensor | None,
    k_norm_weight: Tensor | None,
    *,
    num_heads: int,
    kv_num_heads: int,
    causal: int = 1,
    do_rotary: int = 0,
    k_quant_type: str = "NONE",
    kv_cache_bit_width: int = 0,
    local_window_size: int = -1,
    qk_norm_epsilon: float = 1e-6,
    qk_output: int = 0,
    rotary_interleaved: int = 0,
    scale: float = 0.0,
    sliding_window_cache: int = 0,
    smooth_softmax: int = -1,
    softcap: float = 0.0,
    v_quant_type: str = "NONE",
) -> tuple[Tensor, Tensor, Tensor]:
    """Each sample has ``seqlens_k + 1`` keys in all; those of the past are the first of its row in the cache."""
    q, k, v = _split(query, key, value, num_heads, kv_num_heads)
    q, k = (_normed(x, w, qk_norm_epsilon) for x, w in ((q, q_norm_weight), (k, k_norm_weight)))
    steps = size_of(q, 2)
    first = tf.equal(tf.reshape(total_sequence_length, []), steps)
    before = tf.where(first, 0, tf.reshape(seqlens_k, [-1]) + 1 - steps)
    if do_rotary:
        places = before[:, tf.newaxis] + tf.range(steps) if position_ids is None else position_ids
        q, k = (rotated(x, places, cos_cache, sin_cache, bool(rotary_interleaved), 0) for x in (q, k))
    total = tf.maximum(tf.reshape(total_sequence_length, []), 0 if past_key is None else size_of(past_key, 2))
    k, v = (_appended(past, new, before, total) for past, new in ((past_key, k), (past_value, v)))
    scores = _grouped(q * (scale or inverse_root_of_width(q)), k, transpose_b=True)
    scores = softcap * tf.tanh(scores / softcap) if softcap > 0 else scores
    scores = scores if attention_bias is None else scores + attention_bias[..., :total]
    scores = tf.where(_visible(before, steps, total, local_window_size), scores, tf.constant(-math.inf, q.dtype))
    sink = tf.zeros([num_heads], q.dtype) if smooth_softmax == 1 and head_sink is None else head_sink
    return packed_heads(_grouped(_softmax(scores, sink), v, transpose_b=False)), k, v


def _split(
    query: Tensor, key: Tensor | None, value: Tensor | None, heads: int, kv_heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """[B, H, L, D] each; one packed tensor holds the heads of queries, of keys and of values one after another."""
    if key is None:
        q, k, v = tf.split(heads_of(query, heads + 2 * kv_heads), [heads, kv_heads, kv_heads], 1)
        return q, k, v
    return heads_of(query, heads), heads_of(key, kv_heads), heads_of(value, kv_heads)


def _normed(x: Tensor, weight: Tensor | None, epsilon: float) -> Tensor:
    if weight is None:
        return x
    return x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + epsilon) * weight


def _appended(past: Tensor | None, new: Tensor, before: Tensor, total: Tensor) -> Tensor:
    """A cache of ``total`` places: per sample ``before`` of the past, then the new ones, then zeros."""
    kept = 0 if past is None else size_of(past, 2)
    joined = new if past is None else tf.concat([past, new], 2)
    place, steps = tf.range(total)[tf.newaxis], size_of(new, 2)
    after = place - before[:, tf.newaxis]
    source = tf.where(after < 0, tf.minimum(place, kept), kept + tf.clip_by_value(after, 0, steps - 1))
    made = tf.transpose(tf.gather(tf.transpose(joined, [0, 2, 1, 3]), source, batch_dims=1), [0, 2, 1, 3])
    return tf.where((after < steps)[:, tf.newaxis, :, tf.newaxis], made, tf.zeros([], new.dtype))


def _visible(before: Tensor, steps: Tensor, total: Tensor, window: int) -> Tensor:
    """[B, 1, S, T]: keys up to the query's own place, the last ``window`` of them where that is positive."""
    own = (before[:, tf.newaxis] + tf.range(steps))[:, tf.newaxis, :, tf.newaxis]
    keys = tf.range(total)
    return (keys <= own) & (keys > own - window) if window > 0 else keys <= own


def _softmax(scores: Tensor, sink: Tensor | None) -> Tensor:
    """With a sink one more score per head takes its share, and is dropped."""
    if sink is None:
        return tf.nn.softmax(scores)
    extra = tf.broadcast_to(sink[:, tf.newaxis, tf.newaxis], tf.concat([tf.shape(scores)[:3], [1]], 0))
    return tf.nn.softmax(tf.concat([scores, extra], -1))[..., :-1]


def _grouped(x: Tensor, y: Tensor, *, transpose_b: bool) -> Tensor:
    """Query heads that share a key head are rows of one product."""
    heads = size_of(y, 1)
    rows = tf.reshape(x, [size_of(x, 0), heads, size_of(x, 1) // heads * size_of(x, 2), size_of(x, 3)])
    made = tf.matmul(rows, y, transpose_b=transpose_b)
    return tf.reshape(made, [size_of(x, 0), size_of(x, 1), size_of(x, 2), size_of(y, 2 if transpose_b else 3)])
