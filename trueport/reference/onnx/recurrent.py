"""RNN, GRU and LSTM in NumPy: ONNX's reference leaves out lengths, clips, most activations and coupled gates."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["gru", "lstm", "rnn"]

Array = Any
Activation = Callable[[Array], Array]
State = tuple[Array, ...]
"""the hidden state, in an LSTM also the cell state, each of shape [batch, hidden]"""


@dataclass(frozen=True)
class _Direction:
    """The weights, functions and initial states of one direction."""

    W: Array
    R: Array
    input_bias: Array
    bias: Array
    """of the recurrence"""
    start: State
    functions: Sequence[Activation]
    backward: bool


Cell = Callable[[int, _Direction, Array, State], State]
"""One step: the number of the direction, the direction, the input's part of all gates, the state before it."""


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


_FUNCTIONS: Mapping[str, tuple[Callable[..., Array], tuple[float, ...]]] = {
    "relu": (lambda x: np.maximum(x, 0), ()),
    "tanh": (np.tanh, ()),
    "sigmoid": (_sigmoid, ()),
    "softsign": (lambda x: x / (1 + np.abs(x)), ()),
    "softplus": (lambda x: np.logaddexp(x, 0), ()),
    "leakyrelu": (lambda x, alpha: np.where(x < 0, alpha * x, x), (0.01,)),
    "thresholdedrelu": (lambda x, alpha: np.where(x >= alpha, x, 0), (1.0,)),
    "elu": (lambda x, alpha: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x), (1.0,)),
    "affine": (lambda x, alpha, beta: alpha * x + beta, (1.0, 0.0)),
    "scaledtanh": (lambda x, alpha, beta: alpha * np.tanh(beta * x), (1.0, 1.0)),
    "hardsigmoid": (lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1), (0.2, 0.5)),
}
"""Activations with the defaults of alpha and beta, which are those of the ONNX operator of that name."""


def _chosen(names: Sequence[str], alphas: Sequence[float] | None, betas: Sequence[float] | None) -> list[Activation]:
    """Return the activations; parameters are consumed in order by those that take one."""
    given = iter(alphas or ()), iter(betas or ())
    found: list[Activation] = []
    for name in names:
        function, defaults = _FUNCTIONS[name.lower()]
        parameters = [next(left, default) for left, default in zip(given, defaults, strict=False)]
        found.append(functools.partial(_called, function=function, parameters=parameters))
    return found


def _called(x: Array, function: Callable[..., Array], parameters: Sequence[float]) -> Array:
    return function(x, *parameters)


def _limited(x: Array, clip: float | None) -> Array:
    """Return what goes into the function of a gate."""
    return x if clip is None else np.clip(x, -clip, clip)


@dataclass(frozen=True)
class _Layer:
    """What the three operators have in common."""

    X: Array
    W: Array
    R: Array
    B: Array | None
    lengths: Array | None
    initial: Sequence[Array | None]
    direction: str
    layout: int

    def run(self, cell: Cell, functions: Sequence[Activation]) -> tuple[Array, ...]:
        """Return the hidden states of all steps, then the last states, in the layout of the operator."""
        X = np.swapaxes(self.X, 0, 1) if self.layout else self.X
        count, each = len(self.W), len(functions) // len(self.W)
        if count != (2 if self.direction == "bidirectional" else 1):
            raise ValueError(f"direction {self.direction!r} does not fit weights of {count} directions")
        steps, ends = [], []
        for number in range(count):
            own = functions[number * each : (number + 1) * each]
            made, last = self._one_way(number, self._direction(number, X, own), X, cell)
            steps.append(made)
            ends.append(last)
        results = [np.stack(steps, axis=1), *(np.stack(states) for states in zip(*ends, strict=True))]
        if self.layout:
            results = [results[0].transpose(2, 0, 1, 3), *(np.swapaxes(state, 0, 1) for state in results[1:])]
        return tuple(results)

    def _direction(self, number: int, X: Array, functions: Sequence[Activation]) -> _Direction:
        zeros = np.zeros((X.shape[1], self.R.shape[-1]), X.dtype)
        given = [a if a is None or not self.layout else np.swapaxes(a, 0, 1) for a in self.initial]
        start = tuple(zeros if array is None else array[number] for array in given)
        rows = self.W.shape[1]
        bias = np.zeros(2 * rows, X.dtype) if self.B is None else self.B[number]
        backward = self.direction == "reverse" or number == 1
        return _Direction(self.W[number], self.R[number], bias[:rows], bias[rows:], start, functions, backward)

    def _one_way(self, number: int, one: _Direction, X: Array, cell: Cell) -> tuple[Array, State]:
        """Return the hidden state of each step, zero beyond a sequence's end, and the state after its last one."""
        count, batch = X.shape[:2]
        ends = np.full(batch, count) if self.lengths is None else np.asarray(self.lengths, np.int64)
        fed = X @ one.W.T + one.input_bias
        made, state = np.zeros((count, batch, self.R.shape[-1]), X.dtype), one.start
        for step in range(count):
            going = step < ends
            # A sequence that is read backward begins with its own last element.
            at = np.where(going, ends - 1 - step if one.backward else step, 0)
            after = cell(number, one, fed[at, np.arange(batch)], state)
            state = tuple(np.where(going[:, None], new, old) for new, old in zip(after, state, strict=True))
            made[at[going], np.flatnonzero(going)] = after[0][going]
        # Of an empty sequence nothing is left, not even the state that it begins with.
        return made, tuple(np.where((ends > 0)[:, None], array, 0) for array in state)


