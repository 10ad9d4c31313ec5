"""float16 networks of equal precision on both sides, as ONNX models; each step is rounded in both.

Each function takes a generator and a size (0, 1, 2, ...), and returns source and target.
"""

from __future__ import annotations

import numpy as np

from bench.faults.pairs.graph import Graph, Two, Value, make_two

__all__ = ["HALVES"]

Rng = np.random.Generator


def half_mlp(rng: Rng, size: int) -> Two:
    """Linear layers as MatMul and Add, or as Gemm."""
    first, second = rng.normal(size=(8, 16)) * 0.3, rng.normal(size=(16, 4 + size)) * 0.3
    bias = rng.normal(size=16)
    return make_two(
        {"x": ["N", 8]},
        lambda g, x: g.MatMul(g.Relu(g.Add(g.MatMul(x, first), bias)), second),
        lambda g, x: g.MatMul(g.Relu(g.Gemm(x, first.T.copy(), bias, transB=1)), second),
        np.float16,
    )


def half_conv(rng: Rng, size: int) -> Two:
    """A Conv with its padding inside or as a Pad node."""
    kernel = rng.normal(size=(4 + size, 3, 3, 3)) * 0.3
    return make_two(
        {"x": ["N", 3, 6, 6]},
        lambda g, x: g.Relu(g.Conv(x, kernel, pads=[1] * 4)),
        lambda g, x: g.Max(g.Conv(g.Pad(x, [0, 0, 1, 1, 0, 0, 1, 1]), kernel), 0.0),
        np.float16,
    )


def half_attention(rng: Rng, size: int) -> Two:
    """Softmax attention with the scale on the query, a power of two."""
    weights = [rng.normal(size=(16, 16)) * 0.25 for _ in range(3)]

    def write(g: Graph, x: str, on_query: bool) -> Value:
        q, k, v = (g.MatMul(x, w) for w in weights)
        q = g.Mul(q, 0.25) if on_query else q
        scores = g.MatMul(q, g.Transpose(k, perm=[0, 2, 1]))
        scores = scores if on_query else g.Mul(scores, 0.25)
        return g.MatMul(g.Softmax(scores, axis=-1), v)

    return make_two(
        {"x": ["N", 4 + size, 16]}, lambda g, x: write(g, x, False), lambda g, x: write(g, x, True), np.float16
    )


def half_sums(rng: Rng, size: int) -> Two:
    """A sum of products from the left and from the right."""
    weights = [rng.normal(size=6) for _ in range(3 + size)]

    def chain(g: Graph, x: str, order: list[np.ndarray]) -> Value:
        total = g.Mul(x, order[0])
        for weight in order[1:]:
            total = g.Add(total, g.Mul(x, weight))
        return total

    return make_two(
        {"x": ["N", 6]}, lambda g, x: chain(g, x, weights), lambda g, x: chain(g, x, weights[::-1]), np.float16
    )


HALVES = (half_mlp, half_conv, half_attention, half_sums)
