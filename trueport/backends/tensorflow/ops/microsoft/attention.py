"""ONNX Runtime's attention operators."""

from __future__ import annotations

from collections.abc import Sequence

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.barrier import opaque
from trueport.backends.tensorflow.kernels.heads import heads_of, inverse_root_of_width, packed_heads, rotated
from trueport.backends.tensorflow.kernels.integer_sums import integer_matmul
from trueport.backends.tensorflow.kernels.refusals import attribute, has_input, refused
from trueport.backends.tensorflow.kernels.sizes import size_of
from trueport.fidelity import Limit
from trueport.mapping.declare import maps
from trueport.mapping.examples import example

__all__: list[str] = []

_MS = "com.microsoft"
_FILTER = -10000.0
_ON_GPUS = "ONNX Runtime itself has it on GPUs only, so there is nothing to compare with"
_PACKED = refused(
    "attention-packed",
    lambda node: not (has_input(node, 1) and has_input(node, 2)) or has_input(node, 9),
    f"has keys and values packed with the queries, or beams: {_ON_GPUS}",
    example=example(
        "(float[1, 3, 1, 3, 4] x) => (float[1, 3, 4] y) { y = com.microsoft.MultiHeadAttention <num_heads = 1> (x) }"
    ),
)
_SCALED_ANGLES = refused(
    "rotary-packed-batch",
    lambda node: bool(attribute(node, "is_packed_batching")) or attribute(node, "scale", 1.0) != 1,
    f"packs its batch, or scales its angles: {_ON_GPUS}",
    example=example(
        "(float[1, 3, 4] x, int64[1] at, float[8, 2] cos, float[8, 2] sin) => (float[1, 3, 4] y)"
        "{ y = com.microsoft.RotaryEmbedding <scale = 0.5> (x, at, cos, sin) }"
    ),
)


def _shared(shown: str) -> Limit:
    return refused(
        "attention-shared-buffer",
        lambda node: bool(attribute(node, "do_rotary") or attribute(node, "past_present_share_buffer")),
        f"rotates inside, or shares a buffer of past and present: {_ON_GPUS}",
        example=example(shown),
    )


@maps(
    "Attention",
    domain=_MS,
    limits=[
        _shared(
            "(float[1, 3, 4] x, float[4, 12] w, float[12] b) => (float[1, 3, 4] y)"
            "{ y = com.microsoft.Attention <num_heads = 1, do_rotary = 1> (x, w, b) }"
        )
    ],
)
def attention(
    t: Emission,
    input: Tensor,
    weights: Tensor,
    bias: Tensor | None,
    mask_index: Tensor | None,
    past: Tensor | None,
    attention_bias: Tensor | None,
    past_sequence_length: Tensor | None,
    *,
    num_heads: int,
    do_rotary: int = 0,
    mask_filter_value: float = _FILTER,
    past_present_share_buffer: int = 0,
    qkv_hidden_sizes: Sequence[int] | None = None,
    rotary_embedding_dim: int = 0,
    scale: float = 0.0,
    unidirectional: int = 0,
) -> tuple[Tensor, Tensor]:
    projected = tf.matmul(input, weights)
    projected = projected if bias is None else projected + bias
    return _self_attention(
        projected,
        mask_index,
        past,
        attention_bias,
        num_heads,
        mask_filter_value=mask_filter_value,
        sizes=qkv_hidden_sizes,
        scale=scale,
        causal=bool(unidirectional),
    )


@maps(
    "QAttention",
    domain=_MS,
    limits=[
        _shared(
            "(uint8[1, 3, 4] x, uint8[4, 12] w, float[12] b, float s) => (float[1, 3, 4] y)"
            "{ y = com.microsoft.QAttention <num_heads = 1, do_rotary = 1> (x, w, b, s, s) }"
        )
    ],
)
def qattention(
    t: Emission,
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    input_scale: Tensor,
    weight_scale: Tensor,
    mask_index: Tensor | None,
    input_zero_point: Tensor | None,
    weight_zero_point: Tensor | None,
    past: Tensor | None,
    *,
    num_heads: int,
    do_rotary: int = 0,
    mask_filter_value: float = _FILTER,
    past_present_share_buffer: int = 0,
    scale: float = 0.0,
    unidirectional: int = 0,
) -> tuple[Tensor, Tensor]:
    zero = None if input_zero_point is None else tf.reshape(input_zero_point, [])
    total = tf.cast(integer_matmul(t, input, weight, zero, weight_zero_point, weight=1), tf.float32)
    projected = total * (opaque(weight_scale) * opaque(tf.reshape(input_scale, []))) + bias
    return _self_attention(
        projected,
        mask_index,
        past,
        None,
        num_heads,
        mask_filter_value=mask_filter_value,
        sizes=None,
        scale=scale,
        causal=bool(unidirectional),
    )


