"""Targets of lower precision on purpose: judged with a tolerance, so that *within tolerance* is no alarm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench.faults.pairs.graph import Graph, Two

__all__ = ["PRECISION_CHANGES", "TOLERANCE"]

Rng = np.random.Generator
TOLERANCE = {"rtol": 0.05, "atol": 0.5}


def half_inside_mlp(rng: Rng, size: int) -> Two:
    """A network in float32; the target computes in float16 between casts."""
    first, second = rng.normal(size=(8, 12)) * 0.3, rng.normal(size=(12, 4)) * 0.3
    return _halved(["N", 8], lambda g, x: g.Softmax(g.MatMul(g.Relu(g.MatMul(x, first)), second), axis=-1))


def half_inside_conv(rng: Rng, size: int) -> Two:
    """A convolution in float32; the target computes in float16 between casts."""
    kernel = rng.normal(size=(4, 3, 3, 3)) * 0.2
    return _halved(["N", 3, 6, 6], lambda g, x: g.Sigmoid(g.Conv(x, kernel, pads=[1] * 4)))


def half_stored_weights(rng: Rng, size: int) -> Two:
    """Weights are stored in float16; the target computes in float32."""
    weight = rng.normal(size=(10, 6)) * 0.1
    models = []
    for stored in (weight, weight.astype(np.float16).astype(np.float32)):
        g = Graph()
        x = g.input("x", ["N", 10])
        models.append(g.finish(g.MatMul(g.Tanh(x), stored)))
    return models[0], models[1]


def _halved(dims: list[int | str], body: Callable[[Graph, str], str]) -> Two:
    """Return the body in float32 and in float16; Tanh before it keeps numbers within float16's range."""
    source = Graph()
    x = source.input("x", dims)
    before = source.finish(body(source, source.Tanh(x)))
    target = Graph(np.float16)
    x = target.input("x", dims, np.float32)
    after = target.finish(target.Cast(body(target, target.Cast(target.Tanh(x), to=10)), to=1))
    return before, after


PRECISION_CHANGES = (half_inside_mlp, half_inside_conv, half_stored_weights)
