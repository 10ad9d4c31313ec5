"""RNN, GRU and LSTM in NumPy: ONNX's reference ignores lengths, clipping and most activations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

__all__ = ["Cell", "activations_of", "gru", "lstm", "lstm_step", "recur", "rnn"]

Array = Any
States = tuple[Array, ...]
"""The state after a step, ``[B, H]`` each; the first one is the output."""
Cell = Callable[[Array, States], States]

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


def activations_of(
    names: Sequence[str] | None,
    defaults: Sequence[str],
    alpha: Sequence[float] | None,
    beta: Sequence[float] | None,
    directions: int,
) -> list[list[Callable[[Array], Array]]]:
    """Return the functions of each direction; parameters go, in order, to those that take them."""
    alphas, betas = iter(alpha or ()), iter(beta or ())
    functions = [_activation(name, alphas, betas) for name in (names or [*defaults] * directions)]
    size = len(defaults)
    return [functions[number * size : (number + 1) * size] for number in range(directions)]


def _activation(name: str, alphas: Iterator[float], betas: Iterator[float]) -> Callable[[Array], Array]:
    default_alpha, default_beta, function = _FUNCTIONS[name.lower()]
    a = next(alphas, default_alpha) if default_alpha is not None else None
    b = next(betas, default_beta) if default_beta is not None else None
    given = [value for value in (a, b) if value is not None]
    return lambda x: function(x, *given)


def recur(
    gates: Sequence[Array], cells: Sequence[Cell], initial: Sequence[States], lengths: Array | None, backward: bool
) -> tuple[Array, ...]:
    """Return all outputs ``[T, D, B, H]`` and the last states ``[D, B, H]``.

    ``gates``: what the inputs add to the gates, ``[T, B, G·H]``, one per direction as the other arguments.
    ``backward``: the first direction goes through the sequence from its end; a second one always does.
    """
    steps, batch = gates[0].shape[:2]
    counts = np.full(batch, steps) if lengths is None else lengths
    outputs, last = [], []
    for number, (of_inputs, cell, states) in enumerate(zip(gates, cells, initial, strict=True)):
        rows: list[Array] = [None] * steps
        for step in reversed(range(steps)) if backward or number else range(steps):
            is_there = (step < counts)[:, None]
            after = cell(of_inputs[step], states)
            rows[step] = np.where(is_there, after[0], 0)
            states = tuple(np.where(is_there, new, old) for new, old in zip(after, states, strict=True))
        outputs.append(np.stack(rows) if rows else np.zeros((0, *states[0].shape)))
        last.append(states)
    return (np.stack(outputs, axis=1), *(np.stack(each) for each in zip(*last, strict=True)))


def _layer(
    X: Array,
    biases: Sequence[Array],
    W: Array,
    cells: Sequence[Cell],
    initial: Sequence[Array | None],
    lengths: Array | None,
    *,
    direction: str,
    layout: int,
    hidden: int,
) -> tuple[Array, ...]:
    """Return the operator's outputs in its layout; ``biases`` go with the product of the inputs."""
    X = np.swapaxes(X, 0, 1) if layout else X
    initial = [np.swapaxes(s, 0, 1) if layout and s is not None else s for s in initial]
    zeros = np.zeros((len(W), X.shape[1], hidden))
    full = [zeros if state is None else state for state in initial]
    states = [tuple(state[number] for state in full) for number in range(len(W))]
    gates = [X @ np.swapaxes(weight, 0, 1) + bias for weight, bias in zip(W, biases, strict=True)]
    outputs, *last = recur(gates, cells, states, lengths, direction == "reverse")
    if not layout:
        return (outputs, *last)
    return (np.transpose(outputs, (2, 0, 1, 3)), *(np.swapaxes(state, 0, 1) for state in last))


def _biases(B: Array | None, W: Array) -> list[tuple[Array, Array]]:
    """Return the bias of the inputs and that of the recurrence, one pair per direction."""
    width = W.shape[1]
    zero = np.zeros(width)
    return [(zero, zero) if B is None else (B[number][:width], B[number][width:]) for number in range(len(W))]


