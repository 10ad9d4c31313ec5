"""What ``trueport check`` prints, in each of its forms, and its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import onnx
import pytest

import trueport
from tests.checking.test_rules import EXAMPLES, parsed
from trueport.cli.app import main
from trueport.report.markdown import render_markdown
from trueport.report.sarif import render_sarif

SARIF = json.loads(Path(__file__).with_name("sarif-2.1.0.json").read_text(encoding="utf-8"))
BEND = "(float[3] x) => (float[3] y) { t = com.acme.Bend(x) u = com.acme.Bend(t) y = Relu(u) }"
LOSSY = """
from trueport import maps
from trueport.fidelity import {level}

@maps("Bend", domain="com.acme", fidelity={level}, because="it is only an example")
def bend(t, x):
    return x
"""
Check = Callable[..., tuple[int, str]]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Check:
    monkeypatch.chdir(tmp_path)

    def run(model: onnx.ModelProto, *words: str) -> tuple[int, str]:
        onnx.save(model, "model.onnx")
        monkeypatch.setattr(sys, "argv", ["trueport", "check", "model.onnx", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), capfd.readouterr().out

    return run


def _ops(level: str) -> str:
    Path("mine.py").write_text(LOSSY.format(level=level), "utf-8")
    return "mine.py"


def test_terminal_whole(check: Check) -> None:
    code, text = check(parsed(BEND))
    assert code == 2
    assert text == (
        """\
model.onnx → tensorflow: can't be converted
  3 nodes: 2 unsupported, 1 exact

error [no-mapping] com.acme::Bend has no mapping to tensorflow
    node 'n0' (com.acme::Bend)
    node 'n1' (com.acme::Bend)
    → declare it: @maps("Bend", domain="com.acme") in a module given by --ops

warning [inference-stops] the number of dims is not known from here on: a later operator that needs
  it may be refused while the model is converted
    node 'n0' (com.acme::Bend)
    → make the shape that it depends on a constant, or put a Reshape with a constant shape behind it

note [custom-operator] ONNX does not define it: what it computes, and its types and shapes, are
  known to its declaration alone
    node 'n0' (com.acme::Bend)
    node 'n1' (com.acme::Bend)

note [open-dims] stays open in one dim: one without a name
    output 'y'
"""
    )


def test_many_places_are_cut_short_and_listed_on_demand(check: Check) -> None:
    nodes = " ".join(f"t{i + 1} = com.acme.Bend(t{i})" for i in range(20))
    model = parsed(f"(float[3] t0) => (float[3] t20) {{ {nodes} }}")
    assert "… and 12 more; --verbose lists them" in check(model)[1]
    assert "node 'n19'" not in check(model)[1]
    assert check(model, "--verbose")[1].count("node 'n19' (com.acme::Bend)") == 2


@pytest.mark.parametrize(
    ("level", "strict", "code"),
    [
        (None, False, 2),
        (None, True, 2),
        ("LOSSY", False, 1),
        ("LOSSY", True, 1),
        ("APPROXIMATE", False, 0),
        ("APPROXIMATE", True, 1),
    ],
)
def test_exit_codes(check: Check, level: str | None, strict: bool, code: int) -> None:
    words = ["--strict"] * strict + (["--ops", _ops(level)] if level else [])
    assert check(parsed(BEND), *words)[0] == code


def test_notes_never_count_and_warnings_only_when_strict(check: Check) -> None:
    noted = parsed("(float[N] x) => (float[N] y) { y = Relu(x) }")
    assert check(noted)[0] == check(noted, "--strict")[0] == 0
    warned = EXAMPLES["carried-type"].make()
    assert (check(warned)[0], check(warned, "--strict")[0]) == (0, 1)


def test_markdown_whole(check: Check) -> None:
    code, text = check(parsed(BEND), "--format", "markdown", "--ops", _ops("LOSSY"))
    assert code == 1
    assert text == (
        """\
# model.onnx → tensorflow

