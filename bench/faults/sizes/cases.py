"""Families of models whose sizes matter; each is drawn several times, a third of all is kept for the report."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench.faults.pairs.graph import Graph, Two, Value, make_two

__all__ = ["CASES", "PARTS", "SizeCase", "select_part"]

Make = Callable[[np.random.Generator], Two]
PARTS = ("mend", "report")
_DRAWS = 3


@dataclass(frozen=True)
class SizeCase:
    """A source and a target that differ with some sizes."""

    family: str
    draw: int
    blind: bool
    """whether the source's graph is hidden, as that of a function is"""

    @property
    def name(self) -> str:
        return f"{self.family} {self.draw}" + (" blind" if self.blind else "")

    def make(self) -> Two:
        """Return source and target."""
        seed = int(hashlib.sha256(f"{self.family} {self.draw}".encode()).hexdigest()[:8], 16)
        return _FAMILIES[self.family](np.random.default_rng(seed))


def _w(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return np.asarray(rng.normal(size=shape) / np.sqrt(np.prod(shape[1:])), np.float32)


def _length(g: Graph, x: str, axis: int) -> Value:
    return g.Gather(g.Shape(x), [axis])


def _down(g: Graph, x: str, rng_weights: list[np.ndarray]) -> Value:
    for w in rng_weights:
        x = g.Relu(g.Conv(x, w, strides=[2, 2], pads=[1, 1, 1, 1], kernel_shape=[3, 3]))
    return x


def pool_after_strides(rng: np.random.Generator) -> Two:
    weights = [_w(rng, 4, c, 3, 3) for c in (3, 4, 4)[: int(rng.integers(1, 4))]]
    k = int(rng.integers(2, 4))

    def write(g: Graph, x: str, ceil: int) -> Value:
        pooled = g.MaxPool(_down(g, x, weights), kernel_shape=[k, k], strides=[2, 2], ceil_mode=ceil)
        return g.ReduceMean(pooled, [2, 3])

    return make_two({"x": ["N", 3, "H", "W"]}, lambda g, x: write(g, x, 1), lambda g, x: write(g, x, 0))


def detector(rng: np.random.Generator) -> Two:
    depth = int(rng.integers(3, 6))
    weights = [_w(rng, 4, 3 if not i else 4, 3, 3) for i in range(depth)]

    def write(g: Graph, x: str, ceil: int) -> Value:
        levels = [x]
        for w in weights:
            levels.append(_down(g, levels[-1], [w]))
        top = g.MaxPool(levels[-1], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=ceil)
        y = levels[-1]
        for level in levels[-2:1:-1]:
            y = g.Add(g.Resize(y, None, np.array([1, 1, 2, 2], np.float32), mode="nearest"), level)
        return y, g.ReduceMean(top, [2, 3])

    return make_two({"x": [1, 3, "H", "W"]}, lambda g, x: write(g, x, 1), lambda g, x: write(g, x, 0))


def one_length(rng: np.random.Generator) -> Two:
    length, hidden = int(rng.choice([6, 9, 13, 22])), 4
    w, r = _w(rng, 1, 4 * hidden, 3), _w(rng, 1, 4 * hidden, hidden)

    def write(g: Graph, x: str, scale: float) -> Value:
        y = g.LSTM(x, w * np.float32(scale), r, hidden_size=hidden, outputs=3)[0]
        return g.Reshape(y, [length, -1, hidden])

    return make_two({"x": ["T", 1, 3]}, lambda g, x: write(g, x, 1), lambda g, x: write(g, x, 1.1))


def window_padding(rng: np.random.Generator) -> Two:
    window = int(rng.choice([4, 7, 8, 12]))

    def write(g: Graph, x: str, wrong: bool) -> Value:
        n = _length(g, x, 1)
        rest = g.Mod(g.Sub([window], g.Mod(n, [window])), [window])
        if wrong:  # one element to pad is forgotten
            rest = g.Where(g.Equal(rest, [1]), g.Add(rest, [window]), rest)
        padded = g.Pad(x, g.Concat([0, 0, 0, 0], rest, [0], axis=0))
        windows = g.Reshape(padded, [0, -1, window, 4])
        return g.ReduceMean(g.Softmax(g.MatMul(windows, g.Transpose(windows, perm=[0, 1, 3, 2]))), [1])

    return make_two({"x": ["N", "T", 4]}, lambda g, x: write(g, x, False), lambda g, x: write(g, x, True))


def unshuffle(rng: np.random.Generator) -> Two:
    r = int(rng.choice([2, 3, 4]))

    def write(g: Graph, x: str, wrong: bool) -> Value:
        shape = g.Shape(x)
        h, w = (g.Div(g.Gather(shape, [axis]), [r]) for axis in (2, 3))
        y = g.Reshape(x, g.Concat([0, 2], h, [r], w, [r], axis=0))
        y = g.Transpose(y, perm=[0, 1, 3, 5, 2, 4])
        y = g.Reshape(y, g.Concat([0, 2 * r * r], h, w, axis=0))
        if wrong:
            y = g.Slice(y, [0], g.Max(g.Mul(g.Div(h, [2]), [2]), [1]), [2])
        return g.ReduceMean(y, [2])

    return make_two({"x": ["N", 2, "H", "W"]}, lambda g, x: write(g, x, False), lambda g, x: write(g, x, True))


def long_gru(rng: np.random.Generator) -> Two:
    most, hidden = int(rng.choice([16, 25, 50, 120])), 3
    w, r = _w(rng, 1, 3 * hidden, 2), _w(rng, 1, 3 * hidden, hidden)

    def write(g: Graph, x: str, wrong: bool) -> Value:
        x = g.Slice(x, [0], [most], [0]) if wrong else x
        return g.GRU(x, w, r, hidden_size=hidden, outputs=2)[1]

    return make_two({"x": ["T", "N", 2]}, lambda g, x: write(g, x, False), lambda g, x: write(g, x, True))


def full_table(rng: np.random.Generator) -> Two:
    rows = int(rng.choice([37, 128, 200]))
    table = _w(rng, rows, 4)

    def write(g: Graph, x: str, last: int) -> Value:
        places = g.Range(np.int64(0), g.Gather(g.Shape(x), np.int64(1)), np.int64(1))
        used = places if last == rows - 1 else g.Min(places, np.int64(last))
        return g.Tanh(g.Add(x, g.Gather(g.store(table), used, axis=0)))

    return make_two({"x": ["N", "T", 4]}, lambda g, x: write(g, x, rows - 1), lambda g, x: write(g, x, rows - 2))


def sliced_table(rng: np.random.Generator) -> Two:
    rows = int(rng.choice([30, 64, 150]))
    table = _w(rng, 1, rows, 4)

    def write(g: Graph, x: str, wrong: bool) -> Value:
        kept = g.Slice(g.store(table), [0], _length(g, x, 1), [1])
        y = g.Add(x, kept)
        return g.ReduceSum(g.Slice(y, [0], [rows - 1], [1]) if wrong else y, [1])

    return make_two({"x": ["N", "T", 4]}, lambda g, x: write(g, x, False), lambda g, x: write(g, x, True))


def key_value_cache(rng: np.random.Generator) -> Two:
    most = int(rng.choice([9, 20]))

    def write(g: Graph, past: str, new: str, mask: str, wrong: bool) -> Value:
        keys = g.Concat(past, new, axis=1)
        scores = g.Add(g.MatMul(new, g.Transpose(keys, perm=[0, 2, 1])), g.Unsqueeze(mask, [1]))
        if wrong:
            scores = g.Where(g.Greater(_length(g, keys, 1), [most]), g.Mul(scores, np.array([1.1], np.float32)), scores)
        return g.MatMul(g.Softmax(scores), keys)

    dims: dict[str, list[int | str]] = {"past": ["N", "P", 4], "new": ["N", "S", 4], "mask": ["N", "M"]}
    return make_two(dims, lambda g, p, n, m: write(g, p, n, m, False), lambda g, p, n, m: write(g, p, n, m, True))


def fractional_resize(rng: np.random.Generator) -> Two:
    scale = float(rng.choice([1.5, 0.5, 0.75, 2.5]))

    def write(g: Graph, x: str, wrong: bool) -> Value:
        if not wrong:
            return g.ReduceMean(g.Resize(x, None, np.array([1, 1, scale], np.float32), mode="linear"), [2])
        size = g.Cast(g.Ceil(g.Mul(g.Cast(g.Shape(x), to=1), np.array([1, 1, scale], np.float32))), to=7)
        return g.ReduceMean(g.Resize(x, None, None, size, mode="linear"), [2])

    return make_two({"x": ["N", 2, "T"]}, lambda g, x: write(g, x, False), lambda g, x: write(g, x, True))


def target_window(rng: np.random.Generator) -> Two:
    end = int(rng.choice([33, 100, 250]))

    def after(g: Graph, x: str) -> Value:
        return g.ReduceMean(g.Slice(x, [0], [end], [1]), [1])

    return make_two({"x": ["N", "T"]}, lambda g, x: g.ReduceMean(x, [1]), after)


def wide_kernel(rng: np.random.Generator) -> Two:
    dilation, w = int(rng.choice([5, 8])), _w(rng, 2, 2, 7)
    stride = int(rng.choice([3, 4]))

    def write(g: Graph, x: str, wrong: bool) -> Value:
        y = g.Conv(x, w, dilations=[dilation], kernel_shape=[7])
        pads = [0, 1] if wrong else [0, 0]
        pooled = g.MaxPool(y, kernel_shape=[stride], strides=[stride], pads=pads)
        return g.ReduceMean(pooled, [2])

    return make_two({"x": ["N", 2, "T"]}, lambda g, x: write(g, x, False), lambda g, x: write(g, x, True))


def state_of_one_row(rng: np.random.Generator) -> Two:
    hidden = 4
    w, r = _w(rng, 1, 4 * hidden, 3), _w(rng, 1, 4 * hidden, hidden)
    count = int(rng.integers(1, 3))
    state = np.zeros((1, count, hidden), np.float32)

    def write(g: Graph, x: str, wrong: bool) -> Value:
        states = [None, None, state, state] if wrong else []
        return g.LSTM(x, w, r, *states, hidden_size=hidden, outputs=2)[1]

    return make_two({"x": ["T", "N", 3]}, lambda g, x: write(g, x, False), lambda g, x: write(g, x, True))


def halves(rng: np.random.Generator) -> Two:
    parts = int(rng.choice([2, 3]))

    def write(g: Graph, x: str, extra: int) -> Value:
        end = g.Div(g.Add(_length(g, x, 1), [extra]), [parts])
        return g.ReduceSum(g.Slice(x, [0], end, [1]), [1])

    return make_two({"x": ["N", "T"]}, lambda g, x: write(g, x, 0), lambda g, x: write(g, x, parts - 1))


def no_small_sizes(rng: np.random.Generator) -> Two:
    """Sizes below eight divide an integer by zero, which kills the process in ONNX Runtime."""
    block = int(rng.choice([8, 12]))

    def write(g: Graph, x: str, wrong: bool) -> Value:
        n = _length(g, x, 1)
        blocks = g.Div(n, [block])
        each = g.Div(n, blocks)
        return g.ReduceSum(g.Slice(x, [0], g.Add(each, [int(wrong)]), [1]), [1])

    return make_two({"x": ["N", "T"]}, lambda g, x: write(g, x, False), lambda g, x: write(g, x, True))


def collapses_when_small(rng: np.random.Generator) -> Two:
    weights = [_w(rng, 3, 3, 3, 3) for _ in range(int(rng.integers(2, 5)))]
    ones, zeros = np.ones(3, np.float32), np.zeros(3, np.float32)

    def write(g: Graph, x: str, scale: float) -> Value:
        y = g.InstanceNormalization(_down(g, x, weights), ones, zeros)
        return g.Softmax(g.ReduceMean(g.Mul(g.Mul(y, y), np.float32(scale)), [2, 3], keepdims=0))

    return make_two({"x": [1, 3, "S", "S"]}, lambda g, x: write(g, x, 1), lambda g, x: write(g, x, 1.5))


_FAMILIES: dict[str, Make] = {
    make.__name__: make
    for make in (
        pool_after_strides,
        detector,
        one_length,
        window_padding,
        unshuffle,
        long_gru,
        full_table,
        sliced_table,
        key_value_cache,
        fractional_resize,
        target_window,
        wide_kernel,
        state_of_one_row,
        halves,
        no_small_sizes,
        collapses_when_small,
    )
}
_BLIND = ("detector", "one_length", "unshuffle", "wide_kernel", "pool_after_strides", "halves")

CASES = tuple(SizeCase(family, draw, False) for family in _FAMILIES for draw in range(_DRAWS)) + tuple(
    SizeCase(family, draw, True) for family in _BLIND for draw in range(2)
)


def select_part(part: str) -> list[SizeCase]:
    """Return two thirds to mend with, or the third that is reported, by a hash of the names."""
    kept = [case for case in CASES if int(hashlib.sha256(case.name.encode()).hexdigest(), 16) % 3 == 0]
    return kept if part == "report" else [case for case in CASES if case not in kept]
