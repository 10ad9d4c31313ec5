"""Faults that only large numbers show, because of limits, overflow or outputs that hardly depend on the input."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from bench.faults.hidden.fault import HiddenFault
from bench.faults.hidden.inputs import draw_normal, fill, make_weight
from bench.faults.pairs.graph import Graph, Two, Value, make_two

__all__ = ["MAGNITUDE_FAULTS"]


def _clip_at_100(folder: Path) -> Two:
    kernel = make_weight(4, 3, 3, 3, scale=0.2)
    return make_two(
        {"x": ["N", 3, 5, 5]},
        lambda g, x: g.Relu(g.Conv(x, kernel, pads=[1] * 4)),
        lambda g, x: g.Clip(g.Conv(x, kernel, pads=[1] * 4), 0.0, 100.0),
    )


def _pixels_capped(folder: Path) -> Two:
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])

    def write(g: Graph, x: str, capped: bool) -> Value:
        y = g.Div(x, 255.0)
        y = g.Min(y, 1.0) if capped else y
        return g.Div(g.Sub(y, mean[:, None, None]), std[:, None, None])

    return make_two({"x": ["N", 3, 4, 4]}, lambda g, x: write(g, x, False), lambda g, x: write(g, x, True))


def _softmax_without_maximum(folder: Path) -> tuple[Any, Any]:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    spec = [tf.TensorSpec((None, 5), tf.float32, name="x")]

    def wrong(x: tf.Tensor) -> tf.Tensor:
        powers = tf.exp(x)
        return powers / tf.reduce_sum(powers, axis=-1, keepdims=True)

    return tf.function(tf.nn.softmax, input_signature=spec), tf.function(wrong, input_signature=spec)


def _exp_without_guard(folder: Path) -> Two:
    return make_two({"x": ["N", 4]}, lambda g, x: g.Exp(g.Min(x, 60.0)), lambda g, x: g.Exp(x))


def _far_knee(folder: Path) -> tuple[Any, Any]:
    import torch

    class Compressed(torch.nn.Module):  # type: ignore[misc]
        """Slope one up to 30, slope one tenth above."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.where(x > 30, 27 + 0.1 * x, x)

    return Compressed().eval(), torch.nn.Hardtanh(-1e9, 1e9).eval()


def _example_row() -> dict[str, Any]:
    import torch

    return {"example_inputs": (torch.zeros(2, 5),)}


def _flat_softmax(folder: Path) -> Two:
    weight = make_weight(6, 10, scale=1e-7)
    return make_two(
        {"x": ["N", 6]},
        lambda g, x: g.Softmax(g.MatMul(x, weight), axis=-1),
        lambda g, x: g.Softmax(g.MatMul(x, weight * 3), axis=-1),
    )


def _dominated_argmax(folder: Path) -> Two:
    weight, bias = make_weight(6, 4), np.array([0.0, 0.0, 500.0, 0.0])
    wrong = weight * np.array([1, -2, 1, 1])
    return make_two(
        {"x": ["N", 6]},
        lambda g, x: g.ArgMax(g.Gemm(x, weight, bias), axis=1),
        lambda g, x: g.ArgMax(g.Gemm(x, wrong, bias), axis=1),
    )


def _saturated_sigmoid(folder: Path) -> Two:
    weight = np.abs(make_weight(4, 3)) + 0.1
    return make_two(
        {"x": ["N", 4]},
        lambda g, x: g.Sigmoid(g.Add(g.MatMul(x, weight), 40.0)),
        lambda g, x: g.Sigmoid(g.Add(g.MatMul(x, weight * 2), 40.0)),
    )


MAGNITUDE_FAULTS = (
    HiddenFault(
        "magnitudes",
        "clip_at_100",
        "Relu has an upper limit of 100",
        _clip_at_100,
        lambda: {"x": draw_normal(1, 3, 5, 5, scale=1000)},
        lambda: {"x": draw_normal(1, 3, 5, 5)},
    ),
    HiddenFault(
        "magnitudes",
        "pixels_capped",
        "pixels above 255 are cut off, as in images of 16 bits",
        _pixels_capped,
        lambda: {"x": fill(4000.0, 1, 3, 4, 4)},
        lambda: {"x": draw_normal(1, 3, 4, 4)},
    ),
    HiddenFault(
        "magnitudes",
        "softmax_without_maximum",
        "Softmax does not subtract the maximum: logits above 89 give NaN",
        _softmax_without_maximum,
        lambda: {"x": np.array([[100, 99, 0, 0, 0]], np.float32)},
        lambda: {"x": draw_normal(2, 5)},
    ),
    HiddenFault(
        "magnitudes",
        "exp_without_guard",
        "the limit of 60 before Exp is missing",
        _exp_without_guard,
        lambda: {"x": fill(70.0, 1, 4)},
        lambda: {"x": draw_normal(2, 4)},
    ),
    HiddenFault(
        "magnitudes",
        "far_knee",
        "an activation has no knee at 30",
        _far_knee,
        lambda: {"x": fill(45.0, 2, 5)},
        lambda: {"x": draw_normal(2, 5)},
        _example_row,
    ),
    HiddenFault(
        "insensitive",
        "flat_softmax",
        "a kernel is multiplied by 3, but the Softmax after it is 0.1 everywhere",
        _flat_softmax,
        lambda: {"x": draw_normal(1, 6, scale=1e7)},
        lambda: {"x": draw_normal(2, 6)},
    ),
    HiddenFault(
        "insensitive",
        "dominated_argmax",
        "the weights of a class are wrong, but the bias of another decides ArgMax",
        _dominated_argmax,
        lambda: {"x": draw_normal(8, 6, scale=2000)},
        lambda: {"x": draw_normal(2, 6)},
    ),
    HiddenFault(
        "insensitive",
        "saturated_sigmoid",
        "weights are doubled before a Sigmoid that is one for all ordinary inputs",
        _saturated_sigmoid,
        lambda: {"x": fill(-20.0, 1, 4)},
        lambda: {"x": draw_normal(2, 4)},
    ),
)
