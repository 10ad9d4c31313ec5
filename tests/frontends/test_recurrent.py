"""Recurrent layers: all standard configurations become the ONNX operator, the others a loop that agrees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types

L = keras.layers
RECURRENT = ("LSTM", "GRU", "RNN", "Loop")


def sequences(*sizes: tuple[int, int], width: int = 3) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(0)
    return [[rng.normal(size=(batch, time, width)).astype(np.float32)] for batch, time in sizes]


DYNAMIC = sequences((2, 4), (5, 7))
FIXED_TIME = sequences((2, 4), (5, 4))


def recurrent_ops(written: Any) -> list[str]:
    return [op for op in op_types(written) if op in RECURRENT]


def stack(*layers: Any, time: int | None = None, batch: int | None = None) -> keras.Model:
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((time, 3), batch_size=batch), *layers])
    for weight in model.weights:  # biases start as zeros
        if weight.dtype == "float32":
            weight.assign(np.random.default_rng(1).normal(scale=0.5, size=weight.shape))
    return model


LAYERS = {"LSTM": L.LSTM, "GRU": L.GRU, "RNN": L.SimpleRNN}

OPTIONS: dict[str, dict[str, Any]] = {
    "last": {},
    "sequences": {"return_sequences": True},
    "backwards": {"go_backwards": True},
    "backwards, sequences": {"go_backwards": True, "return_sequences": True},
    "no bias": {"use_bias": False},
    "dropout": {"dropout": 0.3, "recurrent_dropout": 0.3},
    "relu": {"activation": "relu", "return_sequences": True},
    "linear": {"activation": None},
    "elu": {"activation": "elu"},
    "softsign": {"activation": "softsign"},
    "no cudnn": {"use_cudnn": False},
}


@pytest.mark.parametrize("op", LAYERS)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_layer_is_the_operator(op: str, options: dict[str, Any]) -> None:
    if op == "RNN":
        options = {name: value for name, value in options.items() if name != "use_cudnn"}
    written = agree(stack(LAYERS[op](4, **options)), *DYNAMIC)
    assert recurrent_ops(written) == [op]


CELLS: dict[str, tuple[Callable[[], list[Any]], list[str]]] = {
    "LSTM, tanh gates": (lambda: [L.LSTM(4, recurrent_activation="tanh")], ["LSTM"]),
    "LSTM, relu gates": (lambda: [L.LSTM(4, recurrent_activation="relu")], ["LSTM"]),
    "LSTM, no forget bias": (lambda: [L.LSTM(4, unit_forget_bias=False)], ["LSTM"]),
    "LSTM, hard sigmoid": (lambda: [L.LSTM(4, recurrent_activation="hard_sigmoid")], ["LSTM"]),
    "GRU, reset before": (lambda: [L.GRU(4, reset_after=False)], ["GRU"]),
    "GRU, reset before, no bias": (lambda: [L.GRU(4, reset_after=False, use_bias=False)], ["GRU"]),
    "GRU, reset before, backwards": (lambda: [L.GRU(4, reset_after=False, go_backwards=True)], ["GRU"]),
    "stacked": (
        lambda: [L.LSTM(4, return_sequences=True), L.GRU(5, return_sequences=True), L.SimpleRNN(2)],
        ["LSTM", "GRU", "RNN"],
    ),
    "bidirectional LSTM": (lambda: [L.Bidirectional(L.LSTM(4))], ["LSTM", "LSTM"]),
    "bidirectional LSTM, sequences": (lambda: [L.Bidirectional(L.LSTM(4, return_sequences=True))], ["LSTM", "LSTM"]),
    "bidirectional GRU, summed": (
        lambda: [L.Bidirectional(L.GRU(4, return_sequences=True), merge_mode="sum")],
        ["GRU", "GRU"],
    ),
    "bidirectional, two layers": (
        lambda: [L.Bidirectional(L.GRU(4, return_sequences=True)), L.Bidirectional(L.LSTM(3))],
        ["GRU", "GRU", "LSTM", "LSTM"],
    ),
    "RNN of a cell": (lambda: [L.RNN(L.LSTMCell(4))], ["LSTM"]),
    "RNN of GRU cell": (lambda: [L.RNN(L.GRUCell(4), return_sequences=True)], ["GRU"]),
    "RNN of stacked cells": (lambda: [L.RNN([L.LSTMCell(4), L.LSTMCell(5)], return_sequences=True)], ["LSTM", "LSTM"]),
    "RNN of mixed cells": (lambda: [L.RNN([L.GRUCell(4), L.SimpleRNNCell(5)])], ["GRU", "RNN"]),
    "around a dense layer": (lambda: [L.TimeDistributed(L.Dense(6)), L.LSTM(4)], ["Loop", "LSTM"]),
}


@pytest.mark.parametrize(("layers", "expected"), CELLS.values(), ids=CELLS)
def test_a_network_is_its_operators(layers: Callable[[], list[Any]], expected: list[str]) -> None:
    written = agree(stack(*layers()), *DYNAMIC)
    assert recurrent_ops(written) == expected


@pytest.mark.parametrize("op", LAYERS)
@pytest.mark.parametrize("sequence", [False, True])
def test_a_fixed_number_of_steps(op: str, sequence: bool) -> None:
    written = agree(stack(LAYERS[op](4, return_sequences=sequence), time=4), *FIXED_TIME)
    assert recurrent_ops(written) == [op]


@pytest.mark.parametrize("op", LAYERS)
@pytest.mark.parametrize("options", [{}, {"return_sequences": True}, {"go_backwards": True}], ids=str)
def test_unrolled(op: str, options: dict[str, Any]) -> None:
    written = agree(stack(LAYERS[op](4, unroll=True, **options), time=4), *FIXED_TIME)
    assert recurrent_ops(written) == [op]


@pytest.mark.parametrize("op", LAYERS)
@pytest.mark.parametrize("sequence", [False, True])
def test_states_go_in_and_come_out(op: str, sequence: bool) -> None:
    count = 2 if op == "LSTM" else 1
    keras.utils.set_random_seed(0)
    x, states = keras.Input((None, 3)), [keras.Input((4,)) for _ in range(count)]
    made = LAYERS[op](4, return_state=True, return_sequences=sequence)(x, initial_state=states)
    rng = np.random.default_rng(0)
    samples = [
        [*sample, *(rng.normal(size=(len(sample[0]), 4)).astype(np.float32) for _ in range(count))]
        for sample in DYNAMIC
    ]
    written = agree(keras.Model([x, *states], made), *samples)
    assert recurrent_ops(written) == [op]


@pytest.mark.parametrize("op", LAYERS)
def test_encoder_and_decoder(op: str) -> None:
    keras.utils.set_random_seed(0)
    x, y = keras.Input((None, 3)), keras.Input((None, 3))
    _, *states = LAYERS[op](4, return_state=True)(x)
    made = LAYERS[op](4, return_sequences=True)(y, initial_state=states)
    samples = [[one[0], two[0]] for one, two in zip(DYNAMIC, sequences((2, 6), (5, 3)), strict=True)]
    written = agree(keras.Model([x, y], made), *samples)
    assert recurrent_ops(written) == [op, op]


@pytest.mark.parametrize("op", LAYERS)
def test_one_sequence_at_a_time(op: str) -> None:
    model = stack(LAYERS[op](4, return_sequences=True), batch=1)
    assert recurrent_ops(agree(model, *sequences((1, 4), (1, 6)))) == [op]


def test_one_feature() -> None:
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((None, 1)), L.LSTM(4)])
    assert recurrent_ops(agree(model, *sequences((2, 4), (3, 6), width=1))) == ["LSTM"]


@pytest.mark.parametrize("op", LAYERS)
def test_stateful_starts_from_its_stored_state(op: str) -> None:
    model = stack(LAYERS[op](4, stateful=True), batch=2)
    written = agree(model, sequences((2, 4))[0])
    assert recurrent_ops(written) == [op]


@pytest.mark.parametrize("op", LAYERS)
@pytest.mark.parametrize(
    "options", [{}, {"return_sequences": True}, {"return_sequences": True, "zero_output_for_mask": True}], ids=str
)
def test_a_masked_sequence_stays_a_loop(op: str, options: dict[str, Any]) -> None:
    samples = [[np.where(np.arange(x.shape[1])[:, None] % 3 == 1, 0, x)] for (x,) in DYNAMIC]
    written = agree(stack(L.Masking(), LAYERS[op](4, **options)), *samples)
    assert recurrent_ops(written) == ["Loop"]


def test_an_embedding_that_masks() -> None:
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [keras.Input((None,), dtype="int32"), L.Embedding(9, 3, mask_zero=True), L.Bidirectional(L.LSTM(4))]
    )
    samples = [[np.array([[1, 2, 3, 0], [4, 0, 0, 0]], np.int32)], [np.array([[1, 2, 8]], np.int32)]]
    assert recurrent_ops(agree(model, *samples)) == ["Loop", "Loop"]


class Minimal(keras.Layer):
    """A cell that is none of ONNX's."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.state_size = 3

    def call(self, x: Any, states: Any) -> Any:
        made = keras.ops.sin(x) * states[0] + x
        return made, [made]


