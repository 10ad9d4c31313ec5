"""ONNX Runtime's forerunners of operators that ONNX has by now, and an LSTM with 8-bit weights, in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trueport.reference.onnx.microsoft.quantized import dynamically_quantized, integer_product
from trueport.reference.onnx.sampling import grid_sample

__all__ = ["PRELIMINARY"]

Array = Any


def _trilu(X: Array, k: Array | None = None, *, upper: int = 1) -> Array:
    offset = 0 if k is None else int(k)
    return np.triu(X, offset) if upper else np.tril(X, offset)


def _gather_nd(data: Array, indices: Array) -> Array:
    return data[tuple(np.moveaxis(indices, -1, 0))]


def _expand_dims(X: Array, axis: Array) -> Array:
    return np.expand_dims(X, int(axis.reshape(-1)[0]))


def _pad(data: Array, pads: Array, value: Array | None = None, *, mode: str = "constant") -> Array:
    """The pads may come as a matrix of one row."""
    before, after = np.split(pads.reshape(-1), 2)
    around = list(zip(before, after, strict=True))
    cut = tuple(slice(max(0, -b), n - max(0, -a)) for (b, a), n in zip(around, data.shape, strict=True))
    added = [(max(0, b), max(0, a)) for b, a in around]
    if mode == "constant":
        return np.pad(data[cut], added, constant_values=0 if value is None else value.reshape(-1)[0])
    return np.pad(data[cut], added, mode="reflect" if mode == "reflect" else "edge")


def _unique(x: Array) -> tuple[Array, Array, Array]:
    """Values in the order of their first occurrence, where each element's is, and how often each occurs."""
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return values[order], ranks[inverse.reshape(-1)].astype(np.int64), counts[order].astype(np.int64)


def _range(start: Array, limit: Array, delta: Array | None = None) -> Array:
    step = np.ones((), start.dtype) if delta is None else delta
    count = max(0, int(np.ceil((limit - start) / step)))
    return (start + np.arange(count) * step).astype(start.dtype)


def _grid_sample(
    X: Array, Grid: Array, *, align_corners: int = 0, mode: str = "bilinear", padding_mode: str = "zeros"
) -> Array:
    name = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    made = grid_sample(X, Grid, align_corners=align_corners, mode=name, padding_mode=padding_mode)
    if made is None:
        raise NotImplementedError("no elements, or coordinates that are not finite")
    return made


def _distances(A: Array, B: Array, *, metric: str = "sqeuclidean") -> Array:
    squares = np.sum((A[:, None] - B[None]) ** 2, axis=-1)
    return np.sqrt(squares) if metric == "euclidean" else squares


def _activations(names: Sequence[str] | None, alpha: Sequence[float], beta: Sequence[float]) -> list[Any]:
    """Return functions in the order of their names; parameters go to those that take them, in order."""
    alphas, betas, made = iter(alpha), iter(beta), []
    for name in names or ("Sigmoid", "Tanh", "Tanh"):
        default_alpha, default_beta, function = _FUNCTIONS[name.lower()]
        a = next(alphas, default_alpha) if default_alpha is not None else None
        b = next(betas, default_beta) if default_beta is not None else None
        given = [value for value in (a, b) if value is not None]
        made.append(lambda x, function=function, given=given: function(x, *given))
    return made


_FUNCTIONS: dict[str, tuple[float | None, float | None, Callable[..., Array]]] = {
    "sigmoid": (None, None, lambda x: 0.5 * (1 + np.tanh(x / 2))),
    "tanh": (None, None, np.tanh),
    "relu": (None, None, lambda x: np.maximum(x, 0)),
    "softsign": (None, None, lambda x: x / (1 + np.abs(x))),
    "softplus": (None, None, lambda x: np.logaddexp(x, 0)),
    "affine": (1.0, 0.0, lambda x, a, b: a * x + b),
    "leakyrelu": (0.01, None, lambda x, a: np.where(x >= 0, x, a * x)),
    "thresholdedrelu": (1.0, None, lambda x, a: np.where(x > a, x, 0)),
    "scaledtanh": (1.0, 1.0, lambda x, a, b: a * np.tanh(b * x)),
    "hardsigmoid": (0.2, 0.5, lambda x, a, b: np.clip(a * x + b, 0, 1)),
    "elu": (1.0, None, lambda x, a: np.where(x >= 0, x, a * np.expm1(np.minimum(x, 0)))),
}
"""Default parameters and function, by lower-case name."""


def _quantized_lstm(
    X: Array,
    W: Array,
    R: Array,
    B: Array | None,
    lengths: Array | None,
    initial_h: Array | None,
    initial_c: Array | None,
    P: Array | None,
    *weights: Array,
    hidden_size: int,
    activations: Sequence[str] | None = None,
    activation_alpha: Sequence[float] = (),
    activation_beta: Sequence[float] = (),
    clip: float | None = None,
    direction: str = "forward",
    input_forget: int = 0,
) -> tuple[Array, Array, Array]:
    """Quantize inputs and states on the way; weights are ``[directions, input or hidden, 4 · hidden]``."""
    steps, batch, directions = X.shape[0], X.shape[1], len(W)
    functions = _activations(activations or ["Sigmoid", "Tanh", "Tanh"] * directions, activation_alpha, activation_beta)
    limit = np.inf if clip is None else clip
    all_y = np.zeros((steps, directions, batch, hidden_size))
    last_h, last_c = np.zeros((2, directions, batch, hidden_size))
    w_scale, w_zero, r_scale, r_zero = weights
    counts = np.full(batch, steps) if lengths is None else lengths
    for one in range(directions):
        f, g, of_c = functions[3 * one : 3 * one + 3]
        gates = _product(X.reshape(-1, X.shape[2]), W[one], w_scale[one], w_zero[one]).reshape(steps, batch, -1)
        gates = gates if B is None else gates + sum(np.split(B[one], 2))
        peep_i, peep_o, peep_f = [0.0] * 3 if P is None else np.split(P[one], 3)
        h, c = (np.zeros((batch, hidden_size)) if s is None else s[one] for s in (initial_h, initial_c))
        is_backward = direction == "reverse" or one == 1
        for step in reversed(range(steps)) if is_backward else range(steps):
            total = gates[step] + _product(h, R[one], r_scale[one], r_zero[one])
            i, o, forget, new = np.split(total, 4, axis=-1)
            i = f(np.clip(i + peep_i * c, -limit, limit))
            forget = 1 - i if input_forget else f(np.clip(forget + peep_f * c, -limit, limit))
            after = forget * c + i * g(np.clip(new, -limit, limit))
            out = f(np.clip(o + peep_o * after, -limit, limit)) * of_c(after)
            is_there = (step < counts)[:, None]
            h, c = np.where(is_there, out, h), np.where(is_there, after, c)
            all_y[step, one] = np.where(is_there, out, 0)
        last_h[one], last_c[one] = h, c
    return all_y, last_h, last_c


def _product(x: Array, weights: Array, scale: Array, zero_point: Array) -> Array:
    codes, x_scale, x_zero = dynamically_quantized(x)
    return integer_product(codes, weights, np.asarray(x_zero), zero_point) * (x_scale * scale)


PRELIMINARY: dict[str, Callable[..., Any]] = {
    "CDist": _distances,
    "DynamicQuantizeLSTM": _quantized_lstm,
    "ExpandDims": _expand_dims,
    "GatherND": _gather_nd,
    "GridSample": _grid_sample,
    "Inverse": np.linalg.inv,
    "Pad": _pad,
    "Range": _range,
    "Trilu": _trilu,
    "Unique": _unique,
}
