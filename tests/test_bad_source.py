"""Bad TensorFlow sources: a clear error with place, reason and remedy, exit code 2, nothing written, nothing run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import trueport

X = tf.TensorSpec([None, 3], tf.float32, name="x")


class Plain(tf.Module):
    @tf.function(input_signature=[X])
    def __call__(self, x: Any) -> Any:
        return {"y": x + 1}


class Mine(keras.layers.Layer):
    """Not registered: a file that uses it can't be read."""

    def call(self, x: Any) -> Any:
        return tf.math.exp(x)


class Yours(Mine):
    pass


def saved(folder: Path) -> Path:
    module = Plain()
    tf.saved_model.save(module, str(folder / "saved"), {"serving_default": module.__call__, "other": module.__call__})
    return folder / "saved"


def without_signatures(folder: Path) -> Path:
    module = tf.Module()
    module.variable = tf.Variable(1.0)
    tf.saved_model.save(module, str(folder / "saved"))
    return folder / "saved"


def written(name: str, data: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(data)
        return folder / name

    return write


def empty_folder(folder: Path) -> Path:
    (folder / "saved").mkdir()
    return folder / "saved"


def broken_saved_model(folder: Path) -> Path:
    (empty_folder(folder) / "saved_model.pb").write_bytes(b"garbage")
    return folder / "saved"


def lost_weights(folder: Path) -> Path:
    module = Plain()
    module.variable = tf.Variable(np.ones(3, np.float32))
    tf.saved_model.save(module, str(folder / "saved"), {"serving_default": module.__call__})
    for file in (folder / "saved" / "variables").iterdir():
        file.unlink()
    return folder / "saved"


def truncated_keras(folder: Path) -> Path:
    keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]).save(folder / "model.keras")
    whole = (folder / "model.keras").read_bytes()
    (folder / "model.keras").write_bytes(whole[: len(whole) // 2])
    return folder / "model.keras"


def custom_layers(suffix: str) -> Callable[[Path], Path]:
    def save(folder: Path) -> Path:
        keras.Sequential([keras.Input((3,)), Mine(), Yours()]).save(folder / f"model{suffix}")
        return folder / f"model{suffix}"

    return save


def with_code(suffix: str) -> Callable[[Path], Path]:
    def save(folder: Path) -> Path:
        keras.Sequential([keras.Input((3,)), keras.layers.Lambda(lambda x: x * 2)]).save(folder / f"model{suffix}")
        return folder / f"model{suffix}"

    return save


def of(function: Callable[..., Any], spec: Any = X) -> Callable[[Path], Any]:
    return lambda _: tf.function(function, input_signature=[spec])


def by_python(x: Any) -> Any:
    once = tf.numpy_function(lambda v: v * 2, [x], tf.float32)
    return tf.numpy_function(lambda v: v + 1, [once], tf.float32)


def unbuilt(_: Path) -> Any:
    return keras.Sequential([keras.layers.Dense(2)])


def functional(_: Path) -> Any:
    image = keras.Input((8, 8, 3), name="image")
    return keras.Model(image, keras.layers.Flatten(name="flat")(image))


CASES: dict[str, tuple[Callable[[Path], Any], dict[str, Any], list[str]]] = {
    "wrong signature": (saved, {"signature": "nope"}, ["no signature 'nope'", "serving_default", "other"]),
    "no signatures": (without_signatures, {}, ["no signature that could be converted", "signatures: none"]),
    "unbuilt": (unbuilt, {}, ["the model is not built", "call it once"]),
    "unknown op": (of(by_python), {}, ["2 nodes cannot be converted", "PyFunc", "@maps"]),
    "dtype": (of(lambda x: x, tf.TensorSpec([None], tf.variant)), {}, ["no element type for TensorFlow's variant"]),
    "custom objects": (
        custom_layers(".keras"),
        {},
        ["test_bad_source.Mine", "test_bad_source.Yours", "import what defines"],
    ),
    "custom objects, h5": (custom_layers(".h5"), {}, ["uses 'Mine'", "uses 'Yours'"]),
    "code": (with_code(".keras"), {}, ["is a Lambda, which runs Python code", "--trust"]),
    "code, h5": (with_code(".h5"), {}, ["is a Lambda, which runs Python code", "--trust"]),
    "no zip": (written("model.keras", b"words"), {}, ["is no .keras file, or is cut short"]),
    "cut short": (truncated_keras, {}, ["is no .keras file, or is cut short"]),
    "no hdf5": (written("model.h5", b"words"), {}, ["Keras can't load it"]),
    "no graph": (written("model.pb", b"no protobuf at all"), {"outputs": ["y"]}, ["is no binary GraphDef"]),
    "broken folder": (broken_saved_model, {}, ["TensorFlow can't load it"]),
    "lost weights": (lost_weights, {}, ["TensorFlow can't load it"]),
    "empty folder": (empty_folder, {}, ["holds no saved_model.pb"]),
    "another form": (
        written("model.tflite", b"x"),
        {},
        ["it can't be converted", "take the model that it was made from"],
    ),
    "no file": (lambda folder: folder / "nothing.keras", {}, ["there is no such file or folder"]),
    "a plain function": (lambda _: lambda x: x, {}, ["function is not a model", "tf.function with a signature"]),
    "no input signature": (lambda _: tf.function(lambda x: x), {}, ["has no input signature"]),
    "old opset": (of(tf.nn.relu), {"opset": 12}, ["opset 12 is too old", "from 13"]),
    "new opset": (of(tf.nn.relu), {"opset": 99}, ["opset 99 is too new"]),
    "no such option": (of(tf.nn.relu), {"optset": 99}, ["a TensorFlow model has no option 'optset'"]),
    "shape of nothing": (of(tf.nn.relu), {"shapes": {"z": [1]}}, ["there is no input 'z'", "'x'"]),
    "shape against it": (of(tf.nn.relu), {"shapes": {"x": [1, 4]}}, ["(1, 4) does not fit"]),
    "layout of nothing": (functional, {"inputs_as_nchw": ["picture"]}, ["there is no 'picture'", "image"]),
    "layout without channels": (functional, {"outputs_as_nchw": ["flat"]}, ["there are no channels to turn"]),
    "signature of a model": (functional, {"signature": "serve"}, ["'signature' means nothing"]),
    "trust without code": (functional, {"trust": True}, ["'trust' means nothing"]),
    "domain of ONNX": (of(by_python), {"custom_domain": "ai.onnx.ml"}, ["is ONNX's own"]),
    "failing code": (of(lambda x: tf.reshape(x, [-1, 0.5])), {}, ["can't trace"]),
}


@pytest.mark.parametrize(("make", "options", "reasons"), CASES.values(), ids=CASES)
def test_refused_with_a_reason(
    make: Callable[[Path], Any], options: dict[str, Any], reasons: list[str], tmp_path: Path
) -> None:
    source = make(tmp_path)
    target = tmp_path / "made.onnx"
    with pytest.raises(trueport.TrueportError) as caught:
        trueport.convert_file(source, target, **options)
    print(caught.value)
    for reason in reasons:
        assert reason in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 24, "more than a screen"
    assert not [path for path in tmp_path.iterdir() if "made" in path.name], "something was written"


def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "trueport", *map(str, words)],
        capture_output=True,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )


def test_the_command_line_exits_with_2_and_runs_no_code(tmp_path: Path) -> None:
    trace = tmp_path / "it_ran"
    path = str(trace)
    code = keras.layers.Lambda(lambda x: (__import__("pathlib").Path(path).touch(), x)[1], output_shape=(3,))
    keras.Sequential([keras.Input((3,)), code]).save(tmp_path / "model.keras")
    trace.unlink(missing_ok=True)
    done = command("convert", tmp_path / "model.keras", "-o", tmp_path / "made.onnx")
    assert done.returncode == 2
    assert "is a Lambda, which runs Python code" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "made.onnx").exists()
    assert not trace.exists()


def test_the_command_line_converts_and_compares(tmp_path: Path) -> None:
    keras.Sequential([keras.Input((3,), name="x"), keras.layers.Dense(2, name="y")]).save(tmp_path / "model.keras")
    done = command(
        "convert", tmp_path / "model.keras", "-o", tmp_path / "made.onnx", "--shape", "x=?,3", "--opset", "18"
    )
    assert done.returncode == 0, done.stderr
    assert "faithful" in done.stdout
    checked = command("check", tmp_path / "model.keras")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    shown = command("info", tmp_path / "made.onnx")
    assert "x: float[batch, 3]" in shown.stdout
    assert "ai.onnx: 18" in shown.stdout
    source = command("info", tmp_path / "model.keras")
    assert "x: float[batch, 3]" in source.stdout
    assert "Dense: 1" in source.stdout