def rnn(
    X: Array,
    W: Array,
    R: Array,
    B: Array | None,
    sequence_lens: Array | None,
    initial_h: Array | None,
    *,
    activation_alpha: Sequence[float] | None,
    activation_beta: Sequence[float] | None,
    activations: Sequence[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    layout: int,
) -> tuple[Array, ...]:
    """Return Y and Y_h of ``H = f(X·Wᵀ + H·Rᵀ + B)``."""
    functions = activations_of(activations, ["Tanh"], activation_alpha, activation_beta, len(W))
    limit = np.inf if clip is None else clip

    def cell(number: int) -> Cell:
        (f,), recurrence = functions[number], R[number].T
        return lambda x, states: (f(np.clip(x + states[0] @ recurrence, -limit, limit)),)

    biases, cells = [sum(pair) for pair in _biases(B, W)], [cell(number) for number in range(len(W))]
    shape: dict[str, Any] = {"direction": direction, "layout": layout, "hidden": R.shape[2]}
    return _layer(X, biases, W, cells, [initial_h], sequence_lens, **shape)


def gru(
    X: Array,
    W: Array,
    R: Array,
    B: Array | None,
    sequence_lens: Array | None,
    initial_h: Array | None,
    *,
    activation_alpha: Sequence[float] | None,
    activation_beta: Sequence[float] | None,
    activations: Sequence[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    layout: int,
    linear_before_reset: int,
) -> tuple[Array, ...]:
    """Return Y and Y_h; gates stand in the order update, reset, hidden."""
    functions = activations_of(activations, ["Sigmoid", "Tanh"], activation_alpha, activation_beta, len(W))
    limit, width, pairs = np.inf if clip is None else clip, R.shape[2], _biases(B, W)

    def cell(number: int) -> Cell:
        f, g = functions[number]
        recurrence, bias = R[number].T, pairs[number][1]

        def step(x: Array, states: States) -> States:
            (h,) = states
            of_state = h @ recurrence[:, : 2 * width] + bias[: 2 * width]
            z, r = np.split(f(np.clip(x[:, : 2 * width] + of_state, -limit, limit)), 2, axis=-1)
            if linear_before_reset:
                inner = r * (h @ recurrence[:, 2 * width :] + bias[2 * width :])
            else:
                inner = (r * h) @ recurrence[:, 2 * width :] + bias[2 * width :]
            candidate = g(np.clip(x[:, 2 * width :] + inner, -limit, limit))
            return ((1 - z) * candidate + z * h,)

        return step

    biases, cells = [pair[0] for pair in pairs], [cell(number) for number in range(len(W))]
    shape: dict[str, Any] = {"direction": direction, "layout": layout, "hidden": width}
    return _layer(X, biases, W, cells, [initial_h], sequence_lens, **shape)


def lstm(
    X: Array,
    W: Array,
    R: Array,
    B: Array | None,
    sequence_lens: Array | None,
    initial_h: Array | None,
    initial_c: Array | None,
    P: Array | None,
    *,
    activation_alpha: Sequence[float] | None,
    activation_beta: Sequence[float] | None,
    activations: Sequence[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    input_forget: int,
    layout: int,
) -> tuple[Array, ...]:
    """Return Y, Y_h and Y_c; gates stand in the order input, output, forget, cell."""
    functions = activations_of(activations, ["Sigmoid", "Tanh", "Tanh"], activation_alpha, activation_beta, len(W))

    def cell(number: int) -> Cell:
        recurrence = R[number].T
        peepholes = None if P is None else P[number]
        step = lstm_step(functions[number], peepholes, clip, input_forget)
        return lambda x, states: step(x + states[0] @ recurrence, states)

    biases, cells = [sum(pair) for pair in _biases(B, W)], [cell(number) for number in range(len(W))]
    shape: dict[str, Any] = {"direction": direction, "layout": layout, "hidden": R.shape[2]}
    return _layer(X, biases, W, cells, [initial_h, initial_c], sequence_lens, **shape)


def lstm_step(
    functions: Sequence[Callable[[Array], Array]], peepholes: Array | None, clip: float | None, input_forget: int
) -> Cell:
    """Return what makes the next states of the summed gates; as runtimes do, the input of h(C) is not clipped."""
    f, g, of_c = functions
    limit = np.inf if clip is None else clip
    peep_i, peep_o, peep_f = [0.0] * 3 if peepholes is None else np.split(peepholes, 3)

    def step(gates: Array, states: States) -> States:
        _, c = states
        i, o, forget, new = np.split(gates, 4, axis=-1)
        i = f(np.clip(i + peep_i * c, -limit, limit))
        forget = 1 - i if input_forget else f(np.clip(forget + peep_f * c, -limit, limit))
        after = forget * c + i * g(np.clip(new, -limit, limit))
        return f(np.clip(o + peep_o * after, -limit, limit)) * of_c(after), after

    return step