def rnn(
    X: Array,
    W: Array,
    R: Array,
    B: Array | None,
    sequence_lens: Array | None,
    initial_h: Array | None,
    *,
    activations: Sequence[str],
    activation_alpha: Sequence[float] | None,
    activation_beta: Sequence[float] | None,
    clip: float | None,
    direction: str,
    layout: int,
    **_: Any,
) -> tuple[Array, ...]:
    """Return the states of all steps, and the last ones."""

    def cell(_: int, one: _Direction, x: Array, state: State) -> State:
        (f,) = one.functions
        return (f(_limited(x + state[0] @ one.R.T + one.bias, clip)),)

    functions = _chosen(activations[: len(W)], activation_alpha, activation_beta)
    return _Layer(X, W, R, B, sequence_lens, [initial_h], direction, layout).run(cell, functions)


def gru(
    X: Array,
    W: Array,
    R: Array,
    B: Array | None,
    sequence_lens: Array | None,
    initial_h: Array | None,
    *,
    activations: Sequence[str] | None,
    activation_alpha: Sequence[float] | None,
    activation_beta: Sequence[float] | None,
    clip: float | None,
    direction: str,
    layout: int,
    linear_before_reset: int,
    **_: Any,
) -> tuple[Array, ...]:
    """Return the states of all steps, and the last ones; gates are update, reset, hidden."""
    size = 2 * R.shape[-1]

    def cell(_: int, one: _Direction, x: Array, state: State) -> State:
        (h,), (f, g) = state, one.functions
        gates = _limited(x[:, :size] + h @ one.R[:size].T + one.bias[:size], clip)
        z, r = (f(part) for part in np.split(gates, 2, axis=-1))
        if linear_before_reset:
            inner = r * (h @ one.R[size:].T + one.bias[size:])
        else:
            inner = (r * h) @ one.R[size:].T + one.bias[size:]
        return ((1 - z) * g(_limited(x[:, size:] + inner, clip)) + z * h,)

    names = (activations or ["Sigmoid", "Tanh"] * len(W))[: 2 * len(W)]
    functions = _chosen(names, activation_alpha, activation_beta)
    return _Layer(X, W, R, B, sequence_lens, [initial_h], direction, layout).run(cell, functions)


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
    activations: Sequence[str] | None,
    activation_alpha: Sequence[float] | None,
    activation_beta: Sequence[float] | None,
    clip: float | None,
    direction: str,
    input_forget: int,
    layout: int,
    **_: Any,
) -> tuple[Array, ...]:
    """Return all hidden states, the last ones and the last cell states; gates are input, output, forget, cell."""
    peepholes = np.zeros((len(W), 3 * R.shape[-1]), X.dtype) if P is None else P

    def cell(number: int, one: _Direction, x: Array, state: State) -> State:
        (h, c), (f, g, last) = state, one.functions
        of_i, of_o, of_f = np.split(peepholes[number], 3)
        i, o, forget, new = np.split(x + h @ one.R.T + one.bias, 4, axis=-1)
        i = f(_limited(i + of_i * c, clip))
        kept = 1 - i if input_forget else f(_limited(forget + of_f * c, clip))
        made = kept * c + i * g(_limited(new, clip))
        return f(_limited(o + of_o * made, clip)) * last(made), made

    names = (activations or ["Sigmoid", "Tanh", "Tanh"] * len(W))[: 3 * len(W)]
    functions = _chosen(names, activation_alpha, activation_beta)
    return _Layer(X, W, R, B, sequence_lens, [initial_h, initial_c], direction, layout).run(cell, functions)
