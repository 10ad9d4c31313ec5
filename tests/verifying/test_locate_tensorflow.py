"""Keras models and SavedModels as sources: the operation, its layer, and the error of every node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import bench.locate
import trueport
from trueport.fidelity import Verdict


@pytest.fixture(scope="module")
def keras_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    keras = pytest.importorskip("keras")
    layers = keras.layers
    x = keras.Input((8, 8, 3))
    y = layers.Conv2D(4, 3, padding="same", activation="relu", name="first")(x)
    y = layers.BatchNormalization(name="norm", epsilon=1e-2)(y)
    y = layers.MaxPooling2D(name="pool")(y)
    y = layers.Dense(5, name="head")(layers.Flatten()(y))
    model = keras.Model(x, layers.Softmax(name="ends")(y))
    rng = np.random.default_rng(0)
    for weight in model.weights:
        weight.assign(np.abs(rng.normal(size=weight.shape)) * 0.4 + 0.1)
    folder = tmp_path_factory.mktemp("keras")
    model.save(folder / "net.keras")
    model.export(folder / "saved", verbose=False)
    trueport.convert_file(folder / "net.keras", folder / "net.onnx", verify=False)
    return folder / "net.keras"


def sample() -> dict[str, Any]:
    return {"x": np.random.default_rng(1).normal(size=(2, 8, 8, 3)).astype(np.float32)}


def changed(file: Path, op: str, change: Any) -> onnx.ModelProto:
    model = onnx.load(file.with_suffix(".onnx"))
    change(model, next(node for node in model.graph.node if node.op_type == op))
    return model


def other_epsilon(model: onnx.ModelProto, node: onnx.NodeProto) -> None:
    next(a for a in node.attribute if a.name == "epsilon").f = 0.05


def other_weight(model: onnx.ModelProto, node: onnx.NodeProto) -> None:
    weight = next(w for w in model.graph.initializer if w.name == node.input[1])
    array = onnx.numpy_helper.to_array(weight).copy()
    array[0, 0] += 0.5
    weight.CopyFrom(onnx.numpy_helper.from_array(array, weight.name))


def other_pads(model: onnx.ModelProto, node: onnx.NodeProto) -> None:
    pads = next((a for a in node.attribute if a.name == "pads"), None)
    if pads is None:
        del node.attribute[:]
        node.attribute.append(onnx.helper.make_attribute("pads", [2, 1, 0, 1]))
    else:
        pads.ints[:] = [2, 1, 0, 1]


FAULTS = {
    "BatchNormalization": (other_epsilon, "layer norm"),
    "MatMul": (other_weight, "layer head"),
    "Conv": (other_pads, "layer first"),
}


@pytest.mark.parametrize("op", FAULTS)
def test_the_layer_is_named(op: str, keras_file: Path) -> None:
    change, layer = FAULTS[op]
    feeds = {trueport.load(keras_file.with_suffix(".onnx")).inputs[0].name: sample()["x"]}
    found = trueport.locate(keras_file, changed(keras_file, op, change), data=[feeds])
    assert found.culprit is not None, found.why
    assert found.culprit.origin == (layer,)
    assert found.culprit.own.verdict == Verdict.DEPARTS
    assert found.culprit.inherited <= found.k
    assert found.culprit.target_node


def test_every_node_of_a_faithful_model_has_its_own_error(keras_file: Path) -> None:
    feeds = {trueport.load(keras_file.with_suffix(".onnx")).inputs[0].name: sample()["x"]}
    found = trueport.locate(keras_file, keras_file.with_suffix(".onnx"), data=[feeds], everything=True)
    assert found.culprit is None
    assert len(found.steps) >= 6
    for step in found.steps:
        assert step.ratio <= found.k
        assert step.own_ratio is not None
        assert step.own_ratio <= found.k
        assert step.own is not None
        assert step.target_value
    assert {layer for step in found.steps for layer in step.origin} >= {"layer first", "layer norm", "layer head"}


def test_calls_of_a_saved_model_are_looked_into(keras_file: Path) -> None:
    source = keras_file.parent / "saved"
    model = changed(keras_file, "BatchNormalization", other_epsilon)
    found = trueport.locate(source, model, samples=2)
    assert found.culprit is not None, found.why
    assert "norm" in found.culprit.node


def test_little_memory_finds_the_same(tmp_path: Path) -> None:
    """Only some values fit at once: the gap before the first that departs is looked into."""
    bench.locate.make(tmp_path, 20, 256)
    feeds = {"x": np.random.default_rng(1).normal(size=(bench.locate.BATCH, 256)).astype(np.float32)}
    places = tmp_path / "source.onnx", tmp_path / "changed.onnx"
    much = trueport.locate(*places, data=[feeds])
    little = trueport.locate(*places, data=[feeds], memory=16 << 20)
    assert much.culprit is not None
    assert little.culprit is not None
    assert little.culprit.node == much.culprit.node == "product19"
    assert len(little.steps) < len(much.steps)
    assert "differs in 1 of" in little.culprit.causes[0].what


def test_too_little_memory_is_refused(tmp_path: Path) -> None:
    bench.locate.make(tmp_path, 1, 8)
    with pytest.raises(trueport.errors.UsageError, match="too few"):
        trueport.locate(tmp_path / "source.onnx", tmp_path / "changed.onnx", memory=1000)
