"""The pipeline as a whole: what a report says, what a conversion keeps, what is refused together."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from onnx import TensorProto

import trueport
from tests.models import model_of, relu_chain, weighted
from trueport.backends.tensorflow.target import BuiltModule
from trueport.fidelity import Fidelity, Verdict
from trueport.sources.onnx import OnnxSource

X = oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])
Y = oh.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])


def test_check_and_convert_refuse_the_same_nodes() -> None:
    nodes = [
        oh.make_node("Odd", ["x"], ["a"], "first", domain="com.acme"),
        oh.make_node("Relu", ["a"], ["b"], "fine"),
        oh.make_node("Even", ["b"], ["y"], "second", domain="com.acme"),
    ]
    model = model_of(nodes, [X], [Y], opsets=[oh.make_opsetid("com.acme", 1)])
    foreseen = [f for f in trueport.check(model).findings if f.fidelity == Fidelity.UNSUPPORTED]
    with pytest.raises(trueport.Unsupported) as caught:
        trueport.convert(model)
    assert caught.value.findings == tuple(foreseen)
    assert [finding.where for finding in foreseen] == [
        "node 'first' (com.acme::Odd)",
        "node 'second' (com.acme::Even)",
    ]


def test_report_as_json() -> None:
    report = trueport.convert(relu_chain()).report
    data = json.loads(report.to_json())
    assert data["schema"] == "trueport-report/2"
    assert data["comparison"]["verdict"] == "faithful"
    assert data["comparison"]["verdict"] == "faithful"
    assert data["nodes"] == {"exact": 2}
    assert "reference: float64" in str(report)


def test_a_wrong_translation_departs_and_is_kept(tmp_path: Path) -> None:
    """A comparison that can't fail would be worth nothing."""
    import types

    import tensorflow as tf

    from trueport import maps

    @maps("Relu")
    def wrong(t, X):
        return tf.nn.relu(X) + 1e-3

    module = types.ModuleType(__name__)
    module.wrong = wrong
    report = trueport.convert(relu_chain(), ops=[module]).report
    assert report.verdict == Verdict.DEPARTS
    assert report.users_operators == {"Relu": __name__}
    assert not report.kept, "nothing was written"
    written = trueport.convert_file(relu_chain(), tmp_path / "saved", ops=[module])
    assert (tmp_path / "saved" / "saved_model.pb").is_file()
    for text in (str(written), written.to_markdown()):
        assert "was written and is kept, though it was not shown to be faithful" in text


def test_an_overridable_default_is_a_loss() -> None:
    model = weighted()
    model.graph.input.append(oh.make_tensor_value_info("w", TensorProto.FLOAT, [3, 600]))
    report = trueport.convert(model).report
    assert [loss.where for loss in report.losses] == ["input 'w'"]
    assert [port.name for port in report.inputs] == ["x"]
    model.ir_version = 3
    assert not trueport.convert(model).report.losses


def test_the_source_is_left_alone(tmp_path: Path) -> None:
    model = relu_chain()
    before = model.SerializeToString()
    trueport.convert(model)
    assert model.SerializeToString() == before


def test_unsorted_nodes_are_sorted() -> None:
    model = relu_chain(3)
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(reversed(nodes))
    x = np.array([[-1.0, 0.0, 2.0]], np.float32)
    np.testing.assert_array_equal(trueport.convert(model, verify=False).model(x)["y"], [[0, 0, 2]])


def test_model_local_functions() -> None:
    body = oh.make_function(
        "local",
        "Twice",
        ["a"],
        ["b"],
        [oh.make_node("Add", ["a", "a"], ["b"])],
        [oh.make_opsetid("", 22)],
    )
    nodes = [
        oh.make_node("Twice", ["x"], ["h"], "one", domain="local"),
        oh.make_node("Twice", ["h"], ["y"], "two", domain="local"),
    ]
    model = model_of(nodes, [X], [Y], opsets=[oh.make_opsetid("local", 1)], functions=[body])
    report = trueport.convert(model)
    assert report.report.verdict == Verdict.FAITHFUL
    np.testing.assert_array_equal(report.model(np.ones((1, 3), np.float32))["y"], 4 * np.ones((1, 3)))


