"""ONNX Runtime's attention operators and its products with weights of few bits, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.grid.contrib import check_contrib, floats, integers, scalar

MASKS: dict[str, Any] = {
    "none": None,
    "lengths": np.array([3, 5], np.int32),
    "ends and starts": np.array([4, 5, 1, 0], np.int32),
    "keys": np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], np.int32),
    "queries and keys": np.tril(np.ones((2, 5, 5), np.int32)),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("causal", [0, 1])
def test_attention(mask: str, causal: int) -> None:
    inputs = [floats(2, 5, 8), floats(8, 24, seed=1), floats(24, seed=2), MASKS[mask]]
    check_contrib("Attention", inputs, constants=[1, 2], num_heads=2, unidirectional=causal, terms=16)


def test_attention_with_past_and_bias() -> None:
    x, w, b = floats(2, 3, 8), floats(8, 24, seed=1), floats(24, seed=2)
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    past, bias = floats(2, 2, 2, 2, 4, seed=3), floats(1, 2, 3, 5, seed=4)
    rest = {"num_heads": 2, "unidirectional": 1, "outputs": 2, "terms": 16, "constants": [1, 2]}
    check_contrib("Attention", [x, w, b, mask, past], scale=0.3, **rest)
    check_contrib("Attention", [x, w, b, None, past], mask_filter_value=-5.0, **rest)
    check_contrib("Attention", [x, w, b, None, None, bias[..., :3]], **rest)


def test_attention_with_its_own_width_of_values() -> None:
    inputs = [floats(2, 5, 8), floats(8, 28, seed=1), floats(28, seed=2), None]
    check_contrib("Attention", inputs, constants=[1, 2], num_heads=2, qkv_hidden_sizes=[8, 8, 12], terms=16)


@pytest.mark.parametrize("mask", ["none", "lengths", "keys"])
@pytest.mark.parametrize("causal", [0, 1])
def test_qattention(mask: str, causal: int) -> None:
    x, w = integers((2, 5, 8), np.uint8), integers((8, 24), np.int8)
    scales = np.linspace(0.005, 0.02, 24).astype(np.float32)
    inputs = [x, w, floats(24), scalar(0.02), scales, MASKS[mask], scalar(120, np.uint8), np.zeros(24, np.int8)]
    check_contrib("QAttention", inputs, constants=[1, 2, 4], num_heads=2, unidirectional=causal, terms=16)


@pytest.mark.parametrize("mask", ["none", "lengths", "keys"])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("causal", [0, 1])
def test_multi_head_attention(mask: str, biased: bool, causal: int) -> None:
    q, k, v = floats(2, 5, 8), floats(2, 5, 8, seed=1), floats(2, 5, 12, seed=2)
    bias = floats(28, seed=3) if biased else None
    check_contrib("MultiHeadAttention", [q, k, v, bias, MASKS[mask]], num_heads=2, unidirectional=causal, terms=16)


def test_multi_head_attention_with_past_and_across() -> None:
    q, k, v = floats(2, 3, 8), floats(2, 3, 8, seed=1), floats(2, 3, 8, seed=2)
    past = [floats(2, 2, 2, 4, seed=3), floats(2, 2, 2, 4, seed=4)]
    bias = floats(2, 1, 3, 5, seed=5)
    rest = {"num_heads": 2, "terms": 16}
    check_contrib("MultiHeadAttention", [q, k, v, None, None, bias, *past], outputs=3, scale=0.7, **rest)
    heads = [floats(2, 2, 7, 4, seed=6), floats(2, 2, 7, 4, seed=7)]
    check_contrib("MultiHeadAttention", [q, *heads], **rest)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("heads_first", [False, True])
@pytest.mark.parametrize("partial", [False, True])
def test_rotary_embedding(interleaved: int, heads_first: bool, partial: bool) -> None:
    x = floats(2, 3, 5, 8) if heads_first else floats(2, 5, 24)
    angles = np.random.default_rng(1).uniform(-3, 3, (9, 2 if partial else 4)).astype(np.float32)
    positions = np.random.default_rng(2).integers(0, 9, (2, 5))
    more = {"num_heads": 3, "rotary_embedding_dim": 4} if partial else {}
    for ids in (positions, np.array([2])):
        check_contrib("RotaryEmbedding", [x, ids, np.cos(angles), np.sin(angles)], interleaved=interleaved, **more)


# The runtime takes no floats as zero points of 8 bits.
@pytest.mark.parametrize(
    ("bits", "zeros"), [(b, z) for b in (2, 4, 8) for z in ("none", "packed", "floats") if (b, z) != (8, "floats")]
)
@pytest.mark.parametrize("depth", [64, 40])
def test_mat_mul_nbits(bits: int, zeros: str, depth: int) -> None:
    n, block = 6, 16
    blocks = -(-depth // block)
    w, scales = integers((n, blocks, block * bits // 8), np.uint8), np.abs(floats(n, blocks)) + 0.1
    packed = integers((n, -(-blocks * bits // 8)), np.uint8, 1)
    zero = {"none": None, "packed": packed, "floats": floats(n, blocks, seed=1)}[zeros]
    inputs = [floats(2, 3, depth), w, scales, zero, None, floats(n)]
    constants = [1, 2, 5] if zero is None else [1, 2, 3, 5]
    check_contrib("MatMulNBits", inputs, constants=constants, K=depth, N=n, block_size=block, bits=bits, terms=depth)


GROUPS: dict[str, Any] = {
    "plain": {},
    "rotary": {"do_rotary": 1},
    "interleaved": {"do_rotary": 1, "rotary_interleaved": 1},
    "window": {"local_window_size": 2},
    "softcap": {"softcap": 1.5, "scale": 0.3},
    "smooth": {"smooth_softmax": 1},
}


@pytest.mark.parametrize("kind", GROUPS)
@pytest.mark.parametrize("packed", [False, True])
def test_group_query_attention(kind: str, packed: bool) -> None:
    heads, shared, width, steps = 4, 2, 16, 5
    angles = np.random.default_rng(1).uniform(-3, 3, (12, 8)).astype(np.float32)
    caches = [np.cos(angles), np.sin(angles)] if "do_rotary" in GROUPS[kind] else [None, None]

    def inputs(batch: int, length: int, before: int, room: int) -> list[Any]:
        q, k, v = (floats(batch, length, n * width, seed=i) for i, n in enumerate((heads, shared, shared)))
        qkv = [np.concatenate([q, k, v], -1), None, None] if packed else [q, k, v]
        past = [floats(batch, shared, room, width, seed=i) for i in (4, 5)]
        lengths = np.full(batch, before + length - 1, np.int32)
        return [*qkv, *past, lengths, np.array(before + length, np.int32), *caches]

    prompt, step, more = inputs(2, steps, 0, 0), inputs(2, 1, 4, 4), inputs(1, 3, 2, 2)
    common = {"num_heads": heads, "kv_num_heads": shared, "outputs": 3, "terms": 32, **GROUPS[kind]}
    check_contrib("GroupQueryAttention", prompt, step, more, **common)
    check_contrib("GroupQueryAttention", step, inputs(2, 1, 4, 9), constants=[], **common)