def test_a_custom_cell_is_a_loop() -> None:
    assert recurrent_ops(agree(stack(L.RNN(Minimal(), return_sequences=True)), *DYNAMIC)) == ["Loop"]


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (lambda: L.ConvLSTM1D(2, 3, return_sequences=True), (4, 6, 2)),
        (lambda: L.ConvLSTM2D(2, 3, padding="same"), (4, 5, 6, 2)),
        (lambda: L.ConvLSTM3D(2, 2), (3, 4, 3, 3, 2)),
    ],
)
def test_convolutional_cells_are_loops(layer: Callable[[], Any], shape: tuple[int, ...]) -> None:
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    model = keras.Sequential([keras.Input(shape), layer()])
    samples = [[rng.normal(size=(n, *shape)).astype(np.float32)] for n in (1, 2)]
    assert recurrent_ops(agree(model, *samples)) == ["Loop"]


def test_double_precision_stays_a_loop() -> None:
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((None, 3), dtype="float64"), L.LSTM(4, dtype="float64")])
    samples = [[x.astype(np.float64)] for (x,) in DYNAMIC]
    assert recurrent_ops(agree(model, *samples)) == ["Loop"]


def test_a_loop_over_part_of_a_sequence() -> None:
    """The trip count is not the number of rows: only so many steps are made."""
    rng = np.random.default_rng(0)
    kernel, recurrent = (tf.Variable(rng.normal(size=(n, 4)).astype(np.float32)) for n in (3, 4))

    def function(x: Any) -> Any:
        rows = tf.TensorArray(tf.float32, tf.shape(x)[0]).unstack(x)

        def step(i: Any, h: Any) -> Any:
            return i + 1, tf.tanh(rows.read(i) @ kernel + h @ recurrent)

        return tf.while_loop(lambda i, h: i < 2, step, [0, tf.zeros([tf.shape(x)[1], 4])])[1]

    assert recurrent_ops(agree(function, *DYNAMIC)) == ["RNN"]


