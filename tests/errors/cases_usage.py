"""Errors about how a command or a function is called."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

import trueport
from tests.errors.case import Case, cli
from tests.errors.cases_files import parsed
from tests.models import relu_chain
from trueport import surgery
from trueport.backend import prepare

__all__ = ["CASES"]


def model(name: str = "model.onnx") -> str:
    onnx.save(relu_chain(), name)
    return name


def _array(name: str, array: np.ndarray) -> str:
    np.save(name, array)
    return name


def _module(text: str) -> str:
    Path("mine.py").write_text(text, "utf-8")
    return "mine.py"


def _taken(folder: bool) -> None:
    if folder:
        Path("saved").mkdir()
        Path("saved", "something").touch()
    else:
        Path("saved").touch()
    cli("convert", model(), "-o", "saved")


_TWICE = """
from trueport import maps
@maps("Bend", domain="com.acme")
def one(t, x):
    return x
@maps("Bend", domain="com.acme")
def two(t, x):
    return x
"""
_BROKEN_HANDLER = """
from trueport import maps
@maps("Bend", domain="com.acme")
def bend(t, x):
    raise ValueError("no")
"""
_NO_RESULTS = """
from trueport import maps
@maps("Bend", domain="com.acme")
def bend(t, x):
    return ()
"""
_ATTRIBUTES = """
from trueport import maps
@maps("Bend", domain="com.acme")
def bend(t, x, *, scale):
    return x
"""
_BEND = "(float[3] x) => (float[3] y) { y = com.acme.Bend(x) }"


def _bend(module: str, text: str = _BEND) -> None:
    cli("convert", parsed(text)(Path()), "-o", "saved", "--ops", _module(module))


CASES = [
    Case("unknown-target", lambda: cli("check", model(), "--to", "tensorphlow")),
    Case("onnx-to-onnx", lambda: cli("check", model(), "--to", "onnx")),
    Case("option-of-another-source", lambda: cli("check", model(), "--signature", "serve")),
    Case("target-that-is-not-written", lambda: cli("convert", model(), "-o", "model.keras")),
    Case("output-exists", lambda: _taken(True)),
    Case("output-is-a-file", lambda: _taken(False)),
    Case("ops-file-missing", lambda: cli("check", model(), "--ops", "nowhere.py")),
    Case("ops-module-missing", lambda: cli("check", model(), "--ops", "no_such_module")),
    Case("ops-fails", lambda: cli("check", model(), "--ops", _module("1 / 0"))),
    Case("ops-twice", lambda: cli("check", model(), "--ops", _module(_TWICE))),
    Case("handler-fails", lambda: _bend(_BROKEN_HANDLER)),
    Case("handler-gives-nothing", lambda: _bend(_NO_RESULTS)),
    Case("handler-misses-an-attribute", lambda: _bend(_ATTRIBUTES)),
    Case("handler-knows-no-attribute", lambda: _bend(_NO_RESULTS, _BEND.replace("Bend", "Bend<size=1>"))),
    Case("handler-takes-fewer-inputs", lambda: _bend(_NO_RESULTS, _BEND.replace("Bend(x)", "Bend(x, x)"))),
    Case("unknown-operator-of-ops", lambda: cli("ops", "Reluu")),
    Case("ops-of-an-unknown-target", lambda: cli("ops", "--to", "tensorphlow")),
    Case("input-without-a-file", lambda: cli("run", model(), "--input", "x")),
    Case("input-file-missing", lambda: cli("run", model(), "--input", "x=x.npy")),
    Case("input-is-a-pickle", lambda: cli("run", model(), "--input", f"x={_array('x.npy', np.array([{}]))}")),
    Case("input-missing", lambda: cli("run", model())),
    Case("input-unknown", lambda: cli("run", model(), "--input", f"z={_array('z.npy', np.ones((1, 3), np.float32))}")),
    Case("input-of-another-type", lambda: cli("run", model(), "--input", f"x={_array('x.npy', np.ones((1, 3)))}")),
    Case(
        "input-of-another-rank", lambda: cli("run", model(), "--input", f"x={_array('x.npy', np.ones(3, np.float32))}")
    ),
    Case(
        "no-inner-value",
        lambda: cli("run", model(), "--input", f"x={_array('x.npy', np.ones((1, 3), np.float32))}", "--fetch", "q"),
    ),
    Case("data-is-no-npz", lambda: cli("convert", model(), "-o", "saved", "--data", "x.npy")),
    Case("shape-that-is-none", lambda: cli("check", "net.keras", "--shape", "x:3")),
    Case("opset-too-old", lambda: cli("convert", "net.keras", "-o", "net.onnx", "--opset", "7")),
    Case("opset-too-new", lambda: cli("convert", "net.keras", "-o", "net.onnx", "--opset", "99")),
    Case("custom-domain-of-onnx", lambda: cli("check", "net.keras", "--to", "onnx", "--custom-domain", "ai.onnx")),
    Case("surgery-finds-no-node", lambda: surgery.find(surgery.open(relu_chain()), "nobody")),
    Case("surgery-cuts-nothing", lambda: surgery.cut(surgery.open(relu_chain()), outputs=["nothing"])),
    Case("surgery-renames-nothing", lambda: surgery.rename(surgery.open(relu_chain()), {"nothing": "z"})),
    Case("surgery-renames-to-a-taken-name", lambda: surgery.rename(surgery.open(relu_chain()), {"x": "y"})),
    Case("backend-device", lambda: prepare(relu_chain(), device="TPU")),
    Case("backend-too-many-inputs", lambda: prepare(relu_chain()).run([np.ones((1, 3), np.float32)] * 2)),
    Case("unknown-option", lambda: trueport.convert("net.keras", to="onnx", optset=13)),
    Case("no-such-model-to-verify", lambda: cli("verify", model(), "saved_nowhere")),
    Case("verify-data-missing", lambda: cli("verify", model(), model("other.onnx"), "--data", "nothing.npz")),
    Case("report-of-nothing", lambda: cli("report", "nothing.json")),
    Case("report-that-is-none", lambda: (Path("r.json").write_text("{}"), cli("report", "r.json"))),
    Case("diff-of-unlike-models", lambda: cli("diff", model(), "nothing.onnx")),
]
