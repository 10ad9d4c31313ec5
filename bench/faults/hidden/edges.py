"""Faults at special values: NaN, infinities, ties, zeros, denormals, ends of quantized ranges, extreme masks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bench.faults.hidden.fault import HiddenFault
from bench.faults.hidden.inputs import draw_normal, fill, make_weight
from bench.faults.pairs.graph import Graph, Two, Value, make_two

__all__ = ["EDGE_FAULTS"]

FLOAT, UINT8 = 1, 2


def _missing_values(folder: Path) -> Two:
    weight = make_weight(5, 2)

    def before(g: Graph, x: str) -> Value:
        return g.MatMul(g.Where(g.IsNaN(x), 0.5, x), weight)

    return make_two({"x": ["N", 5]}, before, lambda g, x: g.MatMul(x, weight))


def _one_infinity(folder: Path) -> Two:
    return make_two(
        {"x": ["N", 5]},
        lambda g, x: g.Where(g.IsInf(x), 0.0, x),
        lambda g, x: g.Where(g.IsInf(x, detect_negative=0), 0.0, x),
    )


def _mean_of_known(folder: Path) -> tuple[Any, Any]:
    import torch

    class KnownMean(torch.nn.Module):  # type: ignore[misc]
        """The mean of what is not NaN."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.nanmean(x, dim=1)

    g = Graph()
    x = g.input("x", [2, 6])
    return KnownMean().eval(), g.finish(g.ReduceMean(x, [1], keepdims=0))


def _example_rows() -> dict[str, Any]:
    import torch

    return {"example_inputs": (torch.zeros(2, 6),)}


def _sign_of_denormals(folder: Path) -> Two:
    smallest = float(np.finfo(np.float32).tiny)
    return make_two(
        {"x": ["N", 4]},
        lambda g, x: g.Sign(x),
        lambda g, x: g.Where(g.Less(g.Abs(x), smallest), 0.0, g.Sign(x)),
    )


def _last_of_ties(folder: Path) -> Two:
    return make_two(
        {"x": ["N", 6]},
        lambda g, x: g.ArgMax(x, axis=1, select_last_index=1),
        lambda g, x: g.ArgMax(x, axis=1, select_last_index=0),
    )


def _negative_zero(folder: Path) -> Two:
    return make_two({"x": ["N", 3]}, lambda g, x: g.Reciprocal(x), lambda g, x: g.Reciprocal(g.Sub(0.0, g.Neg(x))))


def _narrow_range(folder: Path) -> Two:
    scale, zero = np.float32(0.1), np.int8(0)

    def write(g: Graph, x: str) -> Value:
        return g.DequantizeLinear(g.QuantizeLinear(x, scale, zero), scale, zero)

    return make_two({"x": ["N", 4]}, write, lambda g, x: write(g, g.Max(x, -12.7)))


def _range_without_zero(folder: Path) -> Two:
    def before(g: Graph, x: str) -> Value:
        return g.DequantizeLinear(*g.DynamicQuantizeLinear(x, outputs=3))

    def after(g: Graph, x: str) -> Value:
        low, high = g.ReduceMin(x, keepdims=0), g.ReduceMax(x, keepdims=0)
        scale = g.Div(g.Sub(high, low), 255.0)
        zero = g.Cast(g.Clip(g.Round(g.Neg(g.Div(low, scale))), 0.0, 255.0), to=UINT8)
        return g.DequantizeLinear(g.QuantizeLinear(x, scale, zero), scale, zero)

    return make_two({"x": [4, 8]}, before, after)


def _fully_masked_rows(folder: Path) -> Two:
    weights = [make_weight(4, 4, scale=0.5, seed=k) for k in range(3)]

    def write(g: Graph, x: str, keep: str, fill_in: float) -> Value:
        q, k, v = (g.MatMul(x, w) for w in weights)
        scores = g.Where(g.Unsqueeze(keep, [1]), g.MatMul(q, g.Transpose(k, perm=[0, 2, 1])), fill_in)
        return g.MatMul(g.Softmax(scores, axis=-1), v)

    return make_two(
        {"x": ["N", 16, 4], "keep": ["N", 16]},
        lambda g, x, keep: write(g, x, keep, -1e9),
        lambda g, x, keep: write(g, x, keep, float("-inf")),
        dtypes={"keep": np.bool_},
    )


