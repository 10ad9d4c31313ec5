"""What a registry says of a node: the one question that check and convert ask."""

from __future__ import annotations

import types
from typing import Any

import onnx
import onnx.helper as oh
import onnx_ir as ir
import pytest

from trueport.fidelity import APPROXIMATE, BITWISE, EXACT, LOSSY, UNSUPPORTED, Limit, ulps
from trueport.mapping.declare import OpMapping, declared_by, maps
from trueport.mapping.registry import RECORDS, Registry, build
from trueport.operators.record import Kind, Randomness, Role
from trueport.operators.table import facts

FLOAT, DOUBLE = ir.DataType.FLOAT, ir.DataType.DOUBLE


def handler(t, X): ...


def declared(op: str = "Relu", **options: Any) -> OpMapping:
    return declared_by(maps(op, **options)(lambda t, X: X))[0]


def node(op: str = "Relu", dtype: int = onnx.TensorProto.FLOAT, domain: str = "", **attributes: Any) -> ir.Node:
    proto = oh.make_node(op, ["x"], ["y"], "here", domain=domain, **attributes)
    graph = oh.make_graph([proto], "g", [oh.make_tensor_value_info("x", dtype, [2])], [onnx.ValueInfoProto(name="y")])
    opsets = [oh.make_opsetid("", 22), oh.make_opsetid("com.acme", 1)]
    return next(iter(ir.from_proto(oh.make_model(graph, opset_imports=opsets)).graph))


def assess(mapping: OpMapping, where: ir.Node | None = None) -> tuple[Any, list[str]]:
    finding = Registry.of("test", [mapping]).assess(where or node())
    return finding.fidelity, [reason.label for reason in finding.reasons]


def test_a_promise_without_reasons() -> None:
    assert assess(declared(fidelity=BITWISE, audited=14)) == (BITWISE, [])
    assert assess(declared(audited=14)) == (EXACT, [])


def test_no_mapping() -> None:
    finding = Registry.of("test", []).assess(node("Twist", domain="com.acme"))
    assert finding.fidelity == UNSUPPORTED
    assert str(finding).startswith(
        "node 'here' (com.acme::Twist): com.acme::Twist has no mapping to test → declare it:"
    )


def test_a_reason_for_less_than_exact() -> None:
    finding = Registry.of("test", [declared(fidelity=LOSSY, because="bits go", audited=14)]).assess(node())
    assert finding.fidelity == LOSSY
    assert "bits go" in str(finding)


@pytest.mark.parametrize("fidelity", [APPROXIMATE, LOSSY])
def test_a_promise_needs_its_reason(fidelity: Any) -> None:
    with pytest.raises(TypeError, match="needs because="):
        maps("Relu", fidelity=fidelity)(handler)


def test_unsupported_is_not_declared() -> None:
    with pytest.raises(TypeError, match="undeclared"):
        maps("Relu", fidelity=UNSUPPORTED, because="no")(handler)


def test_an_operator_newer_than_the_audit_is_not_trusted() -> None:
    assert assess(declared(audited=13)) == (UNSUPPORTED, ["unaudited"])
    assert assess(declared(audited=None)) == (EXACT, []), "a user's own handler needs no audit"


def test_types_that_are_not_carried() -> None:
    mapping = declared(audited=14, dtypes={"T": [FLOAT]})
    assert assess(mapping) == (EXACT, [])
    assert assess(mapping, node(dtype=onnx.TensorProto.DOUBLE)) == (UNSUPPORTED, ["dtype"])
    finding = Registry.of("test", [mapping]).assess(node(dtype=onnx.TensorProto.DOUBLE))
    assert "input 'X' is DOUBLE" in str(finding) and "it carries FLOAT" in str(finding)


def steep(where: ir.Node) -> bool:
    return where.attributes["alpha"].as_float() > 1


@pytest.mark.parametrize("effect", [APPROXIMATE, LOSSY, UNSUPPORTED])
def test_a_limit_holds_where_it_says(effect: Any) -> None:
    limit = Limit("too-steep", steep, effect, because="steep slopes slip", remedy="use a flatter one", example=node)
    mapping = declared("LeakyRelu", audited=16, limits=[limit])
    assert assess(mapping, node("LeakyRelu", alpha=0.5)) == (EXACT, [])
    assert assess(mapping, node("LeakyRelu", alpha=2.0)) == (effect, ["too-steep"])
    finding = Registry.of("test", [mapping]).assess(node("LeakyRelu", alpha=2.0))
    assert str(finding).endswith("steep slopes slip → use a flatter one")


