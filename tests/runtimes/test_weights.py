"""Weights are read when they are asked for, and a large model is in memory once."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from trueport.frontends.onnx.load import load_onnx
from trueport.mapping.registry import RECORDS
from trueport.reference.onnx.evaluate import WideEvaluator
from trueport.reference.onnx.noise import NodeRounding
from trueport.runtimes import onnxruntime as runtime
from trueport.runtimes.on_demand import OnDemand
from trueport.runtimes.onnxruntime import OnnxRuntimeModel

WEIGHT = np.arange(4096, dtype=np.float32).reshape(64, 64) / 4096
X = np.linspace(-1, 1, 128, dtype=np.float32).reshape(2, 64)


def _model() -> onnx.ModelProto:
    model: onnx.ModelProto = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 18]> g (float[N,64] x) => (float[N,64] y) { p = MatMul(x, w) y = Tanh(p) }'
    )
    model.graph.initializer.append(numpy_helper.from_array(WEIGHT, "w"))
    return model


def test_nothing_is_read_before_it_is_asked_for() -> None:
    read: list[str] = []

    def reads(name: str) -> str:
        read.append(name)
        return name

    weights = OnDemand({name: functools.partial(reads, name) for name in "ab"})
    assert "a" in weights and "c" not in weights and list(weights) == ["a", "b"] and len(weights) == 2
    assert not read
    assert weights["b"] == "b" and read == ["b"]


def test_weights_of_a_file_beside_the_model(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(_model(), path, save_as_external_data=True, location="weights", size_threshold=0)
    np.testing.assert_array_equal(OnnxRuntimeModel(path).constants()["w"], WEIGHT)


@pytest.mark.parametrize("large", [False, True])
def test_a_large_model_has_one_session(large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "_LARGE_WEIGHTS", 0 if large else 1 << 30)
    model = OnnxRuntimeModel(_model())
    first = model.run({"x": X})["y"]
    inner = model.run({"x": X}, fetch=["p"])["p"]
    assert len(model._sessions) == (1 if large else 2)
    np.testing.assert_array_equal(model.run({"x": X})["y"], first)
    np.testing.assert_allclose(inner, X @ WEIGHT, rtol=64 * 2**-24, atol=64 * 2**-24)


def test_pages_that_were_given_back_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(_model(), path, save_as_external_data=True, location="weights", size_threshold=0)
    model = load_onnx(path)
    evaluator = WideEvaluator(model, NodeRounding(RECORDS), lambda node: None)
    weight = model.graph.initializers["w"]
    np.testing.assert_array_equal(evaluator.value(weight, {}), WEIGHT.astype(np.float64))
    assert weight.const_value is not None
    np.testing.assert_array_equal(weight.const_value.numpy(), WEIGHT)
