"""Targets that were made narrower on purpose: within what that precision explains, or more than that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
import tensorflow as tf
import torch
from onnx import TensorProto, numpy_helper
from onnxruntime.quantization import quantize_dynamic
from typer.testing import CliRunner

import trueport
from tests.models import model_of
from trueport.cli.app import app
from trueport.errors import UsageError
from trueport.fidelity import Verdict

RNG = np.random.default_rng(7)
FIRST, SECOND, THIRD = (RNG.normal(size=size).astype(np.float32) * 0.3 for size in ((8, 24), (24, 16), (16, 6)))
Weights = tuple[np.ndarray, np.ndarray, np.ndarray]


def network(weights: Weights = (FIRST, SECOND, THIRD), half: bool = False) -> onnx.ModelProto:
    """Three products with a Relu and a Tanh between; in float16 between two casts where that is asked for."""
    inside = [("MatMul", "a", "w0"), ("Relu",), ("MatMul", "", "w1"), ("Tanh",), ("MatMul", "", "w2")]
    nodes = [oh.make_node("Cast", ["x"], ["a"], to=TensorProto.FLOAT16)] if half else []
    last = "a" if half else "x"
    for number, (operator, *read) in enumerate(inside):
        nodes.append(oh.make_node(operator, [last, *read[1:]], [f"v{number}"]))
        last = f"v{number}"
    nodes.append(oh.make_node("Cast" if half else "Identity", [last], ["y"], **({"to": 1} if half else {})))
    kept = [weight.astype(np.float16) if half else weight for weight in weights]
    return model_of(
        nodes,
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 6])],
        initializers=[numpy_helper.from_array(weight, f"w{index}") for index, weight in enumerate(kept)],
    )


def stored(weights: Weights) -> Weights:
    return tuple(weight.astype(np.float16).astype(np.float32) for weight in weights)  # type: ignore[return-value]


def quantized(model: onnx.ModelProto, folder: Path) -> onnx.ModelProto:
    onnx.save(model, folder / "wide.onnx")
    quantize_dynamic(folder / "wide.onnx", folder / "narrow.onnx")
    return onnx.load(folder / "narrow.onnx")


WRONG = (FIRST, SECOND * np.float32(1.3), THIRD)
X = [{"x": np.random.default_rng(1).normal(size=(5, 8)).astype(np.float32)}]


@pytest.mark.parametrize("form", ["float16", "stored in float16", "int8"])
def test_what_the_precision_explains_is_called_so(form: str, tmp_path: Path) -> None:
    makers = {
        "float16": lambda weights: network(weights, half=True),
        "stored in float16": lambda weights: network(stored(weights)),
        "int8": lambda weights: quantized(network(weights), tmp_path),
    }
    name = form.split()[-1]
    found = trueport.verify(network(), makers[form]((FIRST, SECOND, THIRD)), data=X)
    assert found.verdict == Verdict.PRECISION_CHANGE, str(found)
    assert f"precision change: {name}, within what that precision explains" in found.outputs[0].why
    strict = trueport.verify(network(), makers[form]((FIRST, SECOND, THIRD)), data=X, precision="strict")
    assert strict.verdict == Verdict.DEPARTS
    assert "precision" not in strict.outputs[0].why
    faulty = trueport.verify(network(), makers[form]((FIRST, -SECOND, THIRD)), data=X)
    assert faulty.verdict == Verdict.DEPARTS
    assert f"precision change: {name}, and more than that precision explains" in faulty.outputs[0].why


def test_one_narrowed_weight_is_a_fault() -> None:
    one = network((stored((FIRST, SECOND, THIRD))[0], SECOND, THIRD))
    assert trueport.verify(network(), one, data=X).verdict == Verdict.DEPARTS


def test_a_faulty_float16_network_is_not_excused() -> None:
    assert trueport.verify(network(), network(WRONG, half=True), data=X).verdict == Verdict.DEPARTS


def test_a_source_of_that_precision_has_none_to_change() -> None:
    half = network(half=True)
    assert trueport.verify(half, network(half=True), data=X).verdict == Verdict.FAITHFUL
    assert trueport.verify(half, network(WRONG, half=True), data=X).verdict == Verdict.DEPARTS


def test_the_command_line_says_it_and_ends_with_zero(tmp_path: Any) -> None:
    onnx.save(network(), tmp_path / "a.onnx")
    onnx.save(network(half=True), tmp_path / "b.onnx")
    words = ["verify", str(tmp_path / "a.onnx"), str(tmp_path / "b.onnx"), "--samples", "2"]
    ended = CliRunner().invoke(app, words)
    assert (ended.exit_code, ended.stdout.split(":")[0]) == (0, "precision change")
    assert CliRunner().invoke(app, [*words, "--precision", "strict"]).exit_code == 1


def test_locate_says_what_verify_says() -> None:
    found = trueport.locate(network(), network(half=True))
    assert (found.departs, found.culprit) == (False, None)
    assert str(found).startswith("precision change: float16, within what that precision explains")
    strict = trueport.locate(network(), network(half=True), precision="strict")
    assert strict.departs and strict.culprit is not None


def test_there_is_no_other_precision() -> None:
    with pytest.raises(UsageError, match="expected auto or strict, got 'half'"):
        trueport.verify(network(), network(), precision="half")


def by_tensorflow(weights: Weights = (FIRST, SECOND, THIRD)) -> Any:
    variables = [tf.Variable(weight) for weight in weights]

    @tf.function(input_signature=[tf.TensorSpec([None, 8], name="x")])
    def made(x: Any) -> Any:
        hidden = tf.tanh(tf.nn.relu(x @ variables[0]) @ variables[1])
        return {"y": hidden @ variables[2]}

    return made


class ByTorch(torch.nn.Module):
    def __init__(self, weights: Weights = (FIRST, SECOND, THIRD)) -> None:
        super().__init__()
        self.first, self.second, self.third = (torch.nn.Parameter(torch.from_numpy(weight)) for weight in weights)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(torch.relu(x @ self.first) @ self.second) @ self.third


@pytest.mark.parametrize("form", ["float16", "stored in float16", "int8"])
@pytest.mark.parametrize("framework", ["tensorflow", "pytorch"])
def test_sources_of_other_frameworks_are_judged_alike(framework: str, form: str, tmp_path: Path) -> None:
    def target(weights: Weights) -> onnx.ModelProto:
        if form == "int8":
            return quantized(network(weights), tmp_path)
        return network(weights, half=True) if form == "float16" else network(stored(weights))

    options: dict[str, Any] = {"allow": ["names"], "data": X}
    if framework == "pytorch":
        options["example_inputs"] = (torch.ones(5, 8),)
    source = by_tensorflow() if framework == "tensorflow" else ByTorch()
    found = trueport.verify(source, target((FIRST, SECOND, THIRD)), **options)
    assert found.verdict == Verdict.PRECISION_CHANGE, str(found)
    strict = trueport.verify(source, target((FIRST, SECOND, THIRD)), precision="strict", **options)
    assert strict.verdict == Verdict.DEPARTS
    assert trueport.verify(source, target((FIRST, -SECOND, THIRD)), **options).verdict == Verdict.DEPARTS


@pytest.mark.parametrize("framework", ["tensorflow", "pytorch"])
def test_a_source_of_the_same_precision_changes_none(framework: str) -> None:
    narrow = stored((FIRST, SECOND, THIRD))
    wrong = network((narrow[0], narrow[1] * np.float32(2), narrow[2]))
    if framework == "tensorflow":
        found = trueport.verify(by_tensorflow(narrow), wrong, allow=["names"])
    else:
        found = trueport.verify(ByTorch(narrow), wrong, allow=["names"], example_inputs=(torch.ones(5, 8),))
    assert found.verdict == Verdict.DEPARTS
    assert "precision" not in found.outputs[0].why


def test_signal_to_noise_of_every_value(tmp_path: Path) -> None:
    """A fault shows as a drop that quantization alone does not explain."""
    good, bad = (quantized(network(weights), tmp_path) for weights in ((FIRST, SECOND, THIRD), WRONG))
    right, wrong = (
        {step.value: step.snr_db for step in trueport.locate(network(), target, data=X, everything=True).steps}
        for target in (good, bad)
    )
    assert {"v1", "v3", "y"} <= {name for name, snr in right.items() if snr is not None and snr > 25}
    assert wrong["v1"] == right["v1"]
    assert (wrong["v3"] or 0) < (right["v3"] or 0) - 10


def test_integers_say_by_how_many_steps_they_are_off() -> None:
    text = "g (float[8] x) => (uint8[8] y) {{ y = QuantizeLinear(x, s, z) }}"
    s, z = np.asarray(0.1, np.float32), np.asarray(3, np.uint8)
    source, target = (
        onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text.format()}') for _ in range(2)
    )
    for model, zero in ((source, z), (target, z + np.uint8(2))):
        model.graph.initializer.extend([numpy_helper.from_array(s, "s"), numpy_helper.from_array(zero, "z")])
    x = np.linspace(0, 1, 8, dtype=np.float32)
    (step,) = trueport.locate(source, target, data=[{"x": x}], everything=True).steps
    assert step.histogram == {2: 8}
