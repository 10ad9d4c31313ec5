"""Errors when models are run, compared and located: runtimes, limits, targets, reproducers."""

from __future__ import annotations

import functools
import sys
import zipfile
from pathlib import Path
from unittest import mock

import numpy as np
import onnx
import tensorflow as tf
import torch

import trueport
from tests.errors.case import Case, cli
from tests.errors.cases_files import parsed
from tests.errors.cases_usage import model
from tests.models import relu_chain
from trueport.runtimes.base import Model
from trueport.runtimes.child import Limits
from trueport.sources.open import open_source

__all__ = ["CASES"]

_X = np.ones((1, 3), np.float32)


def _named(name: str, text: str, head: str = "") -> str:
    onnx.save(onnx.load(parsed(text, head=head)(Path())), name)
    return name


def _verify(*words: str) -> None:
    cli("verify", model(), model("target.onnx"), *words)


@functools.cache
def _converted() -> bytes:
    """The chain of models.py as TFLite has it, and a Reshape whose constant is empty."""
    function = tf.function(
        lambda x: {"y": tf.reshape(tf.reduce_sum(tf.nn.relu(x), keepdims=True), [])},
        input_signature=[tf.TensorSpec([1, 3], name="x")],
    )
    traced = [function.get_concrete_function()]
    return bytes(tf.lite.TFLiteConverter.from_concrete_functions(traced, tf.Module()).convert())


@functools.cache
def _failing_tflite() -> bytes:
    """Rows of a table of three, by the numbers of the input: it fails on larger ones."""
    function = tf.function(
        lambda x: {"y": tf.gather(tf.constant([1.0, 2.0, 3.0]), tf.cast(x, tf.int32))},
        input_signature=[tf.TensorSpec([3], name="x")],
    )
    traced = [function.get_concrete_function()]
    return bytes(tf.lite.TFLiteConverter.from_concrete_functions(traced, tf.Module()).convert())


def _tflite() -> str:
    Path("net.tflite").write_bytes(_converted())
    return "net.tflite"


def _file(name: str, content: bytes) -> str:
    Path(name).write_bytes(content)
    return name


def _array(name: str, *numbers: float) -> str:
    np.save(f"{name}.npy", np.array(numbers, np.float32))
    return f"{name}.npy"


def _zip_without_directory() -> str:
    with zipfile.ZipFile("model.zip", "w") as archive:
        archive.writestr("model.onnx", relu_chain().SerializeToString())
    data = bytearray(Path("model.zip").read_bytes())
    data[data.rindex(b"PK\x01\x02")] = 0
    Path("model.zip").write_bytes(data)
    return "model.zip"


def _without_proc() -> None:
    with mock.patch("trueport.runtimes.child.Path") as path:
        path.return_value.exists.return_value = False
        _in_child(model(), Limits(memory=1 << 30))


def _dying() -> None:
    with mock.patch.object(sys, "executable", "/bin/false"):
        _verify("--isolate")


_MAPS = "(seq(map(int64,float)) m, float[2] x) => (float[2] y) { y = Relu(x) }"
_UNLIKE = {"m": [{1: 1.0}, {2: 1.0}], "x": np.ones(2, np.float32)}
_BEND = "(float[3] x) => (float[3] y) { y = com.acme.Bend(x) }"
_GATHER = "(float[3] x) => (float[3] y) { i = Cast<to=7>(x) y = Gather(x, i) }"
_FINE = "(float[3] x) => (float[3] y) { y = Relu(x) }"
_TWO = "(float[2,3] x) => (float[2,3] y) { t = Relu(x) y = %s(t) }"
_DET = "(double[3,3] x) => (double y) { d = Det(x) y = %s(d) }"
_SUM = "(double[3,3] x) => (double y) { y = ReduceSum<keepdims=0>(x) }"
_ENDLESS = """(float x) => (float y) {
  n = Constant<value_int=1000000000>()
  y = Loop(n, , x) <body = g (int64 i, bool c, float s) => (bool d, float r) { d = Identity(c) r = Neg(s) }>
}"""


def _in_child(path: str | Path, limits: Limits) -> Model:
    return open_source(path, limits=limits).deployed()


def _endless() -> None:
    _in_child(_named("a.onnx", _ENDLESS), Limits(0.2)).run({"x": np.float32(1)})


def _located(name: str, source: str, target: str, *words: str, head: str = "") -> Case:
    return Case(name, lambda: cli("locate", _named("a.onnx", source, head), _named("b.onnx", target, head), *words))


def _of_the_reference() -> None:
    """ONNX's own evaluator, which stands in for ONNX Runtime where that has no kernel."""
    (loaded,) = open_source(_named("a.onnx", _DET % "Neg")).runs()
    loaded.run({"x": np.eye(3)}, fetch=["q"])


def _part_with_values_that_do_not_fit() -> None:
    opened = (
        open_source(_named("a.onnx", "(float[3] x) => (float[3] y) { t = Relu(x) y = Add(t, x) }")).deployed().opened()
    )
    opened.segment({"t": np.ones(2, np.float32)}, ["y"], {"x": np.ones(3, np.float32)})


