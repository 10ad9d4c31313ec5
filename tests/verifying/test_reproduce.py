"""Reproducers: run by themselves in a fresh process, show the fault, and nobody's weights if that is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import tensorflow as tf

import trueport
from bench.faults.kinds import FAULTS, faulty
from bench.faults.zoo import ZOO
from bench.known_faults import KEPT, KNOWN
from trueport.errors import UsageError
from trueport.runtimes.base import Model

BLIND = "import sys; sys.modules['trueport'] = None; exec(open('show.py').read())"


def put(model: str, fault: str) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    source = ZOO[model]()
    kind = next(kind for kind in FAULTS if kind.name == fault)
    return source, next(found for index in range(20) if (found := faulty(source, kind, index, 0)) is not None)[0]


def as_tensorflow(model: onnx.ModelProto) -> Model:
    return trueport.convert(model, to="tensorflow", verify=False).built.run()


def shown(folder: Path) -> subprocess.CompletedProcess[str]:
    """The script in a process of its own, to which this package does not exist."""
    settings = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    return subprocess.run([sys.executable, "-c", BLIND], cwd=folder, capture_output=True, text=True, env=settings)


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        ("residual", "epsilon"),
        ("branch", "other branch"),
        ("loop", "stale state"),
        ("quantized_cnn", "zero point"),
        ("text", "table entry"),
        ("encoder", "swapped"),
        ("unet", "coordinates"),
        ("cnn", "bias lost"),
        ("dynamic_quantized", "zero point of weights"),
    ],
)
def test_an_onnx_part_shows_the_fault_by_itself(model: str, fault: str, tmp_path: Path) -> None:
    source, changed = put(model, fault)
    trueport.locate(source, changed, reproduce=tmp_path / "case")
    done = shown(tmp_path / "case")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "source departs: False  target departs: True" in done.stdout
    assert max(len(onnx.load(tmp_path / "case" / f"{part}.onnx").graph.node) for part in ("source", "target")) <= 5


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        ("branch", "other branch"),
        pytest.param("residual", "epsilon", marks=pytest.mark.slow),
        pytest.param("loop", "stale state", marks=pytest.mark.slow),
    ],
)
def test_a_part_of_a_saved_model_shows_the_fault_by_itself(model: str, fault: str, tmp_path: Path) -> None:
    source, changed = put(model, fault)
    trueport.locate(source, as_tensorflow(changed), reproduce=tmp_path / "case")
    done = shown(tmp_path / "case")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "source departs: False  target departs: True" in done.stdout


def lite(model: onnx.ModelProto, place: Path) -> Path:
    return trueport.convert(model, to="tflite", verify=False).save(place)


@pytest.mark.parametrize(
    ("model", "fault", "op"),
    [("cnn", "bias lost", "Conv"), pytest.param("unet", "coordinates", "Resize", marks=pytest.mark.slow)],
)
def test_a_part_of_a_tflite_file_shows_the_fault_by_itself(model: str, fault: str, op: str, tmp_path: Path) -> None:
    source, changed = put(model, fault)
    found = trueport.locate(source, lite(changed, tmp_path / "m.tflite"), reproduce=tmp_path / "case")
    assert found.culprit is not None
    assert found.culprit.op == op
    done = shown(tmp_path / "case")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "source departs: False  target departs: True" in done.stdout
    assert (tmp_path / "case" / "target.tflite").stat().st_size < (tmp_path / "m.tflite").stat().st_size


def keras_network() -> Any:
    import keras

    keras.utils.set_random_seed(0)
    layers = keras.layers
    return keras.Sequential(
        [
            layers.Input((8, 8, 3), name="image"),
            layers.Conv2D(4, 3),
            layers.LeakyReLU(negative_slope=0.2),
            layers.Flatten(),
            layers.Dense(6, activation="softmax", name="scores"),
        ]
    )


def test_both_parts_of_a_keras_source_and_a_tflite_target(tmp_path: Path) -> None:
    """One element of a weight is changed; the parts are a SavedModel and a TFLite file, so TensorFlow is enough."""
    source, other = keras_network(), keras_network()
    weights = other.get_weights()
    weights[2][7, 3] += 0.5
    other.set_weights(weights)
    file = tmp_path / "m.tflite"
    file.write_bytes(tf.lite.TFLiteConverter.from_keras_model(other).convert())
    found = trueport.locate(source, file, reproduce=tmp_path / "case")
    assert found.culprit is not None
    assert (found.culprit.op, found.culprit.origin) == ("MatMul", ("layer scores",))
    assert found.culprit.causes[0].what == "weight 'B' differs in 1 of 864 elements"
    assert "first at [7, 3]" in found.culprit.causes[0].evidence
    assert "onnxruntime" not in (tmp_path / "case" / "show.py").read_text()
    done = shown(tmp_path / "case")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 and 1 nodes" in found.reproducer
    with pytest.raises(UsageError, match="can't be given random weights"):
        trueport.locate(source, file, reproduce=tmp_path / "other", anonymize=True)


@pytest.mark.parametrize("name", ["old_bicubic", pytest.param("whole_remainder", marks=pytest.mark.slow)])
def test_parts_under_names_of_another_tool(name: str, tmp_path: Path) -> None:
    """Of a TensorFlow function and an ONNX file by tf2onnx, and of an ONNX model and a SavedModel by onnx2tf."""
    known = next(known for known in KNOWN if known.name == name)
    found = trueport.locate(known.make(), known.target(KEPT), reproduce=tmp_path / "case")
    done = shown(tmp_path / "case")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "shows the fault" in found.reproducer


def test_the_script_tells_rounding_from_the_fault(tmp_path: Path) -> None:
    source, changed = put("residual", "epsilon")
    folder = tmp_path / "case"
    trueport.locate(source, changed, reproduce=folder)
    (folder / "target.onnx").write_bytes((folder / "source.onnx").read_bytes())
    done = shown(folder)
    assert done.returncode == 1
    assert "target departs: False" in done.stdout


def test_a_part_holds_no_weights_but_its_own(tmp_path: Path) -> None:
    source, changed = put("residual", "epsilon")
    trueport.locate(source, changed, reproduce=tmp_path / "onnx")
    trueport.locate(source, as_tensorflow(changed), reproduce=tmp_path / "tensorflow")
    node = onnx.load(tmp_path / "onnx" / "source.onnx").graph.node[0]
    held = {tensor.name for tensor in onnx.load(tmp_path / "onnx" / "target.onnx").graph.initializer}
    assert held <= set(node.input)
    loaded = tf.saved_model.load(str(tmp_path / "tensorflow" / "target"))
    assert len(loaded.weights) + len(loaded.others) == len(node.input) - 1


@pytest.mark.parametrize(
    ("model", "fault", "target"),
    [
        ("residual", "epsilon", "onnxruntime"),
        ("text", "table entry", "onnxruntime"),
        ("residual", "epsilon", "tensorflow"),
        pytest.param("text", "table entry", "tensorflow", marks=pytest.mark.slow),
    ],
)
def test_anonymous_reproducers_show_the_fault_with_random_numbers(
    model: str, fault: str, target: str, tmp_path: Path
) -> None:
    source, changed = put(model, fault)
    folder = tmp_path / "case"
    made = changed if target == "onnxruntime" else as_tensorflow(changed)
    trueport.locate(source, made, reproduce=folder, anonymize=True)
    done = shown(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    own = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in source.graph.initializer}
    for tensor in onnx.load(folder / "source.onnx").graph.initializer:
        weight = onnx.numpy_helper.to_array(tensor)
        if weight.dtype.kind == "f" and weight.size > 1:
            assert weight.shape == own[tensor.name].shape
            assert not np.any(np.isclose(weight, own[tensor.name], rtol=1e-6, atol=0))


def test_what_can_not_be_anonymized_is_said(tmp_path: Path) -> None:
    """A weight that was permuted at random has nothing in common with the source's."""
    source = ZOO["residual"]()
    changed = onnx.ModelProto.FromString(source.SerializeToString())
    kernel = next(t for t in changed.graph.initializer if len(t.dims) == 4)
    array = onnx.numpy_helper.to_array(kernel)
    shuffled = np.random.default_rng(0).permutation(array.ravel()).reshape(array.shape)
    kernel.CopyFrom(onnx.numpy_helper.from_array(shuffled, kernel.name))
    found = trueport.locate(source, changed, reproduce=tmp_path / "case", anonymize=True)
    assert f"NOT anonymous: {kernel.name}: the target's differs from it" in found.reproducer
    assert shown(tmp_path / "case").returncode == 0