**converts, and something is lost** (3 nodes: 2 lossy, 1 exact)

### warning: lossy

it is only an example

- node 'n0' (com.acme::Bend)
- node 'n1' (com.acme::Bend)

### warning: inference-stops

the number of dims is not known from here on: a later operator that needs it may be refused while the model is converted

→ make the shape that it depends on a constant, or put a Reshape with a constant shape behind it

- node 'n0' (com.acme::Bend)

### note: users-operator

is translated by mine

- node 'n0' (com.acme::Bend)
- node 'n1' (com.acme::Bend)

### note: custom-operator

ONNX does not define it: what it computes, and its types and shapes, are known to its declaration alone

- node 'n0' (com.acme::Bend)
- node 'n1' (com.acme::Bend)

### note: open-dims

stays open in one dim: one without a name

- output 'y'
"""
    )


def test_markdown_of_a_conversion() -> None:
    report = trueport.convert(parsed("(float[2,3] x) => (float[2,3] y) { y = Sin(x) }")).report
    text = render_markdown(report)
    assert text.startswith("# the model → tensorflow\n\n**converts exactly; measured: faithful** (1 node: 1 exact)\n")
    assert "## Comparison" in text and "| y | faithful |" in text
    assert "| in | the model | ONNX | 1 |" in text


def _sarif(model: onnx.ModelProto) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(render_sarif(trueport.check(model), "1.2.3"))
    jsonschema.validate(found, SARIF)
    return found


@pytest.mark.parametrize("rule", sorted(EXAMPLES))
def test_sarif_follows_the_schema(rule: str) -> None:
    (run,) = _sarif(EXAMPLES[rule].make())["runs"]
    ids = [declared["id"] for declared in run["tool"]["driver"]["rules"]]
    assert all(ids[result["ruleIndex"]] == result["ruleId"] for result in run["results"])


def test_sarif_points_at_the_node_and_the_line(check: Check) -> None:
    model = parsed(BEND)
    model.graph.node[1].doc_string = "/home/me/net.py(12): forward\n"
    code, text = check(model, "--format", "sarif")
    found = json.loads(text)
    jsonschema.validate(found, SARIF)
    first, second = found["runs"][0]["results"][:2]
    assert (code, first["level"], first["ruleId"]) == (2, "error", "no-mapping")
    assert first["locations"][0]["physicalLocation"] == {"artifactLocation": {"uri": "model.onnx"}}
    assert second["locations"][0]["logicalLocations"][0]["name"] == "n1"
    assert second["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "file:///home/me/net.py"},
        "region": {"startLine": 12},
    }


def test_json_holds_everything(check: Check) -> None:
    _, text = check(parsed(BEND), "--format", "json")
    found = json.loads(text)
    assert found["fidelity"] == "unsupported"
    rules = [remark["rule"] for remark in found["remarks"]]
    assert rules == ["custom-operator", "custom-operator", "open-dims", "inference-stops"]
    assert found["remarks"][0] | {"because": ""} == {
        "rule": "custom-operator",
        "severity": "note",
        "because": "",
        "remedy": "",
        "where": "node 'n0' (com.acme::Bend)",
        "node": "n0",
        "op": "com.acme::Bend",
        "source": "",
    }


def test_colours_only_where_they_are_wanted(tmp_path: Path) -> None:
    """Rich decides by the terminal; it is told that there is one."""
    onnx.save(parsed(BEND), tmp_path / "model.onnx")
    coloured, plain = (
        subprocess.run(
            [sys.executable, "-m", "trueport", "check", "model.onnx"],
            cwd=tmp_path,
            env={**os.environ, "FORCE_COLOR": "1", "TERM": "xterm", **more},
            capture_output=True,
            text=True,
        ).stdout
        for more in ({}, {"NO_COLOR": "1"})
    )
    assert "\x1b[1;31merror" in coloured
    assert "\x1b[1;31m" not in plain and "error" in plain
