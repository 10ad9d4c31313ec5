"""The float64 reference of RNN, GRU and LSTM agrees with ONNX Runtime in everything that their schemas allow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.grid.harness import make_model, run_ort
from trueport.frontends.onnx.load import load_onnx
from trueport.mapping.registry import RECORDS
from trueport.reference.onnx.oracle import OnnxOracle

STEPS, BATCH, WIDTH, HIDDEN = 5, 4, 3, 2
GATES = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
LENGTHS = np.array([5, 2, 0, 1], np.int32)
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "reverse": {"direction": "reverse"},
    "both directions": {"direction": "bidirectional"},
    "clip": {"clip": 0.3},
    "lengths": {"lengths": LENGTHS},
    "lengths in reverse": {"lengths": LENGTHS, "direction": "reverse"},
    "lengths in both directions": {"lengths": LENGTHS, "direction": "bidirectional"},
    "activations of another case": {"names": ["sigmoid", "TANH", "softsign"], "only": ("GRU", "LSTM")},
    "activations": {"names": ["HardSigmoid", "Relu", "Softsign"]},
    "activations in both directions": {"names": ["Softsign", "Tanh", "Relu"], "direction": "bidirectional"},
    "parameters in their order": {"names": ["HardSigmoid", "LeakyRelu", "Elu"], "alphas": [0.3, 0.2, 0.7], "beta": 0.4},
    "reset after the product": {"only": ("GRU",), "linear_before_reset": 1},
    "coupled gates": {"only": ("LSTM",), "input_forget": 1, "clip": 0.5},
}


def node_of(op: str, variant: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arrays that are given, None for a missing one, and the attributes."""
    rng = np.random.default_rng(3)
    directions = 2 if variant.get("direction") == "bidirectional" else 1
    rows = {"RNN": 1, "GRU": 3, "LSTM": 4}[op] * HIDDEN

    def draw(*shape: int) -> Any:
        return rng.normal(size=shape).astype(np.float32)

    arrays = [draw(STEPS, BATCH, WIDTH), draw(directions, rows, WIDTH), draw(directions, rows, HIDDEN)]
    arrays += [draw(directions, 2 * rows), variant.get("lengths"), draw(directions, BATCH, HIDDEN)]
    if op == "LSTM":
        arrays += [draw(directions, BATCH, HIDDEN), draw(directions, 3 * HIDDEN)]
    names = variant.get("names", GATES[op])[: len(GATES[op])]
    attributes: dict[str, Any] = {"hidden_size": HIDDEN, "activations": names * directions}
    attributes |= {k: v for k, v in variant.items() if k not in ("lengths", "names", "only", "alphas", "beta")}
    if "alphas" in variant:
        attributes |= {"activation_alpha": variant["alphas"][: len(names)], "activation_beta": [variant["beta"]]}
    return arrays, attributes


@pytest.mark.parametrize("what", VARIANTS)
@pytest.mark.parametrize("op", GATES)
def test_the_reference_is_what_onnx_runtime_gives(op: str, what: str) -> None:
    if op not in VARIANTS[what].get("only", GATES):
        pytest.skip(f"{op} has no such attribute")
    arrays, attributes = node_of(op, VARIANTS[what])
    outputs = ["y", "h", "c"] if op == "LSTM" else ["y", "h"]
    model = make_model(op, [arrays], len(outputs), **attributes)
    names = [value.name for value in model.graph.input]
    feeds = dict(zip(names, (array for array in arrays if array is not None), strict=True))
    truth, _ = OnnxOracle(load_onnx(model), RECORDS).run(feeds)
    for port, array in zip(model.graph.output, run_ort(model, feeds), strict=True):
        np.testing.assert_allclose(truth[port.name], array, rtol=1e-4, atol=1e-5)