def _anonymous_function() -> None:
    signature = [tf.TensorSpec([2], tf.float32, name="x")]
    source = tf.function(lambda x: tf.nn.relu(x), input_signature=signature, autograph=False)
    target = _named("b.onnx", "(float[2] x) => (float[2] y) { y = Neg(x) }")
    trueport.locate(source, target, reproduce="case", anonymize=True)


def _in_the_reference() -> None:
    target = onnx.load(_named("b.onnx", _DET % "Neg"))
    trueport.locate(_named("a.onnx", _SUM), target, reproduce="case")


def _of_another_type() -> None:
    """An inner value is fed with whole numbers, as a target that keeps floats there can't be."""
    held = trueport.convert(_named("a.onnx", _TWO % "Exp"), to="tensorflow", verify=False).built.run()
    held.segment({"t": np.ones((2, 3), np.uint8)}, ["y"], {"x": np.ones((2, 3), np.float32)})


def _inner(tensor: str) -> None:
    trueport.load(_tflite()).run({"x": _X}, fetch=[tensor])


CASES = [
    Case("file-zip-without-directory", lambda: cli("check", _zip_without_directory())),
    Case("ops-unknown-as-data", lambda: cli("ops", "Reluu", "--json")),
    Case("maps-with-other-keys", lambda: trueport.load(_named("a.onnx", _MAPS)).run(_UNLIKE)),
    Case(
        "run-what-no-runtime-has", lambda: cli("run", _named("a.onnx", _BEND), "--input", f"x={_array('x', 1, 2, 3)}")
    ),
    Case("run-fails-on-inputs", lambda: cli("run", _named("a.onnx", _GATHER), "--input", f"x={_array('x', 1, 2, 3)}")),
    Case("verify-target-that-is-none", lambda: cli("verify", model(), _file("b.onnx", b"words words"))),
    Case("verify-data-cut-short", lambda: _verify("--data", _file("x.npz", b"PK\x03\x04words"))),
    Case("verify-data-that-fails", lambda: _verify("--data", f"{_file('loader_c.py', b'load = lambda: 1 / 0')}:load")),
    Case("verify-data-from-broken-code", lambda: _verify("--data", f"{_file('loader_d.py', b'load = (')}:load")),
    Case("verify-limits-without-a-process", lambda: _verify("--timeout", "5")),
    Case("verify-limits-in-memory", lambda: trueport.verify(relu_chain(), model(), isolate=True)),
    Case("verify-dims-without-sizes", lambda: trueport.verify(model(), model("target.onnx"), dims={"n": []})),
    Case("verify-source-that-nothing-runs", lambda: cli("verify", _named("a.onnx", _BEND), model())),
    Case("verify-target-that-nothing-runs", lambda: trueport.verify(relu_chain(), onnx.load(_named("a.onnx", _BEND)))),
    Case("verify-memory-without-proc", _without_proc),
    Case("verify-process-died", _dying),
    Case("verify-process-too-large", lambda: _verify("--isolate", "--memory", "1MB")),
    Case("verify-process-too-slow", _endless),
    Case("tflite-missing", lambda: cli("verify", "nothing.tflite", model())),
    Case("tflite-without-that-signature", lambda: trueport.load(_tflite(), signature="nope")),
    Case("tflite-inner-value", lambda: _inner("q")),
    Case("tflite-inner-value-without-data", lambda: _inner("arith.constant")),
    Case("reference-inner-value", _of_the_reference),
    Case("saved-model-segment-of-another-type", _of_another_type),
    Case("tflite-segment", lambda: trueport.load(_tflite()).segment({}, ["y"], {"x": _X})),
    Case("locate-in-a-tflite-source", lambda: cli("locate", _tflite(), _tflite())),
    Case("locate-with-little-memory", lambda: cli("locate", model(), model("target.onnx"), "--memory", "1MB")),
    Case("locate-on-no-inputs", lambda: trueport.locate(model(), model("target.onnx"), data=[])),
    Case(
        "locate-in-a-target-that-fails",
        lambda: trueport.locate(_named("a.onnx", _FINE), _failing_tflite(), data=[{"x": np.full(3, 9.0, "f")}]),
    ),
    Case(
        "locate-on-inputs-that-the-source-rejects",
        lambda: trueport.locate(_named("b.onnx", _GATHER), _named("a.onnx", _FINE), data=[{"x": np.full(3, 9.0, "f")}]),
    ),
    Case("locate-anonymize-a-function", _anonymous_function),
    Case("locate-in-a-module-as-target", lambda: trueport.locate(_named("a.onnx", _TWO % "Relu"), torch.nn.ReLU())),
    Case("part-with-values-that-do-not-fit", _part_with_values_that_do_not_fit),
    _located("locate-without-kernels", _DET % "Neg", _DET % "Abs"),
    Case("locate-reproduce-where-something-is", lambda: cli("locate", model(), model("b.onnx"), "--reproduce", ".")),
    Case("locate-reproduce-from-the-reference", _in_the_reference),
]
