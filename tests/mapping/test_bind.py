"""From a node to a handler's arguments."""

from __future__ import annotations

from typing import Any

import onnx
import onnx.helper as oh
import onnx_ir as ir
import pytest

from trueport.errors import InvalidModel
from trueport.ir.schemas import canonical_schema
from trueport.mapping.bind import attribute_defaults, bind, bind_by_signature, input_name
from trueport.mapping.declare import declared_by, maps


def node(op: str, inputs: list[str], outputs: int = 1, domain: str = "", **attributes: Any) -> ir.Node:
    proto = oh.make_node(op, inputs, [f"y{i}" for i in range(outputs)], "node", domain=domain, **attributes)
    values = [oh.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in dict.fromkeys(inputs) if name]
    graph = oh.make_graph([proto], "g", values, [onnx.ValueInfoProto(name=name) for name in proto.output])
    model = ir.from_proto(oh.make_model(graph, opset_imports=[oh.make_opsetid(domain, 1), oh.make_opsetid("", 22)]))
    return next(iter(model.graph))


def bound(op: str, inputs: list[str], **attributes: Any) -> tuple[list[str | None], dict[str, Any]]:
    """The names of the bound inputs, and the attributes."""
    found = bind(node(op, inputs, **attributes), canonical_schema(op, ""), lambda t: None, {})
    return [value.name if value is not None else None for value in found.inputs], dict(found.attributes)


def test_missing_inputs_at_the_end_are_none() -> None:
    assert bound("Clip", ["x"])[0] == ["x", None, None]
    assert bound("Clip", ["x", "low"])[0] == ["x", "low", None]


def test_missing_inputs_in_between_are_none() -> None:
    assert bound("Clip", ["x", "", "high"])[0] == ["x", None, "high"]


def test_variadic_inputs_are_spread() -> None:
    assert bound("Concat", ["a", "b", "c"], axis=0)[0] == ["a", "b", "c"]
    assert bound("Sum", ["a"])[0] == ["a"]


def test_defaults_are_the_schemas() -> None:
    attributes = bound("Conv", ["x", "w"])[1]
    assert attributes["auto_pad"] == "NOTSET"
    assert attributes["group"] == 1
    assert attributes["strides"] is None, "the schema gives none: the handler derives it"
    assert bound("LeakyRelu", ["x"])[1] == {"alpha": pytest.approx(0.01)}


def test_given_attributes_are_python_values() -> None:
    attributes = bound("Conv", ["x", "w"], auto_pad="SAME_UPPER", strides=[2, 1], group=3)[1]
    assert attributes["auto_pad"] == "SAME_UPPER"
    assert attributes["strides"] == [2, 1]
    assert attributes["group"] == 3


def test_strings_are_decoded() -> None:
    schema = canonical_schema("StringNormalizer", "")
    found = bind(node("StringNormalizer", ["x"], stopwords=["a", "ä"]), schema, lambda t: None, {})
    assert found.attributes["stopwords"] == ["a", "ä"]
    assert found.attributes["case_change_action"] == "NONE"


def test_subgraphs_stay_graphs() -> None:
    body = oh.make_graph([], "body", [], [])
    schema = canonical_schema("If", "")
    found = bind(node("If", ["c"], then_branch=body, else_branch=body), schema, lambda t: None, {})
    assert isinstance(found.attributes["then_branch"], ir.Graph)


def test_ignored_attributes_are_not_passed() -> None:
    found = bind(node("TopK", ["x", "k"], outputs=2), canonical_schema("TopK", ""), lambda t: None, {"sorted": "why"})
    assert set(found.attributes) == {"axis", "largest"}


def test_call_looks_values_up() -> None:
    found = bind(node("Clip", ["x", "", "high"]), canonical_schema("Clip", ""), lambda t: None, {})
    called = found.call(lambda t, *inputs, **attributes: (t, inputs, attributes), "t", lambda value: value.name.upper())
    assert called == ("t", ("X", None, "HIGH"), {})


@pytest.mark.parametrize(
    "op, inputs, attributes, says",
    [
        ("Relu", ["a", "b"], {}, "has 2 inputs, Relu-14 takes at most 1"),
        ("Relu", ["a"], {"slope": 1}, "attribute 'slope' is unknown to Relu-14"),
        ("Concat", ["a"], {}, "its attribute 'axis' is missing"),
    ],
)
def test_what_the_schema_does_not_allow(op: str, inputs: list[str], attributes: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidModel, match=says) as caught:
        bound(op, inputs, **attributes)
    assert caught.value.where == "node 'node' (" + op + ")"


def custom(t, X, Y, *, alpha, beta=2): ...


def spread(t, first, *rest, **options): ...


def test_an_operator_without_schema_binds_by_the_signature() -> None:
    found = bind_by_signature(node("Op", ["a"], domain="com.acme", alpha=1.5), custom)
    assert [v and v.name for v in found.inputs] == ["a", None]
    assert found.attributes == {"alpha": 1.5, "beta": 2}


def test_a_signature_that_takes_everything() -> None:
    found = bind_by_signature(node("Op", ["a", "b", "c"], domain="com.acme", any=[1, 2]), spread)
    assert [v.name for v in found.inputs] == ["a", "b", "c"]
    assert found.attributes == {"any": [1, 2]}


@pytest.mark.parametrize(
    "inputs, attributes, says",
    [
        (["a", "b", "c"], {"alpha": 1.0}, "has 3 inputs, its handler takes 2"),
        (["a"], {"alpha": 1.0, "gamma": 1.0}, "'gamma' is not taken"),
        (["a"], {}, "its attribute 'alpha' is missing"),
    ],
)
def test_what_the_signature_does_not_allow(inputs: list[str], attributes: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidModel, match=says):
        bind_by_signature(node("Op", inputs, domain="com.acme", **attributes), custom)


def test_input_names() -> None:
    mapping = declared_by(maps("Conv")(lambda t, X, W, B: None))[0]
    assert [input_name(mapping, i) for i in range(3)] == ["X", "W", "B"]
    variadic = declared_by(maps("Concat")(lambda t, *inputs: None))[0]
    assert input_name(variadic, 7) == "inputs"
    own = declared_by(maps("Op", domain="com.acme")(custom))[0]
    assert [input_name(own, i) for i in range(2)] == ["X", "Y"]


def test_every_schema_has_defaults_of_plain_types() -> None:
    for schema in onnx.defs.get_all_schemas():
        for name, value in attribute_defaults(schema).items():
            assert isinstance(value, (int, float, str, list, type(None))), f"{schema.name}.{name}"
