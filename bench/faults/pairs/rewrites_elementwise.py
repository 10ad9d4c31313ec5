"""Rewrites of activations, normalizations, reductions and layout changes that change rounding only.

Each function takes a generator for weights and a size (0, 1, 2, ...), and returns source and target.
"""

from __future__ import annotations

import math

import numpy as np

from bench.faults.pairs.graph import Graph, Two, Value, make_two

__all__ = ["ELEMENTWISE_REWRITES"]

Rng = np.random.Generator


def decompose_layer_norm(rng: Rng, size: int) -> Two:
    """LayerNormalization becomes mean, centered squares, Sqrt and Div."""
    width = 8 + 8 * size
    scale, shift = rng.normal(1, 0.3, width), rng.normal(size=width)

    def after(g: Graph, x: str) -> Value:
        centered = g.Sub(x, g.ReduceMean(x, [-1]))
        variance = g.ReduceMean(g.Mul(centered, centered), [-1])
        return g.Add(g.Mul(g.Div(centered, g.Sqrt(g.Add(variance, 1e-5))), scale), shift)

    return make_two(
        {"x": ["N", 3, width]}, lambda g, x: g.LayerNormalization(x, scale, shift, axis=-1, epsilon=1e-5), after
    )


def decompose_instance_norm(rng: Rng, size: int) -> Two:
    """InstanceNormalization becomes reductions over height and width."""
    channels = 2 + size
    scale, shift = rng.normal(1, 0.3, channels), rng.normal(size=channels)

    def after(g: Graph, x: str) -> Value:
        centered = g.Sub(x, g.ReduceMean(x, [2, 3]))
        variance = g.ReduceMean(g.Mul(centered, centered), [2, 3])
        normal = g.Mul(centered, g.Reciprocal(g.Sqrt(g.Add(variance, 1e-5))))
        return g.Add(g.Mul(normal, scale[:, None, None]), shift[:, None, None])

    return make_two(
        {"x": ["N", channels, 6, 5]}, lambda g, x: g.InstanceNormalization(x, scale, shift, epsilon=1e-5), after
    )


def decompose_gelu(rng: Rng, size: int) -> Two:
    """Gelu becomes Erf; the linear layer before keeps the values moderate."""
    weight = rng.normal(size=(6, 4 + size)) * 0.3

    def after(g: Graph, x: str) -> Value:
        y = g.MatMul(x, weight)
        return g.Mul(g.Mul(y, 0.5), g.Add(g.Erf(g.Mul(y, math.sqrt(0.5))), 1.0))

    return make_two({"x": ["N", 6]}, lambda g, x: g.Gelu(g.MatMul(x, weight)), after)


def decompose_tanh_gelu(rng: Rng, size: int) -> Two:
    """Gelu with tanh becomes its formula, with x * x * x for the cube."""

    def after(g: Graph, x: str) -> Value:
        inner = g.Add(x, g.Mul(g.Mul(g.Mul(x, x), x), 0.044715))
        return g.Mul(g.Mul(x, 0.5), g.Add(g.Tanh(g.Mul(inner, math.sqrt(2 / math.pi))), 1.0))

    return make_two({"x": ["N", 5 + size]}, lambda g, x: g.Gelu(x, approximate="tanh"), after)


def decompose_softmax(rng: Rng, size: int) -> Two:
    """Softmax becomes Exp after subtraction of the maximum, divided by the sum."""

    def after(g: Graph, x: str) -> Value:
        powers = g.Exp(g.Sub(x, g.ReduceMax(x, [-1])))
        return g.Div(powers, g.ReduceSum(powers, [-1]))

    return make_two({"x": ["N", 3, 5 + 20 * size]}, lambda g, x: g.Softmax(x, axis=-1), after)


def decompose_log_softmax(rng: Rng, size: int) -> Two:
    """LogSoftmax becomes x - max - log(sum(exp(x - max)))."""

    def after(g: Graph, x: str) -> Value:
        shifted = g.Sub(x, g.ReduceMax(x, [-1]))
        return g.Sub(shifted, g.Log(g.ReduceSum(g.Exp(shifted), [-1])))

    return make_two({"x": ["N", 6 + 10 * size]}, lambda g, x: g.LogSoftmax(x, axis=-1), after)


