"""Rewrites of convolutions, matrix products and recurrent layers that change rounding only.

Each function takes a generator for weights and a size (0, 1, 2, ...), and returns source and target.
"""

from __future__ import annotations

import numpy as np

from bench.faults.pairs.graph import Dims, Graph, Two, Value, make_two

__all__ = ["LINEAR_REWRITES"]

Rng = np.random.Generator


def fold_batchnorm(rng: Rng, size: int) -> Two:
    """BatchNormalization after Conv becomes part of its kernel and bias."""
    channels = 4 + size
    kernel, bias = rng.normal(size=(channels, 3, 3, 3)) * 0.3, rng.normal(size=channels)
    scale, shift, mean = rng.normal(1, 0.3, channels), rng.normal(size=channels), rng.normal(size=channels)
    variance = rng.uniform(0.1, 2, channels)
    factor = scale / np.sqrt(variance + 1e-3)

    def before(g: Graph, x: str) -> Value:
        y = g.Conv(x, kernel, bias, pads=[1] * 4)
        return g.Relu(g.BatchNormalization(y, scale, shift, mean, variance, epsilon=1e-3))

    def after(g: Graph, x: str) -> Value:
        folded = kernel * factor[:, None, None, None]
        return g.Relu(g.Conv(x, folded, (bias - mean) * factor + shift, pads=[1] * 4))

    return make_two({"x": ["N", 3, 7 + size, 9]}, before, after)


def batchnorm_as_affine(rng: Rng, size: int) -> Two:
    """BatchNormalization becomes one Mul and one Add."""
    channels = 3 + size
    scale, shift, mean = rng.normal(1, 0.3, channels), rng.normal(size=channels), rng.normal(size=channels)
    variance = rng.uniform(0.05, 3, channels)
    factor = scale / np.sqrt(variance + 1e-5)

    def after(g: Graph, x: str) -> Value:
        offset = shift - mean * factor
        return g.Tanh(g.Add(g.Mul(x, factor[:, None, None]), offset[:, None, None]))

    return make_two(
        {"x": ["N", channels, 5, 6]},
        lambda g, x: g.Tanh(g.BatchNormalization(x, scale, shift, mean, variance)),
        after,
    )


def matmul_add_as_gemm(rng: Rng, size: int) -> Two:
    """MatMul and Add become Gemm with a transposed weight."""
    inner = 8 * (size + 1)
    weight, bias = rng.normal(size=(inner, 5)), rng.normal(size=5)
    return make_two(
        {"x": ["N", inner]},
        lambda g, x: g.Sigmoid(g.Add(g.MatMul(x, weight), bias)),
        lambda g, x: g.Sigmoid(g.Gemm(x, weight.T.copy(), bias, transB=1)),
    )


def pointwise_conv_as_matmul(rng: Rng, size: int) -> Two:
    """Conv with a 1x1 kernel becomes MatMul in channel-last layout."""
    channels = 4 + 2 * size
    weight, bias = rng.normal(size=(6, channels)), rng.normal(size=6)

    def after(g: Graph, x: str) -> Value:
        y = g.Add(g.MatMul(g.Transpose(x, perm=[0, 2, 3, 1]), weight.T.copy()), bias)
        return g.Transpose(y, perm=[0, 3, 1, 2])

    return make_two({"x": ["N", channels, 5, 4]}, lambda g, x: g.Conv(x, weight[:, :, None, None].copy(), bias), after)


def conv_as_shifted_sums(rng: Rng, size: int) -> Two:
    """Conv1D becomes a sum of one MatMul for each tap."""
    taps = 3 + size
    kernel = rng.normal(size=(4, 3, taps)) * 0.5
    length = 12

    def after(g: Graph, x: str) -> Value:
        total = None
        for tap in range(taps):
            part = g.Slice(x, [tap], [tap + length - taps + 1], [2])
            term = g.MatMul(kernel[:, :, tap].copy(), part)
            total = term if total is None else g.Add(total, term)
        return total

    return make_two({"x": ["N", 3, length]}, lambda g, x: g.Conv(x, kernel), after)


