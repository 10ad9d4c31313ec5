"""Artifacts are opened by their form; those of other tools too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx.helper as oh
import pytest
import tensorflow as tf
from onnx import TensorProto

import trueport
from tests.models import model_of, relu_chain
from trueport.errors import InvalidInput, InvalidModel
from trueport.ir.artifact import ARTIFACT_MAP
from trueport.sources.open import open_source

X = np.array([[1, -2, 3]], np.float32)


class Doubling(tf.Module):
    """A SavedModel that another tool wrote."""

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "x"), tf.TensorSpec([], tf.string, "note")])
    def __call__(self, x, note):
        return {"y": 2 * x, "said": note}


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    tf.saved_model.save(Doubling(), str(tmp_path / "foreign"))
    return tmp_path / "foreign"


def test_a_saved_model_of_another_tool_runs(foreign: Path) -> None:
    model = trueport.load(foreign)
    assert {(port.name, port.dtype, port.shape) for port in model.inputs} == {
        ("x", "FLOAT", (None, 3)),
        ("note", "STRING", ()),
    }
    got = model.run({"x": X, "note": np.array("hello", object)})
    np.testing.assert_array_equal(got["y"], 2 * X)
    assert got["said"].item() == "hello"
    with pytest.raises(InvalidInput, match="only from a model made by Trueport"):
        model.run({"x": X, "note": np.array("hello", object)}, fetch=["mul"])


def test_ports_of_a_saved_model_have_one_order(tmp_path: Path) -> None:
    """TensorFlow's dicts of a loaded signature are in another order in every process."""

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, name) for name in ("x", "a", "m")])
    def many(x, a, m):
        return {f"output_{i}": x + i for i in (10, 1, 2)} | {"kept": a, "masked": m}

    module = tf.Module()
    module.many = many
    tf.saved_model.save(module, str(tmp_path / "many"), signatures=many)
    asked = "import sys, trueport; m = trueport.load(sys.argv[1]); print([p.name for p in (*m.inputs, *m.outputs)])"
    said = {
        subprocess.run(
            [sys.executable, "-c", asked, str(tmp_path / "many")],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert said == {"['a', 'm', 'x', 'kept', 'masked', 'output_1', 'output_2', 'output_10']\n"}


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda folder: folder / "nowhere", "no such file or folder"),
        (lambda folder: folder, "the folder holds no saved_model.pb"),
        (lambda folder: folder / "text.txt", "not an ONNX model"),
        (lambda folder: folder / "broken", "TensorFlow can't load it"),
    ],
    ids=["missing", "folder", "text", "broken"],
)
def test_what_is_no_model(make, says: str, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("words")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "saved_model.pb").write_bytes(b"no protobuf")
    with pytest.raises(InvalidModel, match=says):
        trueport.load(make(tmp_path))


def test_a_saved_model_without_signatures(tmp_path: Path) -> None:
    tf.saved_model.save(tf.Module(), str(tmp_path / "empty"))
    with pytest.raises(InvalidModel, match="has no signature 'serving_default'"):
        trueport.load(tmp_path / "empty")


def test_a_map_of_another_version_is_refused(tmp_path: Path) -> None:
    trueport.convert_file(relu_chain(), tmp_path / "saved", verify=False)
    file = tmp_path / "saved" / ARTIFACT_MAP
    file.write_text(json.dumps({**json.loads(file.read_text()), "version": 99}))
    with pytest.raises(InvalidModel, match="its map has version 99"):
        trueport.load(tmp_path / "saved")


def test_the_source_runs_in_the_reference_where_onnx_runtime_cannot() -> None:
    newest = relu_chain()
    newest.opset_import[0].version = 28
    assert open_source(relu_chain()).runs()[0].runtime == "onnxruntime"
    assert open_source(newest).runs()[0].runtime == "onnx reference"


def test_a_source_that_nothing_runs_is_said_in_words() -> None:
    custom = model_of(
        [oh.make_node("Twist", ["x"], ["y"], domain="com.acme")],
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
        opsets=[oh.make_opsetid("com.acme", 1)],
    )
    with pytest.raises(InvalidModel, match="neither ONNX Runtime"):
        open_source(custom).runs()
