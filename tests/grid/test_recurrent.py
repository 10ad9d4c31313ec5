"""RNN, GRU, LSTM: every attribute, at several lengths and batch sizes, against ONNX Runtime.

ONNX Runtime has no layout 1 and no half precision here; those are compared with the reference evaluator.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

from tests.grid.harness import check, make_model
from trueport.backend import prepare

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}
OUTPUTS = {"RNN": 2, "GRU": 2, "LSTM": 3}
INPUT, HIDDEN = 3, 4
ACTIVATIONS = [
    *("Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu"),
    *("ScaledTanh", "HardSigmoid", "Elu", "Softsign", "Softplus"),
]


def inputs(
    op: str,
    steps: int,
    batch: int,
    *,
    directions: int = 1,
    dtype: Any = np.float32,
    bias: bool = True,
    lengths: list[int] | None = None,
    initial: bool = False,
    peepholes: bool = False,
    layout: int = 0,
) -> list[np.ndarray | None]:
    random = np.random.default_rng(7)

    def some(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) / 2).astype(dtype)

    gates = GATES[op] * HIDDEN
    x = some(steps, batch, INPUT)
    state = [some(directions, batch, HIDDEN) if initial else None for _ in range(2 if op == "LSTM" else 1)]
    if layout:
        x, state = x.swapaxes(0, 1), [s if s is None else s.swapaxes(0, 1) for s in state]
    weights = [some(directions, gates, INPUT), some(directions, gates, HIDDEN)]
    return [
        x,
        *weights,
        some(directions, 2 * gates) if bias else None,
        None if lengths is None else np.array(lengths, np.int32),
        *state,
        *([some(directions, 3 * HIDDEN) if peepholes else None] if op == "LSTM" else []),
    ]


def run(op: str, *sets: list[np.ndarray | None], **options: Any) -> None:
    terms = max(s[0].shape[0] * s[0].shape[1] for s in sets) * (INPUT + HIDDEN)
    check(op, *sets, outputs=OUTPUTS[op], terms=terms, hidden_size=HIDDEN, **options)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_directions_lengths_states(op: str, direction: str) -> None:
    directions = 2 if direction == "bidirectional" else 1
    options = {"directions": directions, "initial": True}
    run(
        op,
        inputs(op, 6, 3, lengths=[6, 2, 4], **options),
        inputs(op, 5, 2, lengths=[1, 5], **options),
        inputs(op, 1, 2, lengths=[1, 0], **options),
        direction=direction,
    )


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("steps", [1, 3, 9])
def test_plain(op: str, layout: int, steps: int) -> None:
    run(
        op,
        inputs(op, steps, 2, layout=layout),
        inputs(op, steps + 2, 1, layout=layout),
        versus="float64",
        layout=layout,
    )


@pytest.mark.parametrize("op", GATES)
def test_known_steps_are_unrolled(op: str) -> None:
    given = inputs(op, 3, 2, lengths=[3, 1], directions=2)
    run(op, given, constants=[0, 1, 2, 3], direction="bidirectional")


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(op: str, name: str) -> None:
    names = [*["Affine", "Sigmoid", "HardSigmoid"][: FUNCTIONS[op] - 1], name]
    parameters = {"activation_alpha": [0.3, 0.6, 0.4][: len(names)], "activation_beta": [0.2, 0.45, 0.7]}
    run(op, inputs(op, 6, 2), activations=names, **parameters)


@pytest.mark.parametrize("op", GATES)
def test_clip(op: str) -> None:
    run(op, inputs(op, 6, 2), clip=0.2)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("op", GATES)
def test_half_precision(op: str, dtype: Any) -> None:
    given = inputs(op, 6, 2, dtype=dtype)
    model = make_model(op, [given], OUTPUTS[op], hidden_size=HIDDEN)
    got = prepare(model).run([x for x in given if x is not None])
    wide = [None if x is None else x.astype(np.float32) for x in given]
    want = prepare(make_model(op, [wide], OUTPUTS[op], hidden_size=HIDDEN)).run([x for x in wide if x is not None])
    for g, w in zip(got, want, strict=True):
        assert g.dtype == dtype
        np.testing.assert_array_equal(g, w.astype(dtype))


def test_double() -> None:
    run("LSTM", inputs("LSTM", 6, 2, dtype=np.float64, initial=True, peepholes=True), versus="reference")


@pytest.mark.parametrize("linear_before_reset", [0, 1])
@pytest.mark.parametrize("bias", [False, True])
def test_gru_reset(linear_before_reset: int, bias: bool) -> None:
    given = inputs("GRU", 6, 2, bias=bias, initial=True)
    run("GRU", given, versus="float64", linear_before_reset=linear_before_reset)


@pytest.mark.parametrize("input_forget", [0, 1])
def test_lstm_peepholes(input_forget: int) -> None:
    given = inputs("LSTM", 6, 2, directions=2, peepholes=True, initial=True, lengths=[6, 3])
    run("LSTM", given, input_forget=input_forget, direction="bidirectional")


@pytest.mark.parametrize("op", GATES)
def test_no_steps(op: str) -> None:
    """ONNX Runtime refuses these; there is nothing to compute."""
    model = make_model(op, [inputs(op, 6, 2, initial=True)], OUTPUTS[op], hidden_size=HIDDEN)
    rep = prepare(model)
    for steps, batch in ((0, 2), (3, 0), (0, 0)):
        given = inputs(op, steps, batch, initial=True)
        y, *states = rep.run([x for x in given if x is not None])
        assert y.shape == (steps, 1, batch, HIDDEN)
        for state, initial in zip(states, given[5:7], strict=False):
            np.testing.assert_array_equal(state, initial)


def test_gradient_and_compilation() -> None:
    """The layer trains (a gradient reaches the weights), and XLA compiles it when shapes are known."""
    import tensorflow as tf

    given = inputs("LSTM", 9, 2)
    model = make_model("LSTM", [given], 1, constants=[1, 2, 3], hidden_size=HIDDEN)
    for dim, size in zip(model.graph.input[0].type.tensor_type.shape.dim, given[0].shape, strict=True):
        dim.dim_value = size
    model = onnx.shape_inference.infer_shapes(model)
    module = prepare(model).conversion.built.traced.module
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(module(x0=tf.constant(given[0]))["y0"])
    gradients = tape.gradient(loss, module.trainable_variables)
    assert len(gradients) == 3 and all(g is not None and np.any(g) for g in gradients)
    compiled = tf.function(lambda x: module(x0=x), jit_compile=True)(tf.constant(given[0]))
    np.testing.assert_allclose(compiled["y0"], module(x0=tf.constant(given[0]))["y0"], atol=1e-6)
