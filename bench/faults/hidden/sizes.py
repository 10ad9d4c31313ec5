"""Faults that only certain sizes of dynamic dimensions show."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bench.faults.hidden.fault import HiddenFault
from bench.faults.hidden.inputs import draw_normal, make_weight
from bench.faults.pairs.graph import Graph, Two, Value, make_two

__all__ = ["SIZE_FAULTS"]


def _slice_window(folder: Path) -> Two:
    return make_two(
        {"x": ["N", "T"]},
        lambda g, x: g.ReduceMean(x, [1]),
        lambda g, x: g.ReduceMean(g.Slice(x, [0], [64], [1]), [1]),
    )


def _position_table(folder: Path) -> Two:
    table = make_weight(512, 4)

    def write(g: Graph, x: str, last: int) -> Value:
        positions = g.Range(np.int64(0), g.Gather(g.Shape(x), np.int64(1)), np.int64(1))
        return g.Tanh(g.Add(x, g.Gather(g.store(table), g.Min(positions, np.int64(last)), axis=0)))

    return make_two({"x": ["N", "T", 4]}, lambda g, x: write(g, x, 511), lambda g, x: write(g, x, 99))


def _lstm_batch(folder: Path) -> Two:
    hidden = 4
    w, r = make_weight(1, 4 * hidden, 3, scale=0.5), make_weight(1, 4 * hidden, hidden, scale=0.5, seed=1)
    state = np.zeros((1, 1, hidden))

    def after(g: Graph, x: str) -> Value:
        return g.LSTM(x, w, r, None, None, state, state, hidden_size=hidden, outputs=2)[1]

    return make_two({"x": ["T", "N", 3]}, lambda g, x: g.LSTM(x, w, r, hidden_size=hidden, outputs=2)[1], after)


def _ceil_mode(folder: Path) -> Two:
    def write(g: Graph, x: str, ceil: int) -> Value:
        return g.ReduceMean(g.MaxPool(x, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=ceil), [2, 3])

    return make_two({"x": ["N", 2, "H", "W"]}, lambda g, x: write(g, x, 1), lambda g, x: write(g, x, 0))


def _whole_windows(folder: Path) -> Two:
    def after(g: Graph, x: str) -> Value:
        length = g.Gather(g.Shape(x), [1])
        rest = g.Mod(length, [8])
        kept = g.Slice(x, [0], g.Where(g.Less(length, [8]), length, g.Sub(length, rest)), [1])
        return g.ReduceMax(kept, [1])

    return make_two({"x": ["N", "T"]}, lambda g, x: g.ReduceMax(x, [1]), after)


def _empty_batch(folder: Path) -> Two:
    def before(g: Graph, x: str) -> Value:
        count = g.Cast(g.Max(g.Gather(g.Shape(x), np.int64(0)), np.int64(1)), to=1)
        return g.Div(g.ReduceSum(x, [0]), count)

    def after(g: Graph, x: str) -> Value:
        count = g.Cast(g.Gather(g.Shape(x), np.int64(0)), to=1)
        return g.Div(g.ReduceSum(x, [0]), count)

    return make_two({"x": ["N", 3]}, before, after)


SIZE_FAULTS = (
    HiddenFault(
        "sizes",
        "slice_window",
        "a Slice ends at 64: longer sequences lose their end",
        _slice_window,
        lambda: {"x": draw_normal(2, 90)},
        lambda: {"x": draw_normal(2, 7)},
    ),
    HiddenFault(
        "sizes",
        "position_table",
        "positions from 100 on get the row of position 99",
        _position_table,
        lambda: {"x": draw_normal(1, 130, 4)},
        lambda: {"x": draw_normal(2, 6, 4)},
    ),
    HiddenFault(
        "sizes",
        "lstm_batch",
        "the initial state of an LSTM has a batch of one: any other batch fails",
        _lstm_batch,
        lambda: {"x": draw_normal(5, 3, 3)},
        lambda: {"x": draw_normal(5, 1, 3)},
    ),
    HiddenFault(
        "sizes",
        "ceil_mode",
        "MaxPool without ceil_mode drops the last row and column of odd sizes",
        _ceil_mode,
        lambda: {"x": draw_normal(1, 2, 7, 9)},
        lambda: {"x": draw_normal(1, 2, 8, 6)},
    ),
    HiddenFault(
        "sizes",
        "whole_windows",
        "only whole windows of 8 are read: the rest of lengths from 9 on, such as primes, is lost",
        _whole_windows,
        lambda: {"x": np.arange(13, dtype=np.float32)[None]},
        lambda: {"x": draw_normal(2, 5)},
    ),
    HiddenFault(
        "sizes",
        "empty_batch",
        "the mean over an empty batch is NaN in place of zero",
        _empty_batch,
        lambda: {"x": np.zeros((0, 3), np.float32)},
        lambda: {"x": draw_normal(2, 3)},
    ),
)
