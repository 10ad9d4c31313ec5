"""Attention and its kin against the reference evaluator in float64, at two sizes of every dynamic dimension."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.grid.harness import check
from trueport.fidelity import accumulation

HEAD, V_HEAD = 8, 6
Arrays = list[np.ndarray | None]


def normal(*shape: int, dtype: Any = np.float32, seed: int = 3) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def qkv(batch: int, queries: int, keys: int, heads: int = 4, kv_heads: int = 2, dtype: Any = np.float32) -> Arrays:
    return [
        normal(batch, heads, queries, HEAD, dtype=dtype),
        normal(batch, kv_heads, keys, HEAD, dtype=dtype, seed=4),
        normal(batch, kv_heads, keys, V_HEAD, dtype=dtype, seed=5),
    ]


def packed(arrays: Arrays) -> Arrays:
    return [x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1) for x in arrays if x is not None]


def attention(*sets: Arrays, **options: Any) -> None:
    check("Attention", *sets, **{"versus": "float64", "terms": HEAD + 8, "opset": 25, **options})


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("softcap", [0.0, 1.5])
def test_heads(causal: int, softcap: float) -> None:
    options = {"is_causal": causal, "softcap": softcap}
    attention(qkv(2, 5, 7), qkv(1, 3, 4), **options)
    attention(qkv(2, 5, 7, 3, 3), qkv(1, 3, 4, 3, 3), scale=0.3, **options)
    attention(packed(qkv(2, 5, 7)), packed(qkv(1, 3, 4)), q_num_heads=4, kv_num_heads=2, **options)


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("mask", ["float", "bool", "short", "rank1", "empty rows"])
def test_masks(mask: str, causal: int) -> None:
    def with_mask(batch: int, queries: int, keys: int) -> Arrays:
        shape = {"short": (queries, keys - 2), "rank1": (keys,)}.get(mask, (batch, 4, queries, keys))
        made = normal(*shape)
        if mask in ("bool", "rank1"):
            made = made > -0.5
        elif mask == "empty rows":
            made = np.where(np.arange(keys) + np.arange(queries)[:, None] < keys - 1, made, -np.inf).astype(np.float32)
        return [*qkv(batch, queries, keys), made]

    if mask == "rank1" and causal:
        pytest.skip("the reference evaluator takes no rank-1 mask here, nor does ONNX Runtime")
    attention(with_mask(2, 5, 6), with_mask(1, 4, 4), is_causal=causal)


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_cache_and_inner_values(mode: int) -> None:
    def with_past(batch: int, queries: int, past: int) -> Arrays:
        q, k, v = qkv(batch, queries, queries)
        mask = normal(queries, past + queries)
        return [q, k, v, mask, normal(batch, 2, past, HEAD), normal(batch, 2, past, V_HEAD)]

    options = {"qk_matmul_output_mode": mode, "softcap": 0.0 if mode == 0 else 2.0}
    attention(with_past(2, 3, 5), with_past(1, 1, 4), with_past(1, 2, 0), outputs=4, is_causal=1, **options)


@pytest.mark.parametrize("bounds", [(-1, -1), (2, -1), (-1, 1), (1, 2), (0, 0)])
@pytest.mark.parametrize("causal", [0, 1])
def test_windows_and_padding(bounds: tuple[int, int], causal: int) -> None:
    left, right = bounds
    options = {"left_window_size": left, "right_window_size": right, "is_causal": causal}
    attention(qkv(2, 5, 7), qkv(1, 8, 3), **options)
    lengths = [np.array([7, 3], np.int64), np.array([2], np.int64)]
    attention([*qkv(2, 5, 7), *[None] * 3, lengths[0]], [*qkv(1, 3, 4), *[None] * 3, lengths[1]], **options)


@pytest.mark.parametrize(
    ("dtype", "precision"),
    [(np.float16, None), (np.float16, 1), (ml_dtypes.bfloat16, 1), (np.float64, None), (np.float64, 11)],
)
def test_dtypes(dtype: Any, precision: int | None) -> None:
    """The reference rounds half precision after each step; two units of the last place more are its share."""
    options = {} if precision is None else {"softmax_precision": precision}
    attention(qkv(2, 5, 7, dtype=dtype), versus="reference", bound=accumulation(10), **options)


def test_gqa_is_onnx_runtimes() -> None:
    attention(qkv(2, 5, 7), qkv(1, 3, 4), versus="ort", opset=24, is_causal=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_flex_attention(dtype: Any) -> None:
    # A scale whose root is exact: the reference takes the root in float32, whatever the inputs are.
    sets = [qkv(2, 5, 7, dtype=dtype), qkv(1, 3, 4, dtype=dtype)]
    check("FlexAttention", *sets, domain="ai.onnx.preview", versus="float64", terms=HEAD + 8, scale=0.25)


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
@pytest.mark.parametrize("past", [False, True])
def test_linear_attention(rule: str, past: bool) -> None:
    def inputs(batch: int, steps: int) -> Arrays:
        key = normal(batch, steps, 2, HEAD, seed=6)
        key /= np.linalg.norm(key, axis=-1, keepdims=True)
        return [
            normal(batch, steps, 4 * HEAD),
            key.reshape(batch, steps, 2 * HEAD),
            normal(batch, steps, 2 * V_HEAD),
            normal(batch, 2, HEAD, V_HEAD) if past else None,
            -np.abs(normal(batch, steps, 2)) if rule.startswith("gated") else None,
            1 / (1 + np.exp(-normal(batch, steps, 2))) if rule.endswith("delta") else None,
        ]

    sets = [inputs(2, 6), inputs(1, 1)]
    heads = {"q_num_heads": 4, "kv_num_heads": 2}
    check("LinearAttention", *sets, outputs=2, versus="reference", opset=27, terms=60, update_rule=rule, **heads)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("partial", [0, 4])
@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("rank", [3, 4])
def test_rotary(rank: int, positions: bool, partial: int, interleaved: int) -> None:
    def inputs(batch: int, steps: int) -> Arrays:
        x = normal(batch, steps, 3 * HEAD) if rank == 3 else normal(batch, 3, steps, HEAD)
        cache = (20,) if positions else (batch, steps)
        angles = normal(*cache, (partial or HEAD) // 2)
        ids = np.arange(batch * steps).reshape(batch, steps) % 20 if positions else None
        return [x, np.cos(angles), np.sin(angles), ids]

    options = {"interleaved": interleaved, "rotary_embedding_dim": partial, "num_heads": 3}
    if rank == 4:
        options.pop("num_heads")
    check("RotaryEmbedding", inputs(2, 5), inputs(1, 1), versus="float64", terms=2, **options)