def grouped_conv_split(rng: Rng, size: int) -> Two:
    """A grouped Conv becomes Split, one Conv for each group, and Concat."""
    groups = 2 + size
    kernel = rng.normal(size=(2 * groups, 2, 3, 3)) * 0.4

    def after(g: Graph, x: str) -> Value:
        parts = g.Split(x, axis=1, num_outputs=groups, outputs=groups)
        done = [g.Conv(part, kernel[2 * k : 2 * k + 2].copy(), pads=[1] * 4) for k, part in enumerate(parts)]
        return g.Elu(g.Concat(*done, axis=1))

    return make_two(
        {"x": ["N", 2 * groups, 6, 6]},
        lambda g, x: g.Elu(g.Conv(x, kernel, pads=[1] * 4, group=groups)),
        after,
    )


def conv_padding_apart(rng: Rng, size: int) -> Two:
    """The padding of a Conv becomes a Pad node."""
    kernel = rng.normal(size=(5, 2, 3, 3)) * 0.4
    pads = [1, 0, 2, 1 + size]
    full = [0, 0, pads[0], pads[1], 0, 0, pads[2], pads[3]]
    return make_two(
        {"x": ["N", 2, "H", "W"]},
        lambda g, x: g.Conv(x, kernel, pads=pads, strides=[2, 1]),
        lambda g, x: g.Conv(g.Pad(x, full), kernel, strides=[2, 1]),
    )


def scale_into_weight(rng: Rng, size: int) -> Two:
    """A Mul of the input moves into the weight of the following MatMul."""
    inner = 6 + 3 * size
    scale, weight = rng.uniform(0.2, 3, inner), rng.normal(size=(inner, 7))
    return make_two(
        {"x": ["N", "T", inner]},
        lambda g, x: g.MatMul(g.Mul(x, scale), weight),
        lambda g, x: g.MatMul(x, scale[:, None] * weight),
    )


def merge_two_linear(rng: Rng, size: int) -> Two:
    """Two linear layers in a row become one: (x A) B = x (A B)."""
    inner = 5 + size
    first, second = rng.normal(size=(6, inner)) * 0.4, rng.normal(size=(inner, 4)) * 0.4
    return make_two(
        {"x": ["N", 6]},
        lambda g, x: g.Tanh(g.MatMul(g.MatMul(x, first), second)),
        lambda g, x: g.Tanh(g.MatMul(x, first @ second)),
    )


def fuse_qkv(rng: Rng, size: int) -> Two:
    """Three projections of one input become one product and a Split."""
    width = 8 + 4 * size
    weights = [rng.normal(size=(width, width)) * width**-0.5 for _ in range(3)]

    def attend(g: Graph, q: str, k: str, v: str) -> Value:
        scores = g.Mul(g.MatMul(q, g.Transpose(k, perm=[0, 2, 1])), width**-0.5)
        return g.MatMul(g.Softmax(scores, axis=-1), v)

    def after(g: Graph, x: str) -> Value:
        return attend(g, *g.Split(g.MatMul(x, np.concatenate(weights, 1)), axis=-1, num_outputs=3, outputs=3))

    return make_two({"x": ["N", "T", width]}, lambda g, x: attend(g, *(g.MatMul(x, w) for w in weights)), after)


def scale_before_scores(rng: Rng, size: int) -> Two:
    """Attention scales the query by 1/sqrt(d) in place of the scores."""
    width = 6 + 2 * size

    def before(g: Graph, q: str, k: str, v: str) -> Value:
        scores = g.Div(g.MatMul(q, g.Transpose(k, perm=[0, 2, 1])), float(np.sqrt(width)))
        return g.MatMul(g.Softmax(scores, axis=-1), v)

    def after(g: Graph, q: str, k: str, v: str) -> Value:
        scores = g.MatMul(g.Mul(q, width**-0.5), g.Transpose(k, perm=[0, 2, 1]))
        return g.MatMul(g.Softmax(scores, axis=-1), v)

    dims: Dims = ["N", 5, width]
    return make_two({"q": dims, "k": dims, "v": dims}, before, after)


