"""Chaotic and ill-conditioned models: rounding alone makes large differences, in source and target alike.

Each function takes a generator and a size (0, 1, 2, ...), and returns source and target. The target is never less
stable than the source.
"""

from __future__ import annotations

import numpy as np

from bench.faults.pairs.graph import Graph, Two, Value, make_two

__all__ = ["UNSTABLE"]

Rng = np.random.Generator


def logistic_map(rng: Rng, size: int) -> Two:
    """Iterate r x (1 - x), with r near 4, against r (x - x x)."""
    rate, steps = 3.99, 5 + 4 * size

    def before(g: Graph, x: str) -> Value:
        y = g.Sigmoid(x)
        for _ in range(steps):
            y = g.Mul(g.Mul(y, rate), g.Sub(1.0, y))
        return y

    def after(g: Graph, x: str) -> Value:
        y = g.Sigmoid(x)
        for _ in range(steps):
            y = g.Mul(g.Sub(y, g.Mul(y, y)), rate)
        return y

    return make_two({"x": ["N", 4]}, before, after)


def nearly_cancelling_sum(rng: Rng, size: int) -> Two:
    """Terms of size 1000 add up to about one, in another order."""
    count = 16 * (size + 1)
    half = rng.normal(size=count) * 1000
    weights = np.concatenate([half, -half + rng.normal(size=count) * 0.01])
    order = rng.permutation(2 * count)

    def write(g: Graph, x: str, picked: np.ndarray) -> Value:
        y = g.Add(g.Mul(x, 0.01), np.ones(2 * count))
        return g.MatMul(g.Gather(y, picked.astype(np.int64), axis=1), weights[picked][:, None].copy())

    natural = np.arange(2 * count)
    return make_two(
        {"x": ["N", 2 * count]}, lambda g, x: write(g, x, natural), lambda g, x: write(g, x, np.asarray(order))
    )


def deep_with_gain(rng: Rng, size: int) -> Two:
    """Many layers of tanh with gain above one; the target sums over permuted hidden units."""
    width, depth = 16, 8 + 8 * size
    weights = [rng.normal(size=(width, width)) * 2.0 * width**-0.5 for _ in range(depth)]
    orders = [np.arange(width), *(rng.permutation(width) for _ in range(depth - 1)), np.arange(width)]

    def write(g: Graph, x: str, permuted: bool) -> Value:
        for k, weight in enumerate(weights):
            moved = weight[orders[k]][:, orders[k + 1]] if permuted else weight
            x = g.Tanh(g.MatMul(x, moved.copy()))
        return x

    return make_two({"x": ["N", width]}, lambda g, x: write(g, x, False), lambda g, x: write(g, x, True))


def deep_relu_with_gain(rng: Rng, size: int) -> Two:
    """Layers of Relu whose numbers grow; the target writes Gemm for MatMul and Add."""
    width, depth = 12, 6 + 5 * size
    weights = [rng.normal(size=(width, width)) * 2.5 * width**-0.5 for _ in range(depth)]
    biases = [rng.normal(size=width) for _ in range(depth)]

    def before(g: Graph, x: str) -> Value:
        for weight, bias in zip(weights, biases, strict=True):
            x = g.Relu(g.Add(g.MatMul(x, weight), bias))
        return x

    def after(g: Graph, x: str) -> Value:
        for weight, bias in zip(weights, biases, strict=True):
            x = g.Relu(g.Gemm(x, weight.T.copy(), bias, transB=1))
        return x

    return make_two({"x": ["N", width]}, before, after)


def variance_of_near_equals(rng: Rng, size: int) -> Two:
    """E[x^2] - E[x]^2 around an offset, against the centered formula, which is more accurate."""
    offset = float(10 ** (1 + size))

    def before(g: Graph, x: str) -> Value:
        y = g.Add(g.Tanh(x), offset)
        mean = g.ReduceMean(y, [1])
        return g.Sub(g.ReduceMean(g.Mul(y, y), [1]), g.Mul(mean, mean))

    def after(g: Graph, x: str) -> Value:
        y = g.Add(g.Tanh(x), offset)
        centered = g.Sub(y, g.ReduceMean(y, [1]))
        return g.ReduceMean(g.Mul(centered, centered), [1])

    return make_two({"x": ["N", 24]}, before, after)


def huge_equal_logits(rng: Rng, size: int) -> Two:
    """Softmax over constant weights: all logits are huge and equal but for rounding."""
    width = 32
    row = np.full((width, 1), 100.0 * (size + 1))
    order = rng.permutation(width)

    def write(g: Graph, x: str, picked: np.ndarray) -> Value:
        y = g.Gather(g.Tanh(x), picked.astype(np.int64), axis=1)
        return g.Softmax(g.MatMul(y, np.repeat(row, 6, 1)), axis=-1)

    return make_two(
        {"x": ["N", width]}, lambda g, x: write(g, x, np.arange(width)), lambda g, x: write(g, x, np.asarray(order))
    )


def softmax_of_huge_logits(rng: Rng, size: int) -> Two:
    """Softmax of logits of size 1000, decomposed with subtraction of the maximum."""
    weight = rng.normal(size=(8, 5)) * 300 * (size + 1)

    def after(g: Graph, x: str) -> Value:
        y = g.MatMul(x, weight)
        powers = g.Exp(g.Sub(y, g.ReduceMax(y, [-1])))
        return g.Div(powers, g.ReduceSum(powers, [-1]))

    return make_two({"x": ["N", 8]}, lambda g, x: g.Softmax(g.MatMul(x, weight), axis=-1), after)


