"""Replacing values and nodes: names of outputs, aliases, origins, users in subgraphs."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import onnx_ir as ir
import pytest

import trueport
from tests.passes.layouts import feeds_of, model_of, run
from trueport.ir.insert import Inserter, Workshop
from trueport.ir.layouts import add_alias, held_names
from trueport.ir.provenance import location, mark_origins, origins
from trueport.ir.replace import can_take_name, replace_node, replace_value
from trueport.passes.recognize.bias import recognize_biases

_CHAIN = "agraph (float[N,3] x) => (float[N,3] y) { a = Relu(x)\n b = Identity(a)\n y = Neg(b) }"
_SEVERAL = """agraph (float[N,4] x) => (float[N,2] p, float[N,2] z) {
    p, q = Split<axis=1, num_outputs=2>(x)
    z = Neg(q)
}"""
_BOTH = "agraph (float[N,3] x) => (float[N,3] a, float[N,3] y) { a = Relu(x)\n y = Neg(a) }"
_CAPTURED = """agraph (float[N,3] x, bool c) => (float[N,3] y) {
    a = Relu(x)
    y = If (c) <
        then_branch = then () => (float[N,3] t) { t = Neg(a) },
        else_branch = other () => (float[N,3] e) { e = Abs(a) }
    >
}"""


def inserter(model: ir.Model, node: ir.Node) -> Inserter:
    return Inserter(Workshop(model), node)


def names(values: object) -> list[str | None]:
    return [value.name for value in values]  # type: ignore[attr-defined]


def test_new_value_takes_name_type_and_aliases():
    model = model_of(_CHAIN)
    relu, _, neg = model.graph
    old = relu.outputs[0]
    add_alias(old, "earlier", (1, 0))
    new = inserter(model, relu).Max(relu.inputs[0], np.float32(0))
    replace_value(old, new)
    assert new.name == "a" and old.name is None and not old.uses()
    assert held_names(new) == {"earlier": (1, 0)}
    assert new.shape == old.shape and new.dtype == ir.DataType.FLOAT
    assert neg.outputs[0].name == "y"


def test_a_value_of_its_own_gets_the_other_names_as_aliases():
    model = model_of(_CHAIN)
    relu, idle, _ = model.graph
    add_alias(idle.outputs[0], "copy of b", (1, 0))
    replace_value(idle.outputs[0], relu.outputs[0], keep_name=True)
    assert relu.outputs[0].name == "a"
    assert held_names(relu.outputs[0]) == {"b": (0, 1), "copy of b": (1, 0)}


def test_an_output_that_is_used_inside_keeps_its_name_and_place():
    model = model_of(_BOTH)
    relu = model.graph[0]
    feeds = feeds_of(model)
    want = run(model, feeds)
    replace_node(relu, [inserter(model, relu).Max(relu.inputs[0], np.float32(0))])
    assert names(model.graph.outputs) == ["a", "y"]
    assert [node.op_type for node in model.graph] == ["Max", "Neg"]
    for one, other in zip(run(model, feeds), want, strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_output_stays_where_the_other_value_keeps_its_name():
    model = model_of(_BOTH)
    relu, neg = model.graph
    replace_value(relu.outputs[0], relu.inputs[0], keep_name=True)  # type: ignore[arg-type]
    assert names(model.graph.outputs) == ["a", "y"]
    assert neg.inputs[0] is model.graph.inputs[0] and model.graph.outputs[0] is relu.outputs[0]
    assert not held_names(model.graph.inputs[0])


def test_users_in_subgraphs():
    model = model_of(_CAPTURED)
    relu = model.graph[0]
    replace_node(relu, [inserter(model, relu).Max(relu.inputs[0], np.float32(0))])
    inside = [node for graph in model.graphs() for node in graph if node.op_type in ("Neg", "Abs")]
    assert [names(node.inputs) for node in inside] == [["a"], ["a"]]
    assert all(node.inputs[0].producer().op_type == "Max" for node in inside)


def test_several_outputs_and_one_that_nothing_uses():
    model = model_of(_SEVERAL)
    split = model.graph[0]
    op = inserter(model, split)
    halves = [op.Slice(split.inputs[0], [start], [start + 2], [1]) for start in (0, 2)]
    replace_node(split, halves)
    assert names(model.graph.outputs) == ["p", "z"] and names(halves) == ["p", "q"]
    again = model_of("agraph (float[N,4] x) => (float[N,2] p) { p, q = Split<axis=1, num_outputs=2>(x) }")
    split = again.graph[0]
    replace_node(split, [inserter(again, split).Slice(split.inputs[0], [0], [2], [1]), None])
    assert names(again.graph.outputs) == ["p"] and len(list(again.graph)) == 1


def test_made_nodes_go_back_to_what_was_replaced():
    model = model_of(_CHAIN)
    mark_origins(model.graph)
    relu, idle, _ = model.graph
    idle.metadata_props["trueport.location"] = "net.py:3"
    made = ir.node("Abs", [relu.outputs[0]])
    replace_node(idle, made.outputs, [made], origins=[relu], by="test")
    assert origins(made) == (*origins(relu), *origins(idle)) and location(made) == "net.py:3"
    assert made.outputs[0].name == "b"


def test_some_users_may_stay():
    model = model_of("agraph (float[N,3] x) => (float[N,3] y, float[N,3] z) { a = Relu(x)\n y = Neg(a)\n z = Abs(a) }")
    relu, neg, size = model.graph
    new = inserter(model, neg).Max(relu.inputs[0], np.float32(0))
    replace_value(relu.outputs[0], new, keep_name=True, except_in={neg})
    assert neg.inputs[0] is relu.outputs[0] and size.inputs[0] is new


def test_an_initializer_is_replaced_by_a_value_of_its_name():
    model = model_of("agraph (float[3] x) => (float[3] y) { y = Add(x, w) }", w=np.ones(3, np.float32))
    old = model.graph.initializers["w"]
    new = ir.Value()
    replace_value(old, new)
    assert new.name == "w" and "w" not in model.graph.initializers and model.graph[0].inputs[1] is new


@pytest.mark.parametrize(("new", "can"), [("a", True), ("x", False), ("y", False)])
def test_who_can_take_a_name(new: str, can: bool):
    model = model_of(
        "agraph (float[N,3] x) => (float[N,3] y, float[N,3] z) { a = Relu(x)\n y = Neg(a)\n z = Identity(a) }"
    )
    values = {value.name: value for node in model.graph for value in (*node.inputs, *node.outputs)}
    assert can_take_name(values["z"], values[new]) is can


def test_a_convolution_with_its_bias_is_not_found_by_the_names_without():
    model = model_of(
        """agraph (float[1,2,4,4] x) => (float[1,3,4,4] z) {
            a = Conv(x, k)
            v = Reshape(b, s)
            y = Add(a, v)
            z = Relu(y)
        }""",
        k=(3, 2, 1, 1),
        b=(3,),
        s=np.array([3, 1, 1]),
    )
    conv, _, add, _ = model.graph
    add_alias(conv.outputs[0], "before the bias", (0, 1, 2, 3))
    add_alias(add.outputs[0], "after the bias", (0, 1, 2, 3))
    assert recognize_biases(model) == 1
    assert conv.outputs[0].name == "y" and held_names(conv.outputs[0]) == {"after the bias": (0, 1, 2, 3)}


def test_no_module_rewires_by_hand():
    package = Path(trueport.__file__).parent
    by_hand = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in ("replace_all_uses_with", "replace_nodes_and_values")
    ]
    assert by_hand == []