def einsum_as_matmul(rng: Rng, size: int) -> Two:
    """Einsum over heads becomes Transpose and MatMul."""
    heads = 2 + size

    def after(g: Graph, q: str, k: str) -> Value:
        turned = g.Transpose(q, perm=[0, 2, 1, 3]), g.Transpose(k, perm=[0, 2, 3, 1])
        return g.MatMul(*turned)

    dims: Dims = ["N", 4, heads, 5]
    return make_two({"q": dims, "k": dims}, lambda g, q, k: g.Einsum(q, k, equation="bqhd,bkhd->bhqk"), after)


def einsum_as_sum(rng: Rng, size: int) -> Two:
    """Einsum of three operands becomes products and a ReduceSum."""
    weight = rng.normal(size=(4 + size,))
    return make_two(
        {"a": ["N", 4 + size], "b": ["N", 4 + size]},
        lambda g, a, b: g.Einsum(a, b, weight, equation="nd,nd,d->n"),
        lambda g, a, b: g.ReduceSum(g.Mul(a, g.Mul(b, weight)), [1], keepdims=0),
    )


def swap_matmul_by_transposes(rng: Rng, size: int) -> Two:
    """A B becomes the transpose of (B^T A^T)."""
    weight = rng.normal(size=(6 + size, 4))

    def after(g: Graph, x: str) -> Value:
        y = g.MatMul(weight.T.copy(), g.Transpose(x, perm=[0, 2, 1]))
        return g.Transpose(y, perm=[0, 2, 1])

    return make_two({"x": ["N", "T", 6 + size]}, lambda g, x: g.MatMul(x, weight), after)


def split_inner_axis(rng: Rng, size: int) -> Two:
    """A MatMul over K becomes the sum of products over parts of K."""
    inner, parts = 64 * (size + 1), 4
    weight = rng.normal(size=(inner, 3)) * inner**-0.5
    step = inner // parts

    def after(g: Graph, x: str) -> Value:
        pieces = g.Split(x, axis=-1, num_outputs=parts, outputs=parts)
        products = [g.MatMul(p, weight[k * step : (k + 1) * step].copy()) for k, p in enumerate(pieces)]
        return g.Sum(*reversed(products))

    return make_two({"x": ["N", inner]}, lambda g, x: g.MatMul(x, weight), after)


def permute_inner_axis(rng: Rng, size: int) -> Two:
    """Hidden units change places, which changes the order of summation."""
    hidden = 32 * (size + 1)
    first, second = rng.normal(size=(5, hidden)) * 0.5, rng.normal(size=(hidden, 3)) * hidden**-0.5
    order = rng.permutation(hidden)
    return make_two(
        {"x": ["N", 5]},
        lambda g, x: g.MatMul(g.Relu(g.MatMul(x, first)), second),
        lambda g, x: g.MatMul(g.Relu(g.MatMul(x, first[:, order].copy())), second[order].copy()),
    )


def transposed_conv_as_conv(rng: Rng, size: int) -> Two:
    """ConvTranspose of stride one becomes Conv with a flipped kernel and full padding."""
    side = 2 + size
    kernel = rng.normal(size=(3, 4, side, side)) * 0.4
    flipped = kernel[:, :, ::-1, ::-1].transpose(1, 0, 2, 3).copy()
    return make_two(
        {"x": ["N", 3, 5, 6]},
        lambda g, x: g.ConvTranspose(x, kernel),
        lambda g, x: g.Conv(x, flipped, pads=[side - 1] * 4),
    )


