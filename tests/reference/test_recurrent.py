"""Recurrent operators in float64 beside ONNX Runtime: directions, lengths, clipping, peepholes, activations."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest

from tests.models import model_of
from trueport.mapping.registry import RECORDS
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.runtimes.onnxruntime import OnnxRuntimeModel

STEPS, BATCH, WIDTH, HIDDEN = 5, 3, 2, 4
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {"RNN": ["Relu"], "GRU": ["HardSigmoid", "Softsign"], "LSTM": ["HardSigmoid", "Elu", "Softsign"]}
CASES = [
    (op, direction, extra)
    for op, direction, extra in itertools.product(
        GATES,
        ("forward", "reverse", "bidirectional"),
        ("plain", "lengths", "clip", "activations", "initial", "no bias"),
    )
]
OWN = [("GRU", "forward", "reset after"), ("LSTM", "bidirectional", "peepholes"), ("LSTM", "reverse", "coupled")]


def layer(op: str, direction: str, extra: str) -> onnx.ModelProto:
    """Return a model of one layer whose weights are drawn by the case."""
    rng = np.random.default_rng(len(op) + 10 * len(direction) + 100 * len(extra))
    count, rows = (2 if direction == "bidirectional" else 1), GATES[op] * HIDDEN
    given: dict[str, np.ndarray] = {
        "W": rng.normal(size=(count, rows, WIDTH)),
        "R": rng.normal(size=(count, rows, HIDDEN)),
    }
    if extra != "no bias":
        given["B"] = rng.normal(size=(count, 2 * rows))
    if extra == "initial":
        given |= {"h": rng.normal(size=(count, BATCH, HIDDEN)), "c": rng.normal(size=(count, BATCH, HIDDEN))}
    if extra == "peepholes":
        given["P"] = rng.normal(size=(count, 3 * HIDDEN))
    arrays = {name: array.astype(np.float32) for name, array in given.items()}
    if extra == "lengths":
        arrays["lengths"] = np.array([2, 5, 1], np.int32)
    names = ["x", "W", "R", "B", "lengths", "h", *(["c", "P"] if op == "LSTM" else [])]
    attributes: dict[str, Any] = {"hidden_size": HIDDEN, "direction": direction}
    attributes |= {
        "clip": {"clip": 0.7},
        "activations": {"activations": FUNCTIONS[op] * count},
        "reset after": {"linear_before_reset": 1},
        "coupled": {"input_forget": 1},
    }.get(extra, {})
    outputs = ["y", "y_h", *(["y_c"] if op == "LSTM" else [])]
    node = oh.make_node(op, [name if name == "x" or name in arrays else "" for name in names], outputs, **attributes)
    model = model_of(
        [node],
        [oh.make_tensor_value_info("x", 1, [STEPS, BATCH, WIDTH])],
        [oh.make_tensor_value_info(name, 1, None) for name in outputs],
    )
    model.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in arrays.items())
    return model


@pytest.mark.parametrize("op, direction, extra", [*CASES, *OWN])
def test_the_reference_agrees_with_onnx_runtime(op: str, direction: str, extra: str) -> None:
    model = layer(op, direction, extra)
    feeds = {"x": np.random.default_rng(1).normal(size=(STEPS, BATCH, WIDTH)).astype(np.float32) * 2}
    truth, _ = OnnxOracle.of(model, RECORDS).run(feeds)
    for name, array in OnnxRuntimeModel(model, optimize=False).run(feeds).items():
        # Float32 rounding of five steps whose terms are of the size of one.
        np.testing.assert_allclose(array, truth[name], rtol=0, atol=1e-5, err_msg=name)