def test_the_last_state_is_read_by_others() -> None:
    """Something else in the same loop uses what the cell shows; it stays a loop that reads the operator's results."""
    rng = np.random.default_rng(0)
    kernel, recurrent = (tf.Variable(rng.normal(size=(n, 4)).astype(np.float32)) for n in (3, 4))

    def function(x: Any) -> Any:
        rows = tf.TensorArray(tf.float32, tf.shape(x)[0]).unstack(x)

        def step(i: Any, h: Any, best: Any) -> Any:
            new = tf.tanh(rows.read(i) @ kernel + h @ recurrent)
            return i + 1, new, tf.maximum(best, new * new)

        zeros = tf.zeros([tf.shape(x)[1], 4])
        return tf.while_loop(lambda i, h, b: i < tf.shape(x)[0], step, [0, zeros, zeros])[1:]

    assert recurrent_ops(agree(function, *DYNAMIC)) == ["RNN", "Loop"]


def test_the_loop_of_an_older_saved_model(tmp_path: Path) -> None:
    """As Keras 2 writes an LSTM: a function that is called, in it a loop over a TensorArray."""
    rng = np.random.default_rng(0)
    module = tf.Module()
    module.weights = [tf.Variable(rng.normal(size=s).astype(np.float32)) for s in ((3, 16), (4, 16), (16,))]
    kernel, recurrent, bias = module.weights

    @tf.function
    def standard_lstm(inputs: Any, h: Any, c: Any) -> Any:
        inputs = tf.transpose(inputs, [1, 0, 2])
        steps = tf.shape(inputs)[0]
        rows = tf.TensorArray(tf.float32, steps).unstack(inputs)
        outputs = tf.TensorArray(tf.float32, steps)

        def step(time: Any, outputs: Any, h: Any, c: Any) -> Any:
            z = tf.matmul(rows.read(time), kernel)
            z += tf.matmul(h, recurrent)
            i, f, g, o = tf.split(tf.nn.bias_add(z, bias), 4, axis=1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            h = tf.sigmoid(o) * tf.tanh(c)
            return time + 1, outputs.write(time, h), h, c

        made = tf.while_loop(lambda time, *_: time < steps, step, (0, outputs, h, c), maximum_iterations=steps)
        return tf.transpose(made[1].stack(), [1, 0, 2]), *made[2:]

    def call(x: Any) -> Any:
        zeros = tf.zeros([tf.shape(x)[0], 4])
        sequence, h, c = standard_lstm(x, zeros, zeros)
        return {"sequence": sequence, "h": h, "c": c}

    module.call = tf.function(call, input_signature=[tf.TensorSpec([None, None, 3], name="x")])
    tf.saved_model.save(module, str(tmp_path), signatures=module.call)
    assert recurrent_ops(agree(str(tmp_path), *DYNAMIC)) == ["LSTM"]


@pytest.mark.parametrize("opset", [13, 18])
def test_older_opsets(opset: int) -> None:
    written = agree(stack(L.Bidirectional(L.LSTM(4, return_sequences=True)), L.GRU(3)), *DYNAMIC, opset=opset)
    assert recurrent_ops(written) == ["LSTM", "LSTM", "GRU"]