def square_as_product(rng: Rng, size: int) -> Two:
    """Pow(x, 2) becomes x * x."""
    return make_two(
        {"x": ["N", 4 + size]},
        lambda g, x: g.ReduceSum(g.Pow(x, 2.0), [-1]),
        lambda g, x: g.ReduceSum(g.Mul(x, x), [-1]),
    )


def cube_as_products(rng: Rng, size: int) -> Two:
    """Pow(x, 3) becomes x * (x * x)."""
    return make_two({"x": ["N", 4 + size]}, lambda g, x: g.Pow(x, 3.0), lambda g, x: g.Mul(x, g.Mul(x, x)))


def divide_by_power_of_two(rng: Rng, size: int) -> Two:
    """Div by a power of two becomes Mul by its reciprocal, which is exact."""
    divisor = float(2 ** (3 + size))
    return make_two({"x": ["N", 5]}, lambda g, x: g.Div(x, divisor), lambda g, x: g.Mul(x, 1 / divisor))


def divide_by_constant(rng: Rng, size: int) -> Two:
    """Div by a constant becomes Mul by its rounded reciprocal."""
    divisor = rng.uniform(0.5, 300, 5)
    return make_two({"x": ["N", 5]}, lambda g, x: g.Div(x, divisor), lambda g, x: g.Mul(x, 1 / divisor))


def reciprocal_square_root(rng: Rng, size: int) -> Two:
    """x / sqrt(s) becomes x * (1 / sqrt(s))."""
    return make_two(
        {"x": ["N", 6 + size]},
        lambda g, x: g.Div(x, g.Sqrt(g.Add(g.ReduceSumSquare(x, [1]), 1e-3))),
        lambda g, x: g.Mul(x, g.Reciprocal(g.Sqrt(g.Add(g.ReduceSum(g.Mul(x, x), [1]), 1e-3)))),
    )


def mean_as_sum(rng: Rng, size: int) -> Two:
    """ReduceMean becomes ReduceSum and Div."""
    count = 7 + 13 * size
    return make_two(
        {"x": ["N", 3, count]},
        lambda g, x: g.ReduceMean(x, [2], keepdims=0),
        lambda g, x: g.Div(g.ReduceSum(x, [2], keepdims=0), float(count)),
    )


def global_pool_as_mean(rng: Rng, size: int) -> Two:
    """GlobalAveragePool becomes two means, one for each axis."""
    return make_two(
        {"x": ["N", 3, 6 + size, 5]},
        lambda g, x: g.GlobalAveragePool(x),
        lambda g, x: g.ReduceMean(g.ReduceMean(x, [3]), [2]),
    )


def reassociate_sum(rng: Rng, size: int) -> Two:
    """(((a + b) + c) + d) becomes (a + b) + (c + d), for products with constants."""
    weights = [rng.normal(size=6) for _ in range(4 + 2 * size)]

    def before(g: Graph, x: str) -> Value:
        total = g.Mul(x, weights[0])
        for weight in weights[1:]:
            total = g.Add(total, g.Mul(x, weight))
        return total

    def after(g: Graph, x: str) -> Value:
        terms = [g.Mul(x, weight) for weight in weights]
        while len(terms) > 1:
            terms = [g.Add(*terms[k : k + 2]) for k in range(0, len(terms), 2)]
        return terms[0]

    return make_two({"x": ["N", 6]}, before, after) if len(weights) in (4, 8) else _reassociate_odd(weights)


def _reassociate_odd(weights: list[np.ndarray]) -> Two:
    """Return the sum from the left and from the right."""

    def chain(g: Graph, x: str, order: list[np.ndarray]) -> Value:
        total = g.Mul(x, order[0])
        for weight in order[1:]:
            total = g.Add(total, g.Mul(x, weight))
        return total

    return make_two({"x": ["N", 6]}, lambda g, x: chain(g, x, weights), lambda g, x: chain(g, x, weights[::-1]))


