"""``trueport report`` and ``trueport diff``, and words that all commands have in common."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import onnx
import pytest

from tests.command_line import Cli
from tests.models import relu_chain
from tests.report import networks
from trueport.report.data import Report
from trueport.report.schema import load_schema


@pytest.fixture
def model(tmp_path: Path) -> Path:
    onnx.save(networks.residual(1), tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def test_convert_writes_the_form_that_the_name_says(cli: Cli, model: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = cli("convert", model, "-o", tmp_path / "saved", "--report", page, "--quiet")
    assert done.code == 0 and done.out == ""
    text = page.read_text()
    assert text.startswith("<!doctype html>") and "trueport convert" in text
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    assert data["profile"]["figures"] and data["graphs"]["links"]


@pytest.mark.parametrize(
    "report", ["nowhere/r.json", "folder.json", "loop.json", "saved", "saved/r.json", "n" * 251 + ".json"]
)
def test_a_report_that_cannot_be_written_is_refused_before_anything_is(report: str, tmp_path: Path, cli: Cli) -> None:
    onnx.save(relu_chain(), tmp_path / "m.onnx")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "loop.json").symlink_to("loop.json")
    before = sorted(os.listdir(tmp_path))
    output = tmp_path / ("saved.json" if report == "saved" else "saved")
    place = output if report == "saved" else tmp_path / report
    done = cli("convert", tmp_path / "m.onnx", "-o", output, "--report", place, "--no-verify")
    assert (done.code, len(done.err.splitlines()), done.out) == (2, 2, ""), done.err
    assert sorted(os.listdir(tmp_path)) == before


def test_a_form_that_is_not_known_is_refused_before_anything_is_done(cli: Cli, model: Path, tmp_path: Path) -> None:
    done = cli("convert", model, "-o", tmp_path / "saved", "--report", tmp_path / "report.pdf")
    assert done.code == 2
    assert "report.pdf: a report can't be written as .pdf" in done.err
    assert "→ name a file that ends in .html, .json or .md" in done.err
    assert not (tmp_path / "saved").exists()


def test_a_report_is_shown_again(cli: Cli, to_onnx: Report, tmp_path: Path) -> None:
    stored = tmp_path / "result.json"
    stored.write_text(to_onnx.to_json())
    shown = cli("report", stored)
    assert shown.code == 0 and shown.out.strip() == str(to_onnx)
    for form, begins in ((".html", "<!doctype html>"), (".md", "# "), (".json", "{")):
        assert cli("report", stored, "-o", tmp_path / f"again{form}") == (0, "", "")
        assert (tmp_path / f"again{form}").read_text().startswith(begins)
    assert json.loads(cli("report", stored, "--json").out) == json.loads(to_onnx.to_json())


def test_a_report_of_the_first_form_is_shown(cli: Cli, first_form: str, tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(first_form)
    assert "it is only an example" in cli("report", tmp_path / "old.json").out
    jsonschema.validate(json.loads(cli("report", tmp_path / "old.json", "--json").out), load_schema("report-2"))


@pytest.mark.parametrize(
    ("content", "why"),
    [("{}", "is no report of Trueport"), ("no json", "can't be read"), (None, "there is no such file")],
)
def test_what_is_no_report(cli: Cli, tmp_path: Path, content: str | None, why: str) -> None:
    if content is not None:
        (tmp_path / "x.json").write_text(content)
    done = cli("report", tmp_path / "x.json")
    assert done.code == 2 and f"x.json: {why}" in done.err and "→ " in done.err


def test_diff(cli: Cli, model: Path, tmp_path: Path) -> None:
    assert cli("diff", model, model) == (0, f"{model} and {model}: the same\n", "")
    onnx.save(networks.residual(2), tmp_path / "longer.onnx")
    done = cli("diff", model, tmp_path / "longer.onnx")
    assert done.code == 1
    assert "+ Conv '/blocks/1/first/Conv'" in done.out and "+ weight /blocks/1/first.bias" in done.out
    data = json.loads(cli("diff", model, tmp_path / "longer.onnx", "--json").out)
    assert data["same"] is False and len(data["added"]) == 5
    assert cli("diff", model, tmp_path / "longer.onnx", "--quiet") == (1, "", "")


def test_info_says_what_is_open_and_quantized(cli: Cli, model: Path) -> None:
    data = json.loads(cli("info", model, "--json").out)
    assert data["open dims"] == {"n": "x[0], scores[0]"}
    assert data["weights"] == {"float": 5} and data["quantization"] == {}
    assert "open dims:\n  n: x[0], scores[0]" in cli("info", model).out


def test_run_and_ops_for_programs(cli: Cli, model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 4, 8, 8), np.float32))
    data = json.loads(cli("run", model, "-i", f"x={tmp_path / 'x.npy'}", "--json").out)
    assert data["scores"]["shape"] == [2, 10] and data["scores"]["dtype"] == "float32"
    (resize,) = json.loads(cli("ops", "Resize", "--json").out)
    assert resize["op"] == "Resize" and resize["fidelity"] == "exact"
    assert len(json.loads(cli("ops", "--json").out)) > 150
    assert cli("ops", "Nothing", "--json").code == 2


def test_verbose_shows_where_an_error_arises(cli: Cli, tmp_path: Path) -> None:
    plain, long = cli("info", tmp_path / "none.onnx"), cli("info", tmp_path / "none.onnx", "-v")
    assert plain.code == long.code == 2
    assert "Traceback" not in plain.err
    assert "Traceback" in long.err and plain.err in long.err


@pytest.mark.parametrize("command", ["convert", "check", "verify", "locate", "run", "info", "ops", "diff", "report"])
def test_every_command_speaks_to_programs(cli: Cli, command: str) -> None:
    words = cli(command, "--help").out
    assert "--json" in words and "--verbose" in words


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_it(shell: str) -> None:
    """The installed script, asked as a shell asks it."""
    script = Path(sys.executable).with_name("trueport")
    asked = {"_TRUEPORT_COMPLETE": f"complete_{shell}", "COMP_WORDS": "trueport conv", "COMP_CWORD": "1"}
    asked |= {"_TYPER_COMPLETE_ARGS": "trueport conv", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    done = subprocess.run([str(script)], capture_output=True, text=True, env={**os.environ, **asked})
    assert "convert" in done.stdout, done.stderr
