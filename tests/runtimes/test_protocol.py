"""One protocol over all runtimes: names, outputs, inner values, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from onnx import TensorProto, numpy_helper

import trueport
from tests.models import model_of
from trueport.errors import InvalidInput, InvalidModel
from trueport.runtimes.base import Model
from trueport.runtimes.child import Limits
from trueport.runtimes.machine import Machine
from trueport.runtimes.onnxruntime import LEVELS, OnnxRuntimeModel
from trueport.runtimes.reference import ReferenceModel
from trueport.runtimes.settings import NotShown, settings_of, why_not_here
from trueport.runtimes.tflite import TfliteModel
from trueport.sources.open import open_source
from trueport.sources.opening import Opening

WEIGHT = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
X = np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32)
KINDS = ["onnxruntime", "onnx reference", "tensorflow", "tensorflow, XLA", "tflite", "tflite, reference", "child"]


def network() -> onnx.ModelProto:
    return model_of(
        [oh.make_node("MatMul", ["x", "w"], ["h"], "matmul"), oh.make_node("Relu", ["h"], ["y"], "relu")],
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])],
        initializers=[numpy_helper.from_array(WEIGHT, "w")],
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import tensorflow as tf

    place = tmp_path_factory.mktemp("protocol")
    onnx.save(network(), place / "m.onnx")
    trueport.convert_file(place / "m.onnx", place / "saved", verify=False)
    converter = tf.lite.TFLiteConverter.from_saved_model(str(place / "saved"))
    (place / "m.tflite").write_bytes(converter.convert())
    return place


@pytest.fixture(scope="module")
def models(folder: Path) -> dict[str, Model]:
    saved = trueport.load(folder / "saved")
    return {
        "onnxruntime": OnnxRuntimeModel(folder / "m.onnx"),
        "onnx reference": ReferenceModel(network()),
        "tensorflow": saved,
        "tensorflow, XLA": saved.compiled(),
        "tflite": trueport.load(folder / "m.tflite"),
        "tflite, reference": TfliteModel(folder / "m.tflite", kernels="reference"),
        "child": open_source(folder / "m.onnx", limits=Limits(120, 4 << 30)).deployed(level="none"),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_outputs_and_sizes(kind: str, models: dict[str, Model]) -> None:
    model = models[kind]
    assert [(port.name, port.dtype, len(port.shape or ())) for port in model.inputs] == [("x", "FLOAT", 2)]
    assert [port.name for port in model.outputs] == ["y"]
    for rows in (5, 1, 3):
        got = model.run({"x": X[:rows]})
        assert list(got) == ["y"]
        assert got["y"].dtype == np.float32
        np.testing.assert_allclose(got["y"], np.maximum(X[:rows] @ WEIGHT, 0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_an_inner_value(kind: str, models: dict[str, Model]) -> None:
    model = models[kind]
    name = next((n for n in model.inner() if "matmul" in n.lower() and model.runtime == "tflite"), "h")
    (got,) = model.run({"x": X}, fetch=[name]).values()
    want = X @ WEIGHT if model.runtime != "tflite" else got  # TFLite fuses and renames: that it has one is all
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    with pytest.raises(InvalidInput, match="'nowhere'"):
        model.run({"x": X}, fetch=["nowhere"])


@pytest.mark.parametrize(
    ("feeds", "words"),
    [
        ({}, "input 'x': is missing"),
        ({"x": X, "z": X}, "there is no input 'z'"),
        ({"x": X[0]}, "has shape [3]"),
        ({"x": X[:, :2]}, "has shape [5, 2]"),
        ({"x": X.astype(np.float64)}, "has dtype float64, the model takes float32"),
    ],
    ids=["missing", "unknown", "rank", "dim", "dtype"],
)
@pytest.mark.parametrize("kind", KINDS)
def test_wrong_feeds_are_refused_alike(kind: str, feeds: dict[str, Any], words: str, models: dict[str, Model]) -> None:
    with pytest.raises(InvalidInput) as caught:
        models[kind].run(feeds)
    assert words in str(caught.value)


@pytest.mark.parametrize("artifact", ["m.onnx", "m.tflite", "saved"])
def test_settings_that_turn_optimizations_on_or_off_are_near(artifact: str, folder: Path) -> None:
    """Other levels, kernels, compilers: the same numbers but for rounding."""
    opening = Opening("target", open_source(folder / artifact), trueport.load(folder / artifact))
    chosen = [setting for setting in settings_of(opening.model.runtime) if setting.optimization]
    assert len(chosen) == {"m.onnx": len(LEVELS), "m.tflite": 3, "saved": 4}[artifact]
    for setting in chosen:
        assert opening.why_not(setting) == ""
        try:
            got = opening.open(setting).run({"x": X})["y"]
        except NotShown:
            assert setting.onednn is not None, "only oneDNN may be missing in a build of TensorFlow"
            continue
        np.testing.assert_allclose(got, np.maximum(X @ WEIGHT, 0), rtol=1e-5, atol=1e-6, err_msg=setting.name)


@pytest.mark.parametrize(
    ("features", "why"),
    [
        (("avx2", "avx512f"), ""),
        (("avx2",), "this CPU has no AVX512F"),
        ((), "the system does not list the CPU's instructions, AVX512F may be missing"),
    ],
)
def test_a_setting_needs_the_instructions_of_the_cpu(features: tuple[str, ...], why: str) -> None:
    (setting,) = [one for one in settings_of("tensorflow") if one.name == "oneDNN with AVX512_CORE"]
    assert why_not_here(setting, Machine("x86_64", features)) == why


def test_a_file_that_is_no_tflite_model_is_a_clear_error(tmp_path: Path) -> None:
    for content in (b"", b"nothing of the kind", b"\x1c\0\0\0TFL3" + bytes(64)):
        (tmp_path / "bad.tflite").write_bytes(content)
        with pytest.raises(InvalidModel, match=r"bad\.tflite"):
            trueport.load(tmp_path / "bad.tflite")