def test_the_worst_reason_counts_and_all_are_told() -> None:
    limits = [
        Limit(label, lambda _: True, effect, because=label, example=node)
        for label, effect in (("a", LOSSY), ("b", APPROXIMATE))
    ]
    assert assess(declared(audited=14, limits=limits)) == (LOSSY, ["a", "b"])


def test_one_operator_is_declared_once() -> None:
    with pytest.raises(TypeError, match=r"'Relu' .* is declared twice"):
        Registry.of("test", [declared(), declared()])
    Registry.of("test", [declared(), declared(domain="com.acme")])


def module_with(name: str, **items: Any) -> types.ModuleType:
    module = types.ModuleType(name)
    for key, item in items.items():
        if callable(item):
            item.__module__ = name
        setattr(module, key, item)
    return module


def test_a_registry_is_built_from_modules_and_does_not_change() -> None:
    def both(t, X): ...

    module = module_with("some_ops", both=maps("Relu", audited=14)(maps("Neg", audited=13)(both)), other=3)
    registry = build("test", module)
    assert len(registry) == 2
    assert {mapping.op for mapping in registry} == {"Relu", "Neg"}
    with pytest.raises(TypeError):
        registry._mappings["", "Abs"] = declared()  # type: ignore[index]


def test_what_a_module_only_imports_is_not_its_own() -> None:
    borrowed = maps("Relu")(lambda t, X: X)
    module = types.ModuleType("borrower")
    module.borrowed = borrowed
    assert len(build("test", module)) == 0


def test_an_extension_comes_first_and_leaves_the_original() -> None:
    first = Registry.of("test", [declared(audited=14)])
    own = maps("Relu", fidelity=BITWISE)(lambda t, X: X)
    extended = first.extended(module_with("own_ops", relu=own))
    assert extended.assess(node()).fidelity == BITWISE
    assert first.assess(node()).fidelity == EXACT
    assert len(first.extended()) == len(first)


def test_channels_last_is_asked_by_node() -> None:
    registry = Registry.of("test", [declared("MaxPool", channels_last=True), declared("Relu")])
    assert registry.honours_channels_last(node("MaxPool"))
    assert not registry.honours_channels_last(node("Relu"))
    assert not registry.honours_channels_last(node("Neg"))


def test_an_exact_promise_has_a_bound() -> None:
    assert declared().error == ulps(0), "the operator's own"
    assert declared("Acme", domain="com.acme").error == ulps(1)
    assert declared(error=ulps(2)).error == ulps(2)
    assert declared(fidelity=BITWISE).error is None


def test_facts_are_those_of_the_record_unless_declared() -> None:
    registry = Registry.of("test", [declared("Clip", error=ulps(3), static=(), audited=13)])
    clip = registry.facts("Clip")
    assert (clip.error, clip.role(0), clip.role(1)) == (ulps(3), Role.DATA, Role.DATA)
    assert clip.kind is facts("Clip").kind
    assert registry.facts("Relu") is facts("Relu")
    assert RECORDS.facts("Clip").role(1).is_parameter
    assert not registry.facts("Acme", "com.acme").is_known


def test_a_users_operator_is_known_by_its_declaration() -> None:
    @maps("Acme", domain="com.acme", static=("scale",), random=True, error=ulps(5))
    def acme(t: Any, x: Any, scale: Any) -> Any:
        return x

    found = Registry.of("test", declared_by(acme)).facts("Acme", "com.acme")
    assert (found.kind, found.error, found.random) == (Kind.CUSTOM, ulps(5), Randomness.ALWAYS)
    assert [found.role(index) for index in range(3)] == [Role.DATA, Role.PARAMETER, Role.PARAMETER]
    assert Registry.of("test", [declared("Acme", fidelity=BITWISE)]).facts("Acme").error is None


def test_a_declaration_takes_parameters_and_randomness_from_the_record() -> None:
    assert declared("Slice").static == {"starts", "ends", "axes", "steps"}
    assert declared("Slice", static=()).static == frozenset()
    assert declared("BatchNormalization").state == {"input_mean", "input_var"}
    assert declared("RandomNormal").random
    assert not declared("RandomNormal", random=False).random
    assert not declared("Dropout").random
