"""Recurrent layers: RNN, GRU, LSTM."""

from __future__ import annotations

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.recurrence import Cell, Layer, activation_limit, activations_of, linear, recur
from trueport.backends.tensorflow.kernels.sizes import size_of
from trueport.mapping.declare import maps

__all__: list[str] = []

_IGNORES = {"hidden_size": "the recurrence weights have it as a dimension"}


def _bent(op: str, rows: int) -> str:
    """A layer with an activation that there is not."""
    return (
        f"(float[2,1,3] x, float[1,{rows},3] w, float[1,{rows},4] r) => (float[2,1,1,4] y) "
        f'{{ y = {op}<hidden_size=4, activations=["Bent","Bent","Bent"]>(x, w, r) }}'
    )


@maps("RNN", audited=22, ignores=_IGNORES, limits=[activation_limit(1, _bent("RNN", 4))])
def rnn(
    t: Emission,
    X: Tensor,
    W: Tensor,
    R: Tensor,
    B: Tensor | None,
    sequence_lens: Tensor | None,
    initial_h: Tensor | None,
    *,
    activation_alpha: list[float] | None,
    activation_beta: list[float] | None,
    activations: list[str],
    clip: float | None,
    direction: str,
    layout: int,
) -> list[Tensor]:
    layer = Layer(X, W, R, B, sequence_lens, (initial_h,), direction, layout)
    functions = activations_of(activations, ["Tanh"], activation_alpha, activation_beta, layer.directions)

    def make_cell(number: int, layer: Layer) -> tuple[Cell, Tensor | None]:
        (f,), biases = functions[number], layer.biases(number)
        recurrence = layer.R[number]

        def cell(x: Tensor, states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            return (f(_clipped(x + linear(states[0], recurrence), clip)),)

        return cell, None if biases is None else sum(biases)

    return recur(layer, make_cell)


@maps("GRU", audited=22, ignores=_IGNORES, limits=[activation_limit(2, _bent("GRU", 12))])
def gru(
    t: Emission,
    X: Tensor,
    W: Tensor,
    R: Tensor,
    B: Tensor | None,
    sequence_lens: Tensor | None,
    initial_h: Tensor | None,
    *,
    activation_alpha: list[float] | None,
    activation_beta: list[float] | None,
    activations: list[str] | None,
    clip: float | None,
    direction: str,
    layout: int,
    linear_before_reset: int,
) -> list[Tensor]:
    layer = Layer(X, W, R, B, sequence_lens, (initial_h,), direction, layout)
    functions = activations_of(activations, ["Sigmoid", "Tanh"], activation_alpha, activation_beta, layer.directions)

    def make_cell(number: int, layer: Layer) -> tuple[Cell, Tensor | None]:
        f, g = functions[number]
        of_input, of_state = layer.biases(number) or (None, None)
        recurrence = layer.R[number]
        width = size_of(layer.R, 2)
        gates, hidden = recurrence[: 2 * width], recurrence[2 * width :]

        def reset_before(x: Tensor, states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            (h,) = states
            x_gates, x_h = tf.split(x, [2 * width, width], -1)
            z, r = tf.split(f(_clipped(x_gates + linear(h, gates), clip)), 2, -1)
            candidate = g(_clipped(x_h + linear(r * h, hidden), clip))
            return (candidate + z * (h - candidate),)

        def reset_after(x: Tensor, states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            (h,) = states
            x_z, x_r, x_h = tf.split(x, 3, -1)
            h_z, h_r, h_h = tf.split(linear(h, recurrence, of_state), 3, -1)
            z, r = f(_clipped(x_z + h_z, clip)), f(_clipped(x_r + h_r, clip))
            candidate = g(_clipped(x_h + r * h_h, clip))
            return (candidate + z * (h - candidate),)

        if linear_before_reset:
            return reset_after, of_input
        return reset_before, None if of_state is None else of_input + of_state

    return recur(layer, make_cell)


@maps("LSTM", audited=22, ignores=_IGNORES, limits=[activation_limit(3, _bent("LSTM", 16))])
def lstm(
    t: Emission,
    X: Tensor,
    W: Tensor,
    R: Tensor,
    B: Tensor | None,
    sequence_lens: Tensor | None,
    initial_h: Tensor | None,
    initial_c: Tensor | None,
    P: Tensor | None,
    *,
    activation_alpha: list[float] | None,
    activation_beta: list[float] | None,
    activations: list[str] | None,
    clip: float | None,
    direction: str,
    input_forget: int,
    layout: int,
) -> list[Tensor]:
    layer = Layer(X, W, R, B, sequence_lens, (initial_h, initial_c), direction, layout)
    functions = activations_of(
        activations, ["Sigmoid", "Tanh", "Tanh"], activation_alpha, activation_beta, layer.directions
    )

    def make_cell(number: int, layer: Layer) -> tuple[Cell, Tensor | None]:
        f, g, h_of = functions[number]
        biases, recurrence = layer.biases(number), layer.R[number]
        peep_i, peep_o, peep_f = _peepholes(P, number, layer.X.dtype)
        width = size_of(layer.R, 2)

        def plain(x: Tensor, states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            h, c = states
            gates, new = tf.split(x + linear(h, recurrence), [3 * width, width], -1)
            i, o, forget = tf.split(f(_clipped(gates, clip)), 3, -1)
            c = (1 - i if input_forget else forget) * c + i * g(_clipped(new, clip))
            return o * h_of(c), c

        def peeping(x: Tensor, states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            h, c = states
            i, o, forget, new = tf.split(x + linear(h, recurrence), 4, -1)
            i = f(_clipped(i + peep_i * c, clip))
            forget = f(_clipped(forget + peep_f * c, clip))
            c = (1 - i if input_forget else forget) * c + i * g(_clipped(new, clip))
            o = f(_clipped(o + peep_o * c, clip))
            return o * h_of(c), c

        return plain if P is None else peeping, None if biases is None else sum(biases)

    return recur(layer, make_cell)


def _peepholes(P: Tensor | None, number: int, dtype: object) -> list[Tensor | None]:
    return [None] * 3 if P is None else tf.split(tf.cast(P[number], dtype), 3)


def _clipped(x: Tensor, clip: float | None) -> Tensor:
    return x if clip is None else tf.clip_by_value(x, -clip, clip)
