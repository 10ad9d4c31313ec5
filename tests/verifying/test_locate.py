"""Faults put into real models: detected, located at the node, explained; and nothing faithful raises an alarm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import trueport
from bench.faults.faithful import run_faithful
from bench.faults.kinds import FAULTS, faulty
from bench.faults.trials import trials
from bench.faults.zoo import ZOO
from trueport.report.verification import render_located
from trueport.runtimes.base import Model


def put(model: str, fault: str) -> tuple[onnx.ModelProto, onnx.ModelProto, tuple[str, ...]]:
    source = ZOO[model]()
    kind = next(kind for kind in FAULTS if kind.name == fault)
    changed = next(found for index in range(20) if (found := faulty(source, kind, index, 0)) is not None)
    return source, *changed


def as_tensorflow(model: onnx.ModelProto) -> Model:
    return trueport.convert(model, to="tensorflow", verify=False).built.run()


KNOWN = {
    ("unet", "coordinates"): "coordinate_transformation_mode",
    ("residual", "epsilon"): "epsilon = 0.01",
    ("cnn", "bias lost"): "is ignored",
    ("encoder", "Softmax along another axis"): "axis = 0",
    ("masked_attention", "mask ignored"): "passes through",
    ("quantized_cnn", "zero point"): "off by +1",
    ("branch", "other branch"): "other branch",
    ("loop", "stale state"): "not carried from step to step",
    ("recommender", "swapped"): "swapped",
    ("style", "pad mode"): "mode = edge",
    ("choice", "rounding"): "rounds down",
    ("gru", "GRU's reset"): "linear_before_reset = 0",
    ("audio", "bfloat16"): "bfloat16",
    ("text", "table entry"): "differs in 1 of 80 elements",
}


@pytest.mark.parametrize("target", ["onnxruntime", "tensorflow"])
@pytest.mark.parametrize(("model", "fault"), KNOWN)
def test_the_node_and_the_cause_are_named(model: str, fault: str, target: str) -> None:
    source, changed, made = put(model, fault)
    found = trueport.locate(source, changed if target == "onnxruntime" else as_tensorflow(changed))
    assert found.culprit is not None
    assert found.culprit.value in made
    assert any(KNOWN[model, fault] in cause.what for cause in found.culprit.causes), found.culprit.causes


@pytest.mark.parametrize("count", [24, pytest.param(300, marks=pytest.mark.slow)])
def test_faults_are_detected_located_and_explained(count: int) -> None:
    done = [trial for trial in trials(count, seed=3) if trial.visible]
    assert len(done) > count * 0.6
    assert np.mean([trial.detected for trial in done]) >= 0.99
    assert np.mean([trial.node for trial in done]) >= 0.98
    assert np.mean([trial.cause for trial in done]) >= 0.90


@pytest.mark.parametrize("models", ["cnn", "attention", "loop", pytest.param("", marks=pytest.mark.slow)])
def test_nothing_faithful_raises_an_alarm(models: str) -> None:
    assert " 0 false alarms" in run_faithful(models)


@pytest.mark.parametrize("target", ["onnxruntime", "tensorflow"])
def test_a_reproducer_runs_by_itself(target: str, tmp_path: Path) -> None:
    source, changed, _ = put("residual", "epsilon")
    folder = tmp_path / "case"
    trueport.locate(source, changed if target == "onnxruntime" else as_tensorflow(changed), reproduce=folder)
    code = "import sys; sys.modules['trueport'] = None; exec(open('show.py').read())"
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "target departs: True" in done.stdout
    assert len(onnx.load(folder / "source.onnx").graph.node) <= 5


def test_the_same_seed_gives_the_same_report() -> None:
    source, changed, _ = put("cnn", "paddings moved")
    once, again = (render_located(trueport.locate(source, changed), json=True) for _ in range(2))
    assert once == again
    assert json.loads(once)["culprit"]["op"] == "Conv"


def test_a_value_that_layouts_turned_is_fetched_in_the_models_order() -> None:
    """A node that does nothing is dropped; its name is found through its input, which is held channel-last."""
    _, changed, made = put("superresolution", "activation lost")
    x = {"x": np.random.default_rng(0).normal(size=(2, 1, 9, 9)).astype(np.float32)}
    assert as_tensorflow(changed).run(x, fetch=made)[made[0]].shape == (2, 4, 9, 9)


def test_verify_from_the_command_line(tmp_path: Path) -> None:
    source, changed, _ = put("residual", "epsilon")
    onnx.save(source, tmp_path / "a.onnx")
    onnx.save(changed, tmp_path / "b.onnx")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "trueport", *words], cwd=tmp_path, capture_output=True, text=True)

    same = run("verify", "a.onnx", "a.onnx")
    assert (same.returncode, same.stdout.splitlines()[0].split(":")[0]) == (0, "faithful")
    other = run("verify", "a.onnx", "b.onnx", "--json")
    assert other.returncode == 1
    assert json.loads(other.stdout)["verdict"] == "departs"
    located = run("locate", "a.onnx", "b.onnx", "--reproduce", "case")
    assert located.returncode == 1
    assert "BatchNormalization node" in located.stdout
    assert (tmp_path / "case" / "show.py").exists()
    assert run("verify", "a.onnx", "missing.onnx").returncode == 2


def test_a_model_of_an_old_opset_in_tensorflow() -> None:
    """Softmax of opset 11 is made of steps since: the source's runtime knows nothing of these."""
    text = """<ir_version: 7, opset_import: ["" : 11]> a (float[2,3,4] x) => (float[2,3,4] y) {
        t = LeakyRelu <alpha = %s> (x) s = Softmax <axis = 1> (t) y = Mul(s, t) }"""
    source, changed = (onnx.parser.parse_model(text % alpha) for alpha in (0.1, 0.3))
    found = trueport.locate(source, as_tensorflow(changed))
    assert found.culprit is not None
    assert found.culprit.value == "t"
    assert found.culprit.causes[0].what == "it behaves as with alpha = 0.3, the source has 0.1"