def test_the_users_data_is_compared_on() -> None:
    data = [{"x": np.full((rows, 3), -1.0, np.float32)} for rows in (1, 2, 4)]
    report = trueport.convert(relu_chain(), data=data).report
    assert report.comparison is not None
    assert report.comparison.samples == 3


def test_unknown_target() -> None:
    with pytest.raises(trueport.UsageError, match="there is no target 'caffe'"):
        trueport.convert(relu_chain(), to="caffe")


def test_backend_interface(tmp_path: Path) -> None:
    from trueport.backend import prepare, run_model, run_node, supports_device

    x = np.array([[-1.0, 0.0, 2.0]], np.float32)
    model = relu_chain()
    prepared = prepare(model)
    for given in (x, [x], {"x": x}):
        np.testing.assert_array_equal(prepared.run(given).y, [[0, 0, 2]])
    np.testing.assert_array_equal(run_model(model, [x])[0], [[0, 0, 2]])
    np.testing.assert_array_equal(run_node(oh.make_node("Neg", ["x"], ["y"]), [x])[0], -x)
    assert supports_device("CPU")
    assert not supports_device("CUDA")
    prepared.export_graph(tmp_path / "saved")
    assert (tmp_path / "saved" / "saved_model.pb").exists()
    with pytest.raises(trueport.UsageError):
        prepare(model, "CUDA")


def test_a_newer_onnx_version_of_an_operator_is_not_trusted() -> None:
    from trueport.backends.tensorflow.registry import registry
    from trueport.mapping.registry import Registry

    stale = [mapping.__class__(**{**vars(mapping), "audited": 1}) for mapping in registry() if mapping.op == "Relu"]
    finding = Registry.of("tensorflow", stale).assess(__import__("onnx_ir").node("Relu", []))
    assert finding.fidelity == Fidelity.UNSUPPORTED
    assert "changed in opset" in str(finding)


def test_onnx_checker_agrees_with_the_test_models() -> None:
    for model in (relu_chain(), weighted()):
        onnx.checker.check_model(model, full_check=True)


def test_another_form_of_output_is_refused(tmp_path: Path) -> None:
    with pytest.raises(trueport.UsageError, match=r"can.t be written as \.keras"):
        trueport.convert_file(relu_chain(), tmp_path / "model.keras")


def test_containers_and_parts_are_shown() -> None:
    scale = oh.make_tensor_value_info("scale", TensorProto.FLOAT8E8M0, ["n"])
    same = oh.make_tensor_value_info("same", TensorProto.FLOAT8E8M0, ["n"])
    items = oh.make_tensor_sequence_value_info("items", TensorProto.FLOAT, None)
    last = oh.make_tensor_value_info("last", TensorProto.FLOAT, None)
    nodes = [
        oh.make_node("Identity", ["scale"], ["same"]),
        oh.make_node("Constant", [], ["at"], value_int=-1),
        oh.make_node("SequenceAt", ["items", "at"], ["last"]),
    ]
    text = str(trueport.convert(model_of(nodes, [scale, items], [same, last], opset=25, ir_version=12)).report)
    assert "'scale': FLOAT8E8M0 is carried as its bits in UINT8" in text
    assert "sequence carried as: 'items' → 'items__values', 'items__shapes', 'items__ranks'" in text


@pytest.mark.parametrize("drawn, drawing", [(OnnxSource, "draw"), (OnnxSource, "redrawn"), (BuiltModule, "draw")])
def test_a_drawing_that_fails_does_not_lose_the_conversion(
    drawn: type, drawing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("while/NextIteration:0")

    monkeypatch.setattr(drawn, drawing, fail)
    report = trueport.convert_file(relu_chain(), tmp_path / "saved")
    (remark,) = report.drawing.undrawn
    assert "can't be drawn: KeyError: 'while/NextIteration:0'" in remark.because
    assert report.comparison is not None and report.comparison.verdict == Verdict.FAITHFUL
    assert report.graphs is None
    assert (tmp_path / "saved" / "saved_model.pb").is_file()
    assert "can&#x27;t be drawn" in report.to_html() or "can't be drawn" in report.to_html()
