"""A form that is one file and one line gets all commands."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import trueport
from tests.forms.toy import KIND, write_toy
from trueport.cli.app import app
from trueport.fidelity import Verdict
from trueport.sources import open as opening


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "KINDS", (*opening.KINDS, KIND))


@pytest.fixture
def line(tmp_path: Path) -> Path:
    return write_toy(tmp_path / "a.toy", 0.5, -3.0)


def said(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("name", ["made.onnx", "made", "made.tflite"])
def test_a_line_becomes_any_form_and_is_verified(name: str, line: Path, tmp_path: Path) -> None:
    report = trueport.convert_file(line, tmp_path / name)
    assert report.verdict == Verdict.FAITHFUL
    assert report.graphs is not None and report.graphs.links
    assert trueport.verify(line, tmp_path / name).verdict == Verdict.FAITHFUL
    assert trueport.locate(line, tmp_path / name).culprit is None


@pytest.mark.parametrize("name", ["made.onnx", "made"])
def test_any_form_becomes_a_line(name: str, line: Path, tmp_path: Path) -> None:
    trueport.convert_file(line, tmp_path / name)
    assert trueport.convert_file(tmp_path / name, tmp_path / "back.toy").verdict == Verdict.FAITHFUL
    assert json.loads((tmp_path / "back.toy").read_text()) == json.loads(line.read_text())


def test_what_is_not_a_line_is_refused_by_check_and_by_convert(tmp_path: Path) -> None:
    from tests.models import relu_chain

    assert trueport.check(relu_chain(), "toy").fidelity.name == "UNSUPPORTED"
    with pytest.raises(trueport.Unsupported, match="is not a line"):
        trueport.convert(relu_chain(), "toy")
    with pytest.raises(trueport.UsageError, match="a line already"):
        trueport.check(write_toy(tmp_path / "b.toy", 1, 2), "toy")


def test_a_fault_in_a_line_is_found(line: Path, tmp_path: Path) -> None:
    other = write_toy(tmp_path / "b.toy", 0.25, -3.0)
    assert trueport.verify(line, other).verdict == Verdict.DEPARTS
    trueport.convert_file(other, tmp_path / "b.onnx")
    found = trueport.locate(line, tmp_path / "b.onnx")
    assert found.culprit is not None and found.culprit.op == "Mul"


def test_the_command_line(line: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([2.0, 4.0], np.float32))
    assert "slope: 0.5" in said("info", line)
    said("check", line)
    said("convert", line, "-o", tmp_path / "made.onnx", "--report", tmp_path / "page.html")
    assert said("run", line, "--input", f"x={tmp_path / 'x.npy'}").startswith("y:")
    said("verify", line, tmp_path / "made.onnx")
    said("diff", line, write_toy(tmp_path / "same.toy", 0.5, -3.0))