def average_pool_as_conv(rng: Rng, size: int) -> Two:
    """AveragePool becomes a depthwise Conv with a constant kernel."""
    channels = 3 + size
    kernel = np.full((channels, 1, 3, 3), 1 / 9)
    return make_two(
        {"x": ["N", channels, 8, 7]},
        lambda g, x: g.AveragePool(x, kernel_shape=[3, 3], strides=[2, 2]),
        lambda g, x: g.Conv(x, kernel, group=channels, strides=[2, 2]),
    )


def unroll_lstm(rng: Rng, size: int) -> Two:
    """LSTM becomes its equations, step by step."""
    steps, width, hidden = 4 + 6 * size, 3, 4
    w, r = rng.normal(size=(4 * hidden, width)) * 0.5, rng.normal(size=(4 * hidden, hidden)) * 0.5
    b = rng.normal(size=8 * hidden) * 0.3

    def before(g: Graph, x: str) -> Value:
        _, last, _ = g.LSTM(x, w[None], r[None], b[None], hidden_size=hidden, outputs=3)
        return g.Squeeze(last, [0])

    def after(g: Graph, x: str) -> Value:
        h = c = None
        bias = b[: 4 * hidden] + b[4 * hidden :]
        for step in range(steps):
            gates = g.Add(g.MatMul(g.Gather(x, np.int64(step), axis=0), w.T.copy()), bias)
            if h is not None:
                gates = g.Add(gates, g.MatMul(h, r.T.copy()))
            i, o, f, z = g.Split(gates, axis=-1, num_outputs=4, outputs=4)
            new = g.Mul(g.Sigmoid(i), g.Tanh(z))
            c = new if c is None else g.Add(g.Mul(g.Sigmoid(f), c), new)
            h = g.Mul(g.Sigmoid(o), g.Tanh(c))
        return h

    return make_two({"x": [steps, "N", width]}, before, after)


def unroll_gru(rng: Rng, size: int) -> Two:
    """GRU becomes its equations, step by step."""
    steps, width, hidden = 5 + 5 * size, 3, 4
    w, r = rng.normal(size=(3 * hidden, width)) * 0.5, rng.normal(size=(3 * hidden, hidden)) * 0.5

    def before(g: Graph, x: str) -> Value:
        _, last = g.GRU(x, w[None], r[None], hidden_size=hidden, linear_before_reset=1, outputs=2)
        return g.Squeeze(last, [0])

    def after(g: Graph, x: str) -> Value:
        h = g.Mul(g.MatMul(g.Gather(x, np.int64(0), axis=0), np.zeros((width, hidden))), 0.0)
        for step in range(steps):
            inner = g.Split(
                g.MatMul(g.Gather(x, np.int64(step), axis=0), w.T.copy()), axis=-1, num_outputs=3, outputs=3
            )
            outer = g.Split(g.MatMul(h, r.T.copy()), axis=-1, num_outputs=3, outputs=3)
            z, reset = g.Sigmoid(g.Add(inner[0], outer[0])), g.Sigmoid(g.Add(inner[1], outer[1]))
            new = g.Tanh(g.Add(inner[2], g.Mul(reset, outer[2])))
            h = g.Add(g.Mul(g.Sub(1.0, z), new), g.Mul(z, h))
        return h

    return make_two({"x": [steps, "N", width]}, before, after)


LINEAR_REWRITES = (
    fold_batchnorm,
    batchnorm_as_affine,
    matmul_add_as_gemm,
    pointwise_conv_as_matmul,
    conv_as_shifted_sums,
    grouped_conv_split,
    conv_padding_apart,
    scale_into_weight,
    merge_two_linear,
    fuse_qkv,
    scale_before_scores,
    einsum_as_matmul,
    einsum_as_sum,
    swap_matmul_by_transposes,
    split_inner_axis,
    permute_inner_axis,
    transposed_conv_as_conv,
    average_pool_as_conv,
    unroll_lstm,
    unroll_gru,
)
