"""ONNX Runtime's forerunners of operators that ONNX has by now, and an LSTM with 8-bit weights, in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trueport.reference.onnx.microsoft.quantized import dynamically_quantized, integer_product
from trueport.reference.onnx.recurrent import Cell, activations_of, lstm_step, recur
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
) -> tuple[Array, ...]:
    """Quantize inputs and states on the way; weights are ``[directions, input or hidden, 4 · hidden]``."""
    steps, batch, directions = X.shape[0], X.shape[1], len(W)
    defaults = ["Sigmoid", "Tanh", "Tanh"]
    functions = activations_of(activations, defaults, activation_alpha, activation_beta, directions)
    w_scale, w_zero, r_scale, r_zero = weights
    zeros = np.zeros((directions, batch, hidden_size))
    initial = [zeros if state is None else state for state in (initial_h, initial_c)]
    gates = []
    for one in range(directions):
        of_inputs = _product(X.reshape(-1, X.shape[2]), W[one], w_scale[one], w_zero[one]).reshape(steps, batch, -1)
        gates.append(of_inputs if B is None else of_inputs + sum(np.split(B[one], 2)))

    def cell(one: int) -> Cell:
        step = lstm_step(functions[one], None if P is None else P[one], clip, input_forget)
        return lambda x, states: step(x + _product(states[0], R[one], r_scale[one], r_zero[one]), states)

    cells = [cell(one) for one in range(directions)]
    states = [(initial[0][one], initial[1][one]) for one in range(directions)]
    return recur(gates, cells, states, lengths, direction == "reverse")


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
