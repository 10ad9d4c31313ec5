"""Errors when models are run, compared and located."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import onnx
from onnx import TensorProto

import trueport
from tests.errors.case import Case, cli
from tests.errors.cases_files import parsed
from tests.errors.cases_usage import model
from tests.models import weighted
from trueport.lazy import LazyModule
from trueport.report.data import Report

__all__ = ["CASES"]


def _saved() -> str:
    trueport.convert_file(model(), "saved", verify=False)
    return "saved"


def _with_map(version: object) -> str:
    file = Path(_saved(), "assets.extra", "trueport.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), "version": version}))
    return "saved"


def _other(text: str) -> str:
    onnx.save(onnx.load(parsed(text)(Path())), "other.onnx")
    return "other.onnx"


def _file(name: str, content: bytes | str) -> str:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def _verify(*words: str, other: str = "") -> None:
    target = other or model("target.onnx")
    cli("verify", model(), target, *words)


def _external_in_memory() -> None:
    proto = weighted()
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights.bin")
    trueport.check(proto)


def _empty_folder() -> str:
    Path("empty").mkdir()
    return "empty"


def _without(package: str) -> None:
    missing = ModuleNotFoundError(package)
    missing.name = package
    with mock.patch("importlib.import_module", side_effect=missing):
        LazyModule(package, "TensorFlow", "tensorflow").anything  # noqa: B018


def _lacking(module: str, *words: str) -> None:
    with mock.patch("trueport.requirements.is_installed", lambda name: name != module):
        cli(*words)


def _newer_report() -> None:
    data: dict[str, Any] = {**Report("a", "b").to_plain(), "schema": "trueport-report/99"}
    cli("report", _file("r.json", json.dumps(data)))


_TWO_OTHERS = "(float[n,3] x) => (float[n,3] p, float[n,3] q) { p = Relu(x) q = Neg(x) }"
_FLAT = "(float[n] x) => (float[n] y) { y = Relu(x) }"
_TWO_INPUTS = "(float[n,3] x, float[n,3] z) => (float[n,3] y) { y = Add(x, z) }"
_WIDER = "(float[5,4] x) => (float[5,4] y) { y = Relu(x) }"

CASES = [
    Case("saved-model-map-of-another-version", lambda: cli("run", _with_map(99))),
    Case("saved-model-broken", lambda: (_empty_folder(), _file("empty/saved_model.pb", b"words"), cli("run", "empty"))),
    Case("saved-model-without-that-signature", lambda: trueport.load(_saved(), signature="nope")),
    Case(
        "saved-model-inner-value", lambda: trueport.load(_saved()).run({"x": np.ones((1, 3), np.float32)}, fetch=["q"])
    ),
    Case("folder-that-is-no-model", lambda: cli("run", _empty_folder())),
    Case("form-that-is-not-run", lambda: cli("run", _file("model.txt", "words"))),
    Case("tflite-that-is-none", lambda: cli("run", _file("model.tflite", b"0123456789"))),
    Case("tflite-that-is-broken", lambda: cli("run", _file("model.tflite", b"\x1c\0\0\0TFL3" + b"\0" * 40))),
    Case("external-data-in-memory", _external_in_memory),
    Case("input-that-is-not-there", lambda: trueport.load(model()).run({"x": np.ones((1, 3), np.float32), "z": 1})),
    Case("framework-missing", lambda: _without("tensorflow")),
    Case("package-missing-to-convert", lambda: _lacking("tensorflow", "convert", "model.onnx", "-o", "saved")),
    Case("package-missing-to-verify", lambda: _lacking("onnxruntime", "convert", "model.keras", "-o", "model.onnx")),
    Case("verify-another-number-of-outputs", lambda: _verify(other=_other(_TWO_OTHERS))),
    Case("verify-another-number-of-inputs", lambda: _verify(other=_other(_TWO_INPUTS))),
    Case("verify-allowing-no-known-difference", lambda: _verify("--allow", "colors")),
    Case("verify-at-no-known-precision", lambda: _verify("--precision", "half")),
    Case("verify-another-rank", lambda: _verify(other=_other(_FLAT))),
    Case("verify-another-shape", lambda: _verify(other=_other(_WIDER))),
    Case("verify-negative-k", lambda: _verify("--k", "-1")),
    Case("verify-strict-and-k", lambda: _verify("--strict", "--k", "2")),
    Case("verify-data-of-another-form", lambda: _verify("--data", _file("x.txt", "words"))),
    Case("verify-data-from-an-empty-folder", lambda: _verify("--data", _empty_folder())),
    Case("verify-data-that-is-broken", lambda: _verify("--data", _file("x.npz", b"words"))),
    Case("verify-data-from-no-module", lambda: _verify("--data", "no_such_module_here:load")),
    Case("verify-data-from-no-function", lambda: _verify("--data", f"{_file('loader_a.py', 'x = 1')}:load")),
    Case("verify-data-from-a-number", lambda: _verify("--data", f"{_file('loader_b.py', 'load = 1')}:load")),
    Case(
        "verify-data-with-too-many-arrays",
        lambda: trueport.verify(model(), model("target.onnx"), data=[(np.ones((1, 3), np.float32),) * 2]),
    ),
    Case("verify-dims-that-are-none", lambda: _verify("--dims", "batch")),
    Case("verify-dims-of-nothing", lambda: _verify("--dims", "q=1,2")),
    Case("verify-memory-that-is-none", lambda: _verify("--memory", "much")),
    Case("verify-source-missing", lambda: cli("verify", "nothing.onnx", model())),
    Case("report-of-a-newer-form", _newer_report),
    Case("report-that-is-no-json", lambda: cli("report", _file("r.json", "words"))),
    Case("report-in-an-unknown-form", lambda: cli("convert", model(), "-o", "saved", "--report", "report.doc")),
    Case("diff-of-two-frameworks", lambda: cli("diff", model(), _saved())),
    Case("diff-signature-of-onnx", lambda: cli("diff", model(), model("b.onnx"), "--signature", "serve")),
    Case("output-below-a-file", lambda: cli("convert", model(), "-o", f"{_file('here', 'x')}/saved")),
    Case("locate-without-a-difference-to-walk", lambda: cli("locate", model(), "nothing")),
]