@maps("MultiHeadAttention", domain=_MS, limits=[_PACKED])
def multi_head_attention(
    t: Emission,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    key_padding_mask: Tensor | None,
    attention_bias: Tensor | None,
    past_key: Tensor | None,
    past_value: Tensor | None,
    past_sequence_length: Tensor | None,
    cache_indirection: Tensor | None,
    *,
    num_heads: int,
    mask_filter_value: float = _FILTER,
    scale: float = 0.0,
    unidirectional: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    if bias is not None:
        width = size_of(query, 2)
        query, key, value = query + bias[:width], key + bias[width : 2 * width], value + bias[2 * width :]
    q, k, v = (heads_of(x, num_heads) for x in (query, key, value))
    k = k if past_key is None else tf.concat([past_key, k], 2)
    v = v if past_value is None else tf.concat([past_value, v], 2)
    additive = _additive(key_padding_mask, k, mask_filter_value)
    additive += [] if attention_bias is None else [attention_bias]
    scores = _biased(_scores(q, k, scale), [*additive, *_causal(q, k, bool(unidirectional))])
    return packed_heads(tf.matmul(tf.nn.softmax(scores), v)), k, v, scores


@maps("RotaryEmbedding", domain=_MS, limits=[_SCALED_ANGLES])
def rotary_embedding(
    t: Emission,
    input: Tensor,
    position_ids: Tensor,
    cos_cache: Tensor,
    sin_cache: Tensor,
    *,
    interleaved: int = 0,
    is_packed_batching: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    scale: float = 1.0,
) -> Tensor:
    """One position is where the sequence starts; else there is one for each element."""
    packed = input.shape.rank == 3
    count = num_heads or size_of(input, 2) // (2 * size_of(cos_cache, 1)) if packed else 0
    x = heads_of(input, count) if packed else input
    positions = position_ids
    if position_ids.shape.rank == 1:
        positions = position_ids + tf.range(tf.cast(size_of(x, 2), tf.int64))[tf.newaxis]
    made = rotated(x, positions, cos_cache, sin_cache, interleaved, rotary_embedding_dim)
    return packed_heads(made) if packed else made


def _self_attention(
    projected: Tensor,
    mask: Tensor | None,
    past: Tensor | None,
    attention_bias: Tensor | None,
    heads: int,
    *,
    mask_filter_value: float,
    sizes: Sequence[int] | None,
    scale: float,
    causal: bool,
) -> tuple[Tensor, Tensor]:
    """From ``[B, S, Q | K | V]``; past and present hold keys and values in one tensor."""
    q, k, v = (heads_of(x, heads) for x in tf.split(projected, sizes or 3, -1))
    if past is not None:
        k, v = tf.concat([past[0], k], 2), tf.concat([past[1], v], 2)
    additive = _additive(mask, k, mask_filter_value)
    additive += [] if attention_bias is None else [attention_bias]
    scores = _biased(_scores(q, k, scale), [*additive, *_causal(q, k, causal)])
    present = tf.stack([k, v]) if sizes is None or sizes[1] == sizes[2] else k
    return packed_heads(tf.matmul(tf.nn.softmax(scores), v)), present


def _scores(q: Tensor, k: Tensor, scale: float) -> Tensor:
    return tf.matmul(q * (scale or inverse_root_of_width(q)), k, transpose_b=True)


def _biased(scores: Tensor, additive: Sequence[Tensor]) -> Tensor:
    for term in additive:
        scores += term
    return scores


def _additive(mask: Tensor | None, k: Tensor, filtered: float) -> list[Tensor]:
    """A mask as what is added to the scores: lengths, or starts after ends, or ones where there are keys."""
    if mask is None:
        return []
    total = size_of(k, 2)
    if mask.shape.rank == 1:
        places, batch = tf.range(total)[tf.newaxis], size_of(k, 0)
        allowed = places < mask[:batch, tf.newaxis]
        starts = tf.concat([mask[batch:], tf.zeros(batch, mask.dtype)], 0)[:batch]
        allowed = (allowed & (places >= starts[:, tf.newaxis]))[:, tf.newaxis, tf.newaxis]
    elif mask.shape.rank == 2:
        allowed = (mask > 0)[:, tf.newaxis, tf.newaxis]
    else:
        allowed = (mask > 0)[:, tf.newaxis] if mask.shape.rank == 3 else mask > 0
    return [tf.where(allowed, tf.zeros([], k.dtype), tf.constant(filtered, k.dtype))]


def _causal(q: Tensor, k: Tensor, causal: bool) -> list[Tensor]:
    """Keys after the query count for nothing, however low the others are."""
    if not causal:
        return []
    ahead = tf.range(size_of(k, 2)) - tf.range(size_of(q, 2))[:, tf.newaxis] > size_of(k, 2) - size_of(q, 2)
    return [tf.where(ahead, tf.constant(k.dtype.min, k.dtype), tf.zeros([], k.dtype))]