def distribute_product(rng: Rng, size: int) -> Two:
    """w * (x + b) becomes w * x + w * b."""
    weight, bias = rng.normal(size=5 + size), rng.normal(size=5 + size)
    return make_two(
        {"x": ["N", 5 + size]},
        lambda g, x: g.Tanh(g.Mul(g.Add(x, bias), weight)),
        lambda g, x: g.Tanh(g.Add(g.Mul(x, weight), bias * weight)),
    )


def sigmoid_as_tanh(rng: Rng, size: int) -> Two:
    """A gate sigmoid(x) * v becomes (0.5 * tanh(x / 2) + 0.5) * v with the gate kept near one half."""
    weight = rng.normal(size=(4, 4)) * 0.02

    def before(g: Graph, x: str) -> Value:
        return g.Mul(g.Sigmoid(g.Tanh(g.MatMul(x, weight))), x)

    def after(g: Graph, x: str) -> Value:
        gate = g.Add(g.Mul(g.Tanh(g.Mul(g.Tanh(g.MatMul(x, weight)), 0.5)), 0.5), 0.5)
        return g.Mul(gate, x)

    return make_two({"x": ["N", 4]}, before, after)


def silu_as_fraction(rng: Rng, size: int) -> Two:
    """x * sigmoid(x) becomes x / (1 + exp(-x)) on bounded values."""

    def after(g: Graph, x: str) -> Value:
        y = g.Tanh(x)
        return g.Div(y, g.Add(g.Exp(g.Neg(y)), 1.0))

    def before(g: Graph, x: str) -> Value:
        y = g.Tanh(x)
        return g.Mul(y, g.Sigmoid(y))

    return make_two({"x": ["N", 6 + size]}, before, after)


def relu_forms(rng: Rng, size: int) -> Two:
    """Relu, Clip to six and LeakyRelu become Max, Min and Where."""

    def before(g: Graph, x: str) -> Value:
        return g.Relu(x), g.Clip(x, 0.0, 6.0), g.LeakyRelu(x, alpha=0.125)

    def after(g: Graph, x: str) -> Value:
        leaky = g.Where(g.Less(x, 0.0), g.Mul(x, 0.125), x)
        return g.Max(x, 0.0), g.Min(g.Max(x, 0.0), 6.0), leaky

    return make_two({"x": ["N", 4 + size]}, before, after)


def decompose_hard_swish(rng: Rng, size: int) -> Two:
    """HardSwish becomes x * clip(x / 6 + 0.5, 0, 1)."""
    return make_two(
        {"x": ["N", 5 + size]},
        lambda g, x: g.HardSwish(x),
        lambda g, x: g.Mul(x, g.Clip(g.Add(g.Mul(x, 1 / 6), 0.5), 0.0, 1.0)),
    )


def decompose_norms(rng: Rng, size: int) -> Two:
    """ReduceL1, ReduceL2 and ReduceLogSumExp become their steps."""

    def before(g: Graph, x: str) -> Value:
        return g.ReduceL1(x, [1]), g.ReduceL2(x, [1]), g.ReduceLogSumExp(g.Tanh(x), [1])

    def after(g: Graph, x: str) -> Value:
        l2 = g.Sqrt(g.ReduceSum(g.Mul(x, x), [1]))
        return g.ReduceSum(g.Abs(x), [1]), l2, g.Log(g.ReduceSum(g.Exp(g.Tanh(x)), [1]))

    return make_two({"x": ["N", 7 + size]}, before, after)


def cumsum_as_matmul(rng: Rng, size: int) -> Two:
    """CumSum becomes a product with a triangular matrix of ones."""
    count = 6 + 10 * size
    return make_two(
        {"x": ["N", count]},
        lambda g, x: g.CumSum(x, np.int64(1)),
        lambda g, x: g.MatMul(x, np.triu(np.ones((count, count)))),
    )


def reorder_split_concat(rng: Rng, size: int) -> Two:
    """Channels are split and joined in another order, and the next kernel is permuted to match."""
    channels = 6 + 3 * size
    kernel = rng.normal(size=(4, channels, 3, 3)) * 0.3
    third = channels // 3
    order = [*range(2 * third, channels), *range(third), *range(third, 2 * third)]

    def after(g: Graph, x: str) -> Value:
        a, b, c = g.Split(x, axis=1, num_outputs=3, outputs=3)
        return g.Conv(g.Concat(c, a, b, axis=1), kernel[:, order].copy(), pads=[1] * 4)

    return make_two({"x": ["N", channels, 5, 5]}, lambda g, x: g.Conv(x, kernel, pads=[1] * 4), after)


