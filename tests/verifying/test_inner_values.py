"""Outputs that hide errors: values before them are judged too, and verify and locate say the same."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import numpy as np
import onnx
import onnx.parser
import pytest
import tensorflow as tf
import torch

import trueport
from trueport.fidelity import Verdict
from trueport.report.schema import load_schema
from trueport.report.verification import render
from trueport.verifying.inner_values import _is_turned_over
from trueport.verifying.judge.sensitivity import moved_inputs
from trueport.verifying.verification import Verification

HEAD = '<ir_version: 10, opset_import: ["" : 21]> g '
RNG = np.random.default_rng(0)
WEIGHTS = {"w": RNG.normal(size=(8, 16)).astype(np.float32), "v": RNG.normal(size=(16, 10)).astype(np.float32)}
NUMBERS = {
    "tiny": np.float32(1e-12),
    "huge": np.float32(1e5),
    "bias": (1e5 * np.arange(10)).astype(np.float32),
    "low": np.float32(0.1),
    "high": np.float32(0.2),
    "scale": np.float32(1e4),
    "zero": np.uint8(7),
}
NET = "h = MatMul (x, w) r = Relu (h) l = MatMul (r, v) "
HIDING = {
    "a softmax of nearly equal logits": ("s = Mul (l, tiny) y = Softmax (s)", "float[N, 10] y"),
    "a saturated softmax": ("s = Add (l, bias) y = Softmax (s)", "float[N, 10] y"),
    "a saturated sigmoid": ("q = Mul (l, l) s = Add (q, huge) y = Sigmoid (s)", "float[N, 10] y"),
    "ArgMax": ("s = Add (l, bias) y = ArgMax <axis = 1> (s)", "int64[N, 1] y"),
    "Clip": ("q = Mul (l, l) s = Add (q, huge) y = Clip (s, low, high)", "float[N, 10] y"),
    "dead units": ("q = Mul (l, l) s = Neg (q) y = Relu (s)", "float[N, 10] y"),
    "quantization": ("y = QuantizeLinear (l, scale, zero)", "uint8[N, 10] y"),
    "a comparison": ("q = Mul (l, l) y = Greater (q, bias)", "bool[N, 10] y"),
    "rounding": (
        "s = Mul (l, low) t = Mul (s, low) u = Mul (t, low) v2 = Mul (u, low) y = Round (v2)",
        "float[N, 10] y",
    ),
    "two in a row": ("s = Add (l, bias) p = Softmax (s) y = ArgMax <axis = 1> (p)", "int64[N, 1] y"),
}


def net(end: str, outputs: str, times: float = 1.0, begin: str = NET) -> onnx.ModelProto:
    """Return a model; ``times``: what its first kernel is multiplied by."""
    model = onnx.parser.parse_model(f"{HEAD}(float[N, 8] x) => ({outputs}) {{ {begin} {end} }}")
    arrays = {**WEIGHTS, **NUMBERS, "w": WEIGHTS["w"] * np.float32(times)}
    used = {name for node in model.graph.node for name in node.input}
    model.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in arrays.items() if n in used)
    return model


def verdicts(source: Any, target: Any, **options: Any) -> tuple[Verification, bool]:
    """Return what verify finds, and whether locate says that the models differ."""
    return trueport.verify(source, target, **options), trueport.locate(source, target, **options).departs


@pytest.mark.parametrize("name", HIDING)
def test_a_fault_before_an_output_that_hides_it_is_seen(name: str) -> None:
    found, departs = verdicts(net(*HIDING[name]), net(*HIDING[name], times=3))
    assert found.verdict == Verdict.DEPARTS and departs, found.headline


@pytest.mark.parametrize("name", HIDING)
def test_a_target_that_is_right_is_faithful_and_it_says_what_was_judged(name: str) -> None:
    found, departs = verdicts(net(*HIDING[name]), net(*HIDING[name]))
    assert found.verdict == Verdict.FAITHFUL and not departs, found.headline
    assert found.hiding == ("y",) and found.inner
    assert "output 'y' hardly changes with the inputs, so values before it were judged as well" in render(found)


def test_a_value_that_another_output_shows_is_left_to_it() -> None:
    end = "z = ArgMax <axis = 1> (l) y = Softmax (l)", "float[N, 10] y, int64[N, 1] z"
    found = trueport.verify(net(*end), net(*end))
    assert not found.hiding and not found.inner


def test_an_output_that_is_made_of_no_floats_hides_nothing() -> None:
    end = "s = Shape (x) y = Add (s, s)", "int64[2] y"
    assert not trueport.verify(net(*end, begin=""), net(*end, begin="")).hiding


def test_operators_without_weights_before_them_have_nothing_to_look_at() -> None:
    end = "y = ArgMax <axis = 1> (x)", "int64[N, 1] y"
    assert not trueport.verify(net(*end, begin=""), net(*end, begin="")).hiding


def test_softmax_left_out_before_argmax_is_faithful() -> None:
    one, other = "p = Softmax (l) y = ArgMax <axis = 1> (p)", "y = ArgMax <axis = 1> (l)"
    found, departs = verdicts(net(one, "int64[N, 1] y"), net(other, "int64[N, 1] y"))
    assert found.verdict == Verdict.FAITHFUL and not departs, found.headline


def test_conversions_and_other_frameworks_are_looked_into() -> None:
    end = HIDING["a saturated softmax"]
    found = trueport.convert(net(*end), to="tensorflow").report.comparison
    assert found.verdict == Verdict.FAITHFUL and found.inner

    def tensorflow_net(x: Any) -> Any:
        logits = tf.matmul(tf.nn.relu(tf.matmul(x, WEIGHTS["w"])), WEIGHTS["v"])
        return tf.argmax(logits + NUMBERS["bias"], axis=1)

    made = tf.function(tensorflow_net, input_signature=[tf.TensorSpec([None, 8], name="x")])
    found = trueport.convert(made, to="onnx").report.comparison
    assert found.verdict == Verdict.FAITHFUL and found.inner

    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = torch.relu(x @ torch.from_numpy(WEIGHTS["w"]))
            return torch.argmax(hidden @ torch.from_numpy(WEIGHTS["v"]) + torch.from_numpy(NUMBERS["bias"]), dim=1)

    found = trueport.convert(Net(), to="onnx", example_inputs=(torch.ones(3, 8),)).report.comparison
    assert found.verdict == Verdict.FAITHFUL and found.hiding


def test_json_has_it_in_its_schema() -> None:
    found = trueport.verify(net(*HIDING["ArgMax"]), net(*HIDING["ArgMax"], times=3))
    data = json.loads(render(found, json=True))
    jsonschema.validate(data, load_schema("verification-1"))
    assert data["hiding"] == ["y"] and data["inner"][0]["verdict"] == "departs"
    assert "which is hidden in output 'y'" in found.headline


def test_locate_names_the_node_before_an_output_that_hides_it() -> None:
    end = HIDING["ArgMax"]
    found = trueport.locate(net(*end), net(*end, times=3))
    assert found.culprit is not None and found.culprit.value == "h"


@pytest.mark.parametrize("turned, is_faithful", [(1, True), (8, True), (200, False)])
def test_steps_behind_a_quantization_are_counted(turned: int, is_faithful: bool) -> None:
    """Each noisy run turns over two elements of its own, by one step; no other run shows the noise of those."""
    truth = np.linspace(1, 2, 1000)
    step, plain = 0.1, truth.astype(np.float32)
    noisy = [truth + 1e-8 + step * np.isin(np.arange(1000), [20 * run, 20 * run + 1]) for run in range(12)]
    got = plain + (step * np.isin(np.arange(1000), 500 + np.arange(turned))).astype(np.float32)
    assert _is_turned_over(plain, got, truth, noisy, 8.0) == is_faithful
    assert not _is_turned_over(plain, plain * 3, truth, noisy, 8.0)
    assert not _is_turned_over(plain, got, truth, [truth + 1e-8] * 12, 8.0)


def test_members_of_a_sequence_are_moved_one_by_one() -> None:
    members = [np.ones((2, 3), np.float32), np.ones(4, np.float32)]
    moved = moved_inputs({"s": members, "at": np.arange(3), "none": None})
    assert [array.shape for array in moved["s"]] == [(2, 3), (4,)]
    assert all(np.all(array != 1) for array in moved["s"])
    assert moved["none"] is None
    np.testing.assert_array_equal(moved["at"], np.arange(3))
