"""One record per operator: complete, without contradictions, the same for everyone."""

from __future__ import annotations

import dataclasses

import onnx
import pytest

from trueport.backends.tensorflow.registry import registry
from trueport.fidelity import BITWISE, ulps
from trueport.ir.schemas import canonical_schema
from trueport.mapping.declare import OpMapping
from trueport.operators.record import Folding, Kind, Operator, Randomness, Role, Trait, Widening
from trueport.operators.table import OPERATORS, build, facts, facts_of, with_trait


def schemas() -> set[tuple[str, str]]:
    return {(schema.domain, schema.name) for schema in onnx.defs.get_all_schemas_with_history()}


def test_every_operator_of_onnx_has_a_record() -> None:
    assert not schemas() - set(OPERATORS)


def test_records_are_of_operators_that_exist() -> None:
    assert not {key for key in OPERATORS if key[0] != "com.microsoft"} - schemas()


def test_two_records_of_one_operator_raise() -> None:
    first = Operator("Abs", Kind.ELEMENTWISE)
    with pytest.raises(TypeError, match=r"'Abs'.*two records"):
        build([first], [dataclasses.replace(first, kind=Kind.MOVEMENT)])
    assert len(build([first], [dataclasses.replace(first, domain="com.acme")])) == 2


def test_of_an_unknown_operator_nothing_is_promised() -> None:
    unknown = facts("Frobnicate", "com.acme")
    assert not unknown.is_known
    assert unknown.error == ulps(1)
    assert (unknown.order, unknown.folds, unknown.traits) == (None, Folding.NEVER, Trait.NONE)
    assert unknown.random == Randomness.NEVER
    assert unknown.role(7) == Role.DATA
    assert unknown.widening == Widening.NOT_INTEGERS


def test_a_node_is_asked_by_domain_and_name() -> None:
    node = onnx.helper.make_node("Attention", ["x"], ["y"], domain="com.microsoft")
    assert facts_of(node) is OPERATORS["com.microsoft", "Attention"]
    assert facts("Relu", "ai.onnx") is facts("Relu") is OPERATORS["", "Relu"]


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        OPERATORS["", "Relu"] = facts("Abs")  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError):
        facts("Relu").error = None  # type: ignore[misc]


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=lambda o: f"{o.domain}:{o.name}")
def test_a_record_fits_its_schema(operator: Operator) -> None:
    schema = canonical_schema(operator.name, operator.domain)
    if schema is None:
        return
    assert len(operator.roles) <= len(schema.inputs)
    assert len(operator.roles) in (0, len(schema.inputs)) or operator.roles[-1] is Role.DATA
    assert not operator.type_attribute or operator.type_attribute in schema.attributes
    if operator.decides is not None and operator.decides.attribute is not None:
        name, default = operator.decides.attribute
        assert schema.attributes[name].default_value.f == default
    if operator.pads_with is not None:
        assert "pads" in schema.attributes
    if operator.widening is Widening.NEAREST:
        assert "mode" in schema.attributes


def test_facts_do_not_contradict_each_other() -> None:
    for operator in OPERATORS.values():
        assert operator.is_known
        if operator.has(Trait.MOVES_FIRST):
            assert operator.error is None, operator.name
            assert operator.widening is Widening.MOVES, operator.name
        if operator.random is Randomness.ALWAYS:
            assert operator.folds is Folding.NEVER, operator.name
        assert not operator.has(Trait.KEEPS_SMALL | Trait.MAGNIFIES_SMALL), operator.name


def test_operators_with_a_trait_are_listed() -> None:
    assert {operator.name for operator in with_trait(Trait.WEIGHTED)} == {"Conv", "ConvTranspose", "Gemm", "MatMul"}


@pytest.mark.parametrize("mapping", list(registry()), ids=lambda m: f"{m.domain}:{m.op}")
def test_a_declared_bound_is_wider_than_the_operators_own(mapping: OpMapping) -> None:
    """A bound of its own is for a kernel that is worse than the operator in any other runtime."""
    own, known = mapping.error, facts(mapping.op, mapping.domain).error
    if mapping.fidelity == BITWISE:
        assert known is None
    elif own is not None and own != known:
        assert known is None or (own.ulps, own.per_term) > (known.ulps, known.per_term)
