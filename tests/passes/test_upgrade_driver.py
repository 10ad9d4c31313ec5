"""How models are raised: functions, subgraphs, names and the opsets that they state."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from tests.passes.run_models import assert_same, run_ort, run_reference
from trueport.errors import InvalidModel
from trueport.ir.provenance import MADE_BY, mark_origins, origins
from trueport.ir.schemas import CANONICAL_OPSETS
from trueport.passes.upgrade.adapt import upgrade_model

X = np.random.default_rng(5).normal(size=(2, 3, 4)).astype(np.float32)


def raised(text: str | onnx.ModelProto) -> ir.Model:
    model = ir.from_proto(onnx.parser.parse_model(text) if isinstance(text, str) else text)
    mark_origins(model.graph)
    upgrade_model(model)
    return model


def folded_softmax(x: np.ndarray, axis: int) -> np.ndarray:
    rows = x.reshape(int(np.prod(x.shape[:axis])), -1)
    e = np.exp(rows - rows.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).reshape(x.shape)


def test_a_function_has_its_own_opset_and_attributes_of_the_call() -> None:
    text = """
        <ir_version: 8, opset_import: ["": 18, "own": 1]>
        agraph (float[2,3,4] x) => (float[2,3,4] y) { y = own.fold <at = 1> (x) }
        <domain: "own", opset_import: ["": 11]>
        fold <at> (a) => (b) { b = Softmax <axis: int = @at> (a) }
    """
    model = raised(text)
    assert not model.functions
    assert_same(run_reference(ir.to_proto(model), {"x": X}), [folded_softmax(X, 1)], "function")


def test_subgraphs_are_raised_once_even_when_their_node_is_replaced() -> None:
    text = """
        <ir_version: 8, opset_import: ["": 8]>
        agraph (float[2,3,4] s, float[2,5,3,4] x) => (float[2,3,4] t, float[2,5,3,4] o) {
            t, o = Scan <num_scan_inputs = 1, body = one (float[3,4] a, float[3,4] b) => (float[3,4] c, float[3,4] d) {
                c = Add (a, b)
                d = Softmax <axis = 0> (c)
            }> (, s, x)
        }
    """
    x = np.random.default_rng(6).normal(size=(2, 5, 3, 4)).astype(np.float32)
    states = X[:, None] + np.cumsum(x, 1)
    want = [states[:, -1], np.stack([[folded_softmax(s, 0) for s in row] for row in states])]
    got = run_reference(ir.to_proto(raised(text)), {"s": X, "x": x})
    assert_same(got, want, "scan")


def test_a_branch_is_raised_in_its_place() -> None:
    text = """
        <ir_version: 8, opset_import: ["": 10]>
        agraph (bool c, float[2,3,4] x) => (float[N] y) {
            y = If (c) <
                then_branch = yes () => (float[N] a) { a = ReduceSum <axes = [0, 1], keepdims = 0> (x) },
                else_branch = no () => (float[N] b) { b = ReduceMax <axes = [0, 1], keepdims = 0> (x) }
            >
        }
    """
    proto = onnx.parser.parse_model(text)
    for choice in (True, False):
        feeds = {"c": np.array(choice), "x": X}
        assert_same(run_reference(ir.to_proto(raised(proto)), feeds), run_ort(proto, feeds), "if")


def test_names_and_origins_are_kept() -> None:
    text = """
        <ir_version: 8, opset_import: ["": 9]>
        agraph (float[2,3] x) => (float[2,6] y) { [grow] y = Upsample <mode = "nearest"> (x, s) }
    """
    proto = onnx.parser.parse_model(text)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 2], np.float32), "s"))
    model = raised(proto)
    (resize,) = list(model.graph)
    assert (resize.op_type, resize.name, resize.outputs[0].name) == ("Resize", "grow", "y")
    assert model.graph.outputs[0] is resize.outputs[0]
    assert origins(resize) == ("grow",)
    assert resize.metadata_props[MADE_BY].startswith("upgrade:")


def test_all_names_in_a_raised_model_are_unique() -> None:
    text = """
        <ir_version: 8, opset_import: ["": 8]>
        agraph (float[2,3,4] x) => (float[2,3,4] y) { a = Softmax (x) b = LogSoftmax <axis = 0> (a) y = Hardmax (b) }
    """
    model = raised(text)
    names = [value.name for node in model.graph.all_nodes() for value in node.outputs]
    assert len(set(names)) == len(names)


def test_a_model_without_opset_means_the_first_one() -> None:
    text = '<ir_version: 8, opset_import: ["": 1]> agraph (float[2,3] x) => (float[2,6] y) { y = Concat (x, x) }'
    proto = onnx.parser.parse_model(text)
    del proto.opset_import[:]
    proto.ir_version = 2
    model = raised(proto)
    assert model.opset_imports[""] == CANONICAL_OPSETS[""]
    assert model.graph[0].attributes["axis"].as_int() == 1


def test_the_domain_has_two_names() -> None:
    text = '<ir_version: 8, opset_import: ["ai.onnx": 11]> g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax (x) }'
    model = raised(text)
    assert dict(model.opset_imports) == {"": CANONICAL_OPSETS[""]}
    assert_same(run_reference(ir.to_proto(model), {"x": X}), [folded_softmax(X, 1)], "ai.onnx")


def test_a_known_last_axis_needs_no_folding() -> None:
    text = '<ir_version: 8, opset_import: ["": 11]> agraph (float[N,4] x) => (float[N,4] y) { y = Softmax (x) }'
    assert [node.op_type for node in raised(text).graph] == ["Softmax"]


def test_an_operator_that_is_younger_than_its_opset_is_refused() -> None:
    text = '<ir_version: 8, opset_import: ["": 11]> agraph (float[N] x) => (float[N] y) { y = Gelu (x) }'
    with pytest.raises(InvalidModel, match="Gelu does not exist in opset 11"):
        raised(text)


def test_a_canonical_model_stays_as_it_is() -> None:
    newest = CANONICAL_OPSETS[""]
    text = f'<ir_version: 10, opset_import: ["": {newest}]> agraph (float[N] x) => (float[N] y) {{ y = Relu (x) }}'
    model = raised(text)
    assert [node.op_type for node in model.graph] == ["Relu"]
    assert all(node.version is None for node in model.graph)
