"""What a report holds: true to the files, valid by the published schemas, read back by every later version."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import jsonschema
import numpy as np
import onnx
import pytest

import trueport
from tests.report import networks
from trueport.errors import UsageError
from trueport.fidelity import LOSSY, Verdict
from trueport.report.data import Report
from trueport.report.plain import plain, restored
from trueport.report.profile import histogram
from trueport.report.schema import load_schema, upgraded
from trueport.report.verification import render, render_located
from trueport.verifying.judge.output import Judgement
from trueport.verifying.verification import SettingResult, Verification


def check(name: str, data: object) -> None:
    schema = load_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(data)


@pytest.mark.parametrize("direction", ["to_tensorflow", "to_onnx"])
def test_reports_are_what_the_schema_says(direction: str, request: pytest.FixtureRequest) -> None:
    report: Report = request.getfixturevalue(direction)
    check("report-2", json.loads(report.to_json()))


@pytest.mark.parametrize("direction", ["to_tensorflow", "to_onnx"])
def test_reports_are_read_back_whole(direction: str, request: pytest.FixtureRequest) -> None:
    report: Report = request.getfixturevalue(direction)
    again = Report.from_json(report.to_json())
    assert again.to_json() == report.to_json()
    assert again.graphs == report.graphs
    assert again.verdict == report.verdict == Verdict.FAITHFUL
    assert again.fidelity == report.fidelity


def test_a_check_is_a_report_too(folder: Path, to_tensorflow: Report) -> None:
    check("report-2", json.loads(trueport.check(folder / "residual.onnx").to_json()))


def test_the_schema_refuses_what_is_no_report(to_onnx: Report) -> None:
    data = json.loads(to_onnx.to_json())
    for wrong in ({**data, "verdict": "fine"}, {**data, "more": 1}, {k: v for k, v in data.items() if k != "losses"}):
        with pytest.raises(jsonschema.ValidationError):
            check("report-2", wrong)


def test_the_first_form_is_still_read(first_form: str) -> None:
    data = json.loads(first_form)
    check("report-1", data)
    check("report-2", upgraded(data))
    report = Report.from_json(first_form)
    assert report.fidelity == LOSSY and report.verdict == Verdict.FAITHFUL
    assert report.users_operators == {"com.acme::Bend": "ops"}
    assert "it is only an example" in str(report)


def test_later_forms_are_refused(first_form: str) -> None:
    with pytest.raises(UsageError, match="update trueport"):
        upgraded({**json.loads(first_form), "schema": "trueport-report/3"})
    with pytest.raises(UsageError, match="no report"):
        upgraded(["anything"])


def test_verifications_are_what_their_schema_says(folder: Path, to_tensorflow: Report) -> None:
    found = trueport.verify(folder / "residual.onnx", folder / "residual", samples=1)
    check("verification-1", json.loads(render(found, json=True)))


def test_locating_is_what_its_schema_says(folder: Path, to_tensorflow: Report) -> None:
    found = trueport.locate(folder / "residual.onnx", folder / "residual", samples=1)
    check("located-1", json.loads(render_located(found, json=True)))


def test_every_form_names_the_machine(to_tensorflow: Report) -> None:
    found = to_tensorflow.comparison
    assert found is not None and found.machine is not None and found.machine.versions["tensorflow"]
    assert f"\n  machine: {found.machine}" in str(to_tensorflow)
    assert "\n\nMachine: " in to_tensorflow.to_markdown()
    again = Report.from_json(to_tensorflow.to_json()).comparison
    assert again is not None and again.machine == found.machine
    data = json.loads(to_tensorflow.to_json())
    del data["comparison"]["machine"]
    older = Report.from_json(json.dumps(data))
    assert older.comparison is not None and older.comparison.machine is None, "not the machine that reads it"
    assert "machine" not in str(older).lower() and "Machine" not in older.to_markdown()


def test_settings_are_read_back() -> None:
    settings = (
        SettingResult("target", "tensorflow", "XLA", Verdict.DEPARTS, float("inf"), "shape [1]"),
        SettingResult("source", "onnxruntime", "1 thread", None, None, "does not start"),
    )
    output = Judgement("y", Verdict.FAITHFUL, 0.5, "0.5 × what rounding explains")
    found = Verification("onnxruntime", "tensorflow", "float64", 8.0, 1, 0, (output,), settings=settings)
    assert found.verdict == Verdict.DEPARTS
    check("verification-1", plain(found.to_json()))
    again = restored(Verification, plain(found.to_json()))
    assert again.settings == settings and again.verdict == Verdict.DEPARTS
    assert again.worst_setting == settings[0]


def test_what_went_in_and_came_out(folder: Path, to_tensorflow: Report) -> None:
    model = onnx.load(folder / "residual.onnx")
    went_in, came_out = to_tensorflow.went_in, to_tensorflow.came_out
    assert went_in is not None and came_out is not None
    assert went_in.files == {"residual.onnx": hashlib.sha256((folder / "residual.onnx").read_bytes()).hexdigest()}
    assert went_in.operators == Counter(node.op_type for node in model.graph.node)
    assert went_in.opsets == {"ai.onnx": 22}
    numbers = sum(int(np.prod(weight.dims)) for weight in model.graph.initializer)
    assert went_in.parameters == came_out.parameters == numbers
    written = {
        str(file.relative_to(folder / "residual")) for file in (folder / "residual").rglob("*") if file.is_file()
    }
    assert set(came_out.files) == written
    assert came_out.bytes == sum((folder / "residual" / name).stat().st_size for name in written)
    assert [(v.name, v.dtype, v.shape) for v in came_out.outputs] == [("scores", "float32", (None, 10))]


def test_a_setting_says_with_what_it_was_made(to_tensorflow: Report) -> None:
    setting = to_tensorflow.setting
    assert setting is not None and setting.trueport == trueport.__version__
    assert {"onnx", "onnxruntime", "tensorflow"} <= set(setting.packages)
    assert setting.peak_bytes is not None and setting.peak_bytes > 1 << 26
    assert set(to_tensorflow.seconds) >= {"read", "plan", "build", "write", "verify", "profile", "report"}


def test_nodes_are_linked_to_what_they_became(to_tensorflow: Report) -> None:
    graphs = to_tensorflow.graphs
    assert graphs is not None
    pairs = {(graphs.source.nodes[a].op, graphs.target.nodes[b].op) for a, b in graphs.links}
    assert {("Conv", "Conv2D"), ("Sigmoid", "Sigmoid"), ("Add", "AddV2"), ("Gemm", "MatMul")} <= pairs
    assert {a for a, _ in graphs.links} == set(range(len(graphs.source.nodes)))
    for a, b in graphs.links:
        assert graphs.target.nodes[b].scope.startswith(graphs.source.nodes[a].scope)


def test_a_keras_models_layers_are_the_scopes(to_onnx: Report) -> None:
    graphs = to_onnx.graphs
    assert graphs is not None
    conv = next(node for node in graphs.target.nodes if node.op == "Conv")
    assert "conv" in conv.scope
    assert any(origin.endswith("convolution") for origin in conv.origins)


def test_every_value_is_measured(to_tensorflow: Report) -> None:
    profile = to_tensorflow.profile
    assert profile is not None and not profile.culprit
    values = {figure.value for figure in profile.figures}
    assert {"sum0", "sum1", "pooled", "scores"} <= values
    for figure in profile.figures:
        assert figure.ratio <= profile.k
        assert figure.own is not None and figure.error >= 0
        assert figure.histogram is not None
        counted = sum(figure.histogram.target) + figure.histogram.target_exact
        assert counted == sum(figure.histogram.source) + figure.histogram.source_exact > 0


def test_histograms_count_by_half_decades() -> None:
    truth = np.zeros(6)
    found = histogram(np.array([0, 0, 1e-3, 2e-3, 5e-3, 1.0]), np.zeros(6), truth)
    assert found is not None
    assert (found.source_exact, found.target_exact) == (2, 6)
    assert found.start == -6 and found.source[:2] == (2, 1) and found.source[-1] == 1
    assert sum(found.source) == 4 and not sum(found.target)
    assert histogram(np.array(["a"]), np.array(["a"]), np.array(["a"])) is None


def test_numbers_that_json_lacks() -> None:
    data = plain({"a": float("inf"), "b": (float("nan"), Verdict.DEPARTS)})
    assert json.loads(json.dumps(data, allow_nan=False)) == {"a": "inf", "b": ["nan", "departs"]}
    assert restored(float, "inf") == float("inf")
    assert restored(Verdict, "within tolerance") is restored(Verdict, "within_tolerance") is Verdict.WITHIN_TOLERANCE


def test_markdown_and_text(to_tensorflow: Report) -> None:
    assert "residual.onnx" in to_tensorflow.to_markdown()
    assert "faithful" in str(to_tensorflow)


def test_five_thousand_nodes_are_joined() -> None:
    graphs = networks.large_report().graphs
    assert graphs is not None and len(graphs.links) == len(graphs.source.nodes) >= 5000