def long_recurrence(rng: Rng, size: int) -> Two:
    """A recurrent net of 60 to 140 steps; the target is the same net with permuted hidden units."""
    steps, hidden = 60 + 40 * size, 8
    w, r = rng.normal(size=(hidden, 3)) * 0.5, rng.normal(size=(hidden, hidden)) * 1.5 * hidden**-0.5
    order = rng.permutation(hidden)

    def write(g: Graph, x: str, picked: np.ndarray) -> Value:
        _, last = g.RNN(x, w[picked][None], r[picked][:, picked][None], hidden_size=hidden, outputs=2)
        return g.Gather(g.Squeeze(last, [0]), np.argsort(picked).astype(np.int64), axis=1)

    return make_two(
        {"x": [steps, "N", 3]}, lambda g, x: write(g, x, np.arange(hidden)), lambda g, x: write(g, x, np.asarray(order))
    )


def long_lstm(rng: Rng, size: int) -> Two:
    """An LSTM of 100 steps with large weights; the target adds both biases ahead."""
    steps, hidden = 100, 4 + 2 * size
    w, r = rng.normal(size=(1, 4 * hidden, 3)), rng.normal(size=(1, 4 * hidden, hidden)) * 1.2
    b = rng.normal(size=(1, 8 * hidden)) * 0.5
    joined = np.concatenate([b[:, : 4 * hidden] + b[:, 4 * hidden :], np.zeros((1, 4 * hidden))], 1)

    def write(g: Graph, x: str, bias: np.ndarray) -> Value:
        y, _, _ = g.LSTM(x, w, r, bias, hidden_size=hidden, outputs=3)
        return g.Gather(y, np.int64(steps - 1), axis=0)

    return make_two({"x": [steps, "N", 3]}, lambda g, x: write(g, x, b), lambda g, x: write(g, x, joined))


def ill_conditioned_product(rng: Rng, size: int) -> Two:
    """x A A^-1 with a condition number of 10^2 to 10^4; the target moves parentheses to the better side."""
    width = 6
    left, _ = np.linalg.qr(rng.normal(size=(width, width)))
    right, _ = np.linalg.qr(rng.normal(size=(width, width)))
    matrix = (left * np.logspace(0, 2 + size, width)) @ right
    order = rng.permutation(width)
    inverse = np.linalg.inv(matrix)
    return make_two(
        {"x": ["N", width]},
        lambda g, x: g.MatMul(g.MatMul(x, matrix), inverse),
        lambda g, x: g.MatMul(g.MatMul(x, matrix[:, order].copy()), inverse[order].copy()),
    )


def power_iteration(rng: Rng, size: int) -> Two:
    """Repeated normalization and product, with the norm by ReduceL2 or by its steps."""
    matrix = rng.normal(size=(7, 7)) + 3 * np.eye(7)
    steps = 4 + 4 * size

    def before(g: Graph, x: str) -> Value:
        for _ in range(steps):
            x = g.MatMul(x, matrix)
            x = g.Div(x, g.Add(g.ReduceL2(x, [1]), 1e-6))
        return x

    def after(g: Graph, x: str) -> Value:
        for _ in range(steps):
            x = g.MatMul(x, matrix)
            x = g.Mul(x, g.Reciprocal(g.Add(g.Sqrt(g.ReduceSum(g.Mul(x, x), [1])), 1e-6)))
        return x

    return make_two({"x": ["N", 7]}, before, after)


def steep_sine(rng: Rng, size: int) -> Two:
    """sin(w x) with large w: the phase carries the rounding of the product."""
    weight = rng.normal(size=(5, 6)) * 30 * (size + 1)
    order = rng.permutation(5)
    return make_two(
        {"x": ["N", 5]},
        lambda g, x: g.Sin(g.MatMul(x, weight)),
        lambda g, x: g.Sin(g.MatMul(g.Gather(x, order.astype(np.int64), axis=1), weight[order].copy())),
    )


def small_difference_of_logs(rng: Rng, size: int) -> Two:
    """log(a) - log(b) of nearly equal a and b, against log(a / b)."""
    tiny = 10.0 ** -(1 + size)

    def ends(g: Graph, x: str) -> Value:
        base = g.Add(g.Abs(g.Tanh(x)), 2.0)
        return base, g.Add(base, g.Mul(g.Sigmoid(x), tiny))

    def before(g: Graph, x: str) -> Value:
        a, b = ends(g, x)
        return g.Sub(g.Log(b), g.Log(a))

    def after(g: Graph, x: str) -> Value:
        a, b = ends(g, x)
        return g.Log(g.Div(b, a))

    return make_two({"x": ["N", 6]}, before, after)


UNSTABLE = (
    logistic_map,
    nearly_cancelling_sum,
    deep_with_gain,
    deep_relu_with_gain,
    variance_of_near_equals,
    huge_equal_logits,
    softmax_of_huge_logits,
    long_recurrence,
    long_lstm,
    ill_conditioned_product,
    power_iteration,
    steep_sine,
    small_difference_of_logs,
)