def _full_length(folder: Path) -> Two:
    steps = 24

    def write(g: Graph, x: str, lengths: str, by_position: bool) -> Value:
        used = g.Cast(g.Less(g.store(np.arange(steps)), g.Unsqueeze(lengths, [1])), to=FLOAT)
        total = g.ReduceSum(g.Mul(x, used), [1])
        count = g.Cast(g.ArgMin(used, axis=1), to=FLOAT) if by_position else g.ReduceSum(used, [1])
        return g.Div(total, g.Max(count, 1.0))

    return make_two(
        {"x": ["N", steps], "lengths": ["N"]},
        lambda g, x, lengths: write(g, x, lengths, False),
        lambda g, x, lengths: write(g, x, lengths, True),
        dtypes={"lengths": np.int64},
    )


EDGE_FAULTS = (
    HiddenFault(
        "nonfinite",
        "missing_values",
        "NaN in the input is not replaced by the default",
        _missing_values,
        lambda: {"x": np.array([[1, np.nan, 2, 3, 4]], np.float32)},
        lambda: {"x": draw_normal(2, 5)},
    ),
    HiddenFault(
        "nonfinite",
        "one_infinity",
        "only positive infinity is replaced, not the negative one",
        _one_infinity,
        lambda: {"x": fill(-np.inf, 1, 5)},
        lambda: {"x": draw_normal(2, 5)},
    ),
    HiddenFault(
        "nonfinite",
        "mean_of_known",
        "nanmean is written as a mean",
        _mean_of_known,
        lambda: {"x": np.array([[1, np.nan, 2, 3, 4, 5]] * 2, np.float32)},
        lambda: {"x": draw_normal(2, 6)},
        _example_rows,
    ),
    HiddenFault(
        "edges",
        "sign_of_denormals",
        "denormal numbers are taken for zero",
        _sign_of_denormals,
        lambda: {"x": fill(1e-40, 1, 4)},
        lambda: {"x": draw_normal(2, 4)},
    ),
    HiddenFault(
        "edges",
        "last_of_ties",
        "ArgMax gives the first of equal maxima in place of the last",
        _last_of_ties,
        lambda: {"x": np.array([[1, 5, 2, 5, 0, 5]], np.float32)},
        lambda: {"x": draw_normal(2, 6)},
    ),
    HiddenFault(
        "edges",
        "negative_zero",
        "negative zero loses its sign, which its reciprocal shows",
        _negative_zero,
        lambda: {"x": fill(-0.0, 1, 3)},
        lambda: {"x": draw_normal(2, 3)},
    ),
    HiddenFault(
        "quantization",
        "narrow_range",
        "the lowest quantized value is -127 in place of -128",
        _narrow_range,
        lambda: {"x": fill(-20.0, 1, 4)},
        lambda: {"x": draw_normal(2, 4)},
    ),
    HiddenFault(
        "quantization",
        "range_without_zero",
        "a dynamic range does not include zero: inputs of one sign are wrong",
        _range_without_zero,
        lambda: {"x": np.abs(draw_normal(4, 8)) + 5},
        lambda: {"x": draw_normal(4, 8)},
    ),
    HiddenFault(
        "masks",
        "fully_masked_rows",
        "masks of zeros only give NaN in place of the mean",
        _fully_masked_rows,
        lambda: {"x": draw_normal(1, 16, 4), "keep": np.zeros((1, 16), bool)},
        lambda: {"x": draw_normal(1, 16, 4), "keep": np.arange(16)[None] < 9},
    ),
    HiddenFault(
        "masks",
        "full_length",
        "the length is the position of the first zero of a mask, which masks of ones do not have",
        _full_length,
        lambda: {"x": draw_normal(1, 24), "lengths": np.array([24])},
        lambda: {"x": draw_normal(2, 24), "lengths": np.array([3, 20])},
    ),
)
