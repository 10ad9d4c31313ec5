"""Surgery on a model before it is converted: replace, cut, rename, find."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.helper as oh
import onnx_ir as ir
import pytest
import tensorflow as tf
from onnx import TensorProto, numpy_helper

import trueport
from tests.models import model_of, relu_chain
from trueport import surgery
from trueport.errors import UsageError


@pytest.fixture
def model() -> ir.Model:
    """y = relu(-(x + w)) with names for everything."""
    proto = model_of(
        [
            oh.make_node("Add", ["x", "w"], ["sum"], "add"),
            oh.make_node("Neg", ["sum"], ["minus"], "neg"),
            oh.make_node("Relu", ["minus"], ["y"], "relu"),
        ],
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
        initializers=[numpy_helper.from_array(np.array([1, -5], np.float32), "w")],
    )
    return surgery.open(proto)


X = np.array([[1, 2]], np.float32)


def run(model: ir.Model, **feeds: np.ndarray) -> dict[str, list[float]]:
    converted = trueport.convert(model, verify=False).model
    return {
        name: value.numpy().tolist()
        for name, value in converted(**{k: tf.constant(v) for k, v in feeds.items()}).items()
    }


def test_open_gives_a_copy(tmp_path: Path) -> None:
    proto = relu_chain()
    opened = surgery.open(proto)
    surgery.rename(opened, {"h1": "inner"})
    assert proto.graph.node[0].output == ["h1"]
    again = surgery.open(opened)
    surgery.rename(again, {"inner": "once more"})
    assert surgery.find(opened, "inner").op_type == "Relu"
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    assert surgery.find(surgery.open(tmp_path / "m.onnx"), "h1").name == "relu0"


def test_find_by_node_and_by_value(model: ir.Model) -> None:
    assert surgery.find(model, "neg") is surgery.find(model, "minus")
    with pytest.raises(UsageError, match="no node or value 'nothing'") as caught:
        surgery.find(model, "nothing")
    assert "add, neg, relu" in str(caught.value)


def test_replace_swaps_the_operator(model: ir.Model) -> None:
    surgery.replace(model, "neg", op="Abs", domain="")
    assert run(model, x=X) == {"y": [[2, 3]]}


def test_replace_takes_attributes(model: ir.Model) -> None:
    surgery.replace(model, "relu", op="LeakyRelu", domain="", alpha=0.5)
    assert run(model, x=X) == {"y": [[-1, 3]]}


def test_replace_with_an_operator_of_the_users(model: ir.Model) -> None:
    import types

    module = types.ModuleType("users_ops")

    @trueport.maps("Plus", domain="com.acme")
    def plus(t, X, *, amount=1):
        return X + amount

    plus.__module__ = module.__name__
    module.plus = plus
    surgery.replace(model, "neg", op="Plus", domain="com.acme", amount=10)
    conversion = trueport.convert(model, ops=[module], verify=False)
    assert conversion.model(tf.constant(X))["y"].numpy().tolist() == [[12, 7]]
    assert model.opset_imports["com.acme"] == 1


def test_cut_at_the_end(model: ir.Model) -> None:
    surgery.cut(model, outputs=["minus", "sum"])
    assert run(model, x=X) == {"minus": [[-2, 3]], "sum": [[2, -3]]}
    assert [node.op_type for node in model.graph] == ["Add", "Neg"]


def test_cut_at_the_beginning(model: ir.Model) -> None:
    surgery.cut(model, inputs=["sum"])
    assert run(model, sum=X) == {"y": [[0, 0]]}
    assert [value.name for value in model.graph.inputs] == ["sum"]
    assert [node.op_type for node in model.graph] == ["Neg", "Relu"]


def test_cut_out_the_middle(model: ir.Model) -> None:
    surgery.cut(model, inputs=["sum"], outputs=["minus"])
    assert run(model, sum=X) == {"minus": [[-1, -2]]}
    assert not model.graph.initializers


def test_cut_keeps_an_input_that_is_still_used() -> None:
    proto = model_of(
        [oh.make_node("Neg", ["x"], ["n"]), oh.make_node("Add", ["n", "x"], ["y"])],
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
    )
    model = surgery.cut(surgery.open(proto), inputs=["n"])
    assert {value.name for value in model.graph.inputs} == {"x", "n"}
    assert run(model, x=X[0], n=X[0]) == {"y": [2, 4]}


def test_cut_may_make_a_weight_an_input(model: ir.Model) -> None:
    surgery.cut(model, inputs=["x", "w"])
    assert {value.name for value in model.graph.inputs} == {"x", "w"}
    assert run(model, x=X, w=np.array([-3, -3], np.float32)) == {"y": [[2, 1]]}


@pytest.mark.parametrize("names", [{"inputs": ["nothing"]}, {"outputs": ["nothing"]}])
def test_cut_at_what_is_not_there(model: ir.Model, names: dict[str, list[str]]) -> None:
    with pytest.raises(UsageError, match="no value 'nothing'"):
        surgery.cut(model, **names)
    assert len(list(model.graph)) == 3, "nothing was changed"


def test_rename(model: ir.Model) -> None:
    surgery.rename(model, {"x": "pixels", "y": "scores", "w": "weight", "sum": "total"})
    conversion = trueport.convert(model, verify=False)
    assert [port.name for port in conversion.built.inputs] == ["pixels"]
    assert [port.name for port in conversion.built.outputs] == ["scores"]
    assert set(conversion.model.weights) == {"weight"}
    assert run(model, pixels=X) == {"scores": [[0, 3]]}


def test_rename_may_exchange_two_names(model: ir.Model) -> None:
    surgery.rename(model, {"sum": "minus", "minus": "sum"})
    assert surgery.find(model, "sum").op_type == "Neg"
    assert surgery.find(model, "minus").op_type == "Add"


@pytest.mark.parametrize(
    "names, why", [({"nothing": "a"}, "no value 'nothing'"), ({"x": "y"}, "'y' already"), ({"x": "a", "y": "a"}, "'a'")]
)
def test_rename_refuses(model: ir.Model, names: dict[str, str], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        surgery.rename(model, names)
    assert [value.name for value in model.graph.inputs] == ["x"], "nothing was changed"


def test_the_changed_model_is_compared_with_itself(model: ir.Model) -> None:
    surgery.rename(surgery.cut(model, outputs=["minus"]), {"minus": "out"})
    report = trueport.convert(model).report
    assert report.verdict is not None
    assert report.verdict.value == "faithful"