def push_transpose(rng: Rng, size: int) -> Two:
    """A Transpose moves behind element-wise operators and a reduction."""
    bias = rng.normal(size=(3 + size,))

    def before(g: Graph, x: str) -> Value:
        return g.ReduceMean(g.Sigmoid(g.Add(g.Transpose(x, perm=[0, 2, 3, 1]), bias)), [1, 2], keepdims=0)

    def after(g: Graph, x: str) -> Value:
        return g.ReduceMean(g.Sigmoid(g.Add(x, bias[:, None, None])), [2, 3], keepdims=0)

    return make_two({"x": ["N", 3 + size, 5, 4]}, before, after)


def fold_constants(rng: Rng, size: int) -> Two:
    """Arithmetic on constants is done ahead, in float64."""
    a, b = rng.normal(size=(4, 5 + size)), rng.normal(size=(4, 1))

    def before(g: Graph, x: str) -> Value:
        return g.MatMul(x, g.Tanh(g.Add(g.Mul(g.store(a), g.store(b)), 0.25)))

    return make_two({"x": ["N", 4]}, before, lambda g, x: g.MatMul(x, np.tanh(a * b + 0.25)))


def depth_to_space_as_reshape(rng: Rng, size: int) -> Two:
    """DepthToSpace becomes Reshape, Transpose, Reshape."""
    channels = 2 + size

    def after(g: Graph, x: str) -> Value:
        y = g.Transpose(g.Reshape(x, [0, channels, 2, 2, 3, 4]), perm=[0, 1, 4, 2, 5, 3])
        return g.Exp(g.Tanh(g.Reshape(y, [0, channels, 6, 8])))

    return make_two(
        {"x": ["N", 4 * channels, 3, 4]},
        lambda g, x: g.Exp(g.Tanh(g.DepthToSpace(x, blocksize=2, mode="CRD"))),
        after,
    )


def gather_as_one_hot(rng: Rng, size: int) -> Two:
    """An embedding of indices from ArgMax becomes OneHot and MatMul."""
    rows = 5 + size
    table = rng.normal(size=(rows, 3))

    def after(g: Graph, x: str) -> Value:
        hot = g.OneHot(g.ArgMax(x, axis=1, keepdims=0), np.int64(rows), np.array([0.0, 1.0]), axis=-1)
        return g.MatMul(hot, table)

    return make_two({"x": ["N", rows]}, lambda g, x: g.Gather(g.store(table), g.ArgMax(x, axis=1, keepdims=0)), after)


def horner(rng: Rng, size: int) -> Two:
    """A polynomial by powers becomes Horner's scheme, on values in [-1, 1]."""
    weights = [float(w) for w in rng.normal(size=5 + size)]

    def before(g: Graph, x: str) -> Value:
        y = g.Tanh(x)
        return g.Sum(*(g.Mul(g.Pow(y, float(k)), w) for k, w in enumerate(weights)))

    def after(g: Graph, x: str) -> Value:
        y = g.Tanh(x)
        total = g.Mul(y, weights[-1])
        for weight in weights[-2:0:-1]:
            total = g.Mul(g.Add(total, weight), y)
        return g.Add(total, weights[0])

    return make_two({"x": ["N", 4]}, before, after)


ELEMENTWISE_REWRITES = (
    decompose_layer_norm,
    decompose_instance_norm,
    decompose_gelu,
    decompose_tanh_gelu,
    decompose_softmax,
    decompose_log_softmax,
    square_as_product,
    cube_as_products,
    divide_by_power_of_two,
    divide_by_constant,
    reciprocal_square_root,
    mean_as_sum,
    global_pool_as_mean,
    reassociate_sum,
    distribute_product,
    sigmoid_as_tanh,
    silu_as_fraction,
    relu_forms,
    decompose_hard_swish,
    decompose_norms,
    cumsum_as_matmul,
    reorder_split_concat,
    push_transpose,
    fold_constants,
    depth_to_space_as_reshape,
    gather_as_one_hot,
    horner,
)
