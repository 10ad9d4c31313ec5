"""Every old version of every operator means at the canonical opset what it meant at its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx
import onnx_ir as ir
import pytest

from tests.passes.old_opsets import Case, by_hand, from_suite, old_versions
from tests.passes.run_models import assert_same, run_ort, run_reference, shapes_of
from trueport.backend import prepare
from trueport.ir.maps import from_proto
from trueport.ir.schemas import CANONICAL_OPSETS, EXPERIMENTAL_OPERATORS, canonical_schema, history
from trueport.mapping.bind import bind_by_schema
from trueport.passes.upgrade.adapt import EXPERIMENTAL, UP, upgrade_model
from trueport.passes.upgrade.relabels import RELABELS, only_widens

SUITE = [case for cases in from_suite().values() for case in cases]
HAND = list(by_hand())
HAND_WITHOUT_RANKS = list(by_hand(ranks_known=False))
REFERENCE_IS_WRONG = {
    "If": "an optional comes out in a list",
    "Optional": "an optional comes out in a list",
}
ORT_IS_WRONG = {"MaxUnpool": "indices are taken as those of the smaller output though output_shape is given"}
ORT_OPSETS = (26, 21)
"""The newest that ONNX Runtime runs; the newest for which it has all kernels that it ever had."""


def _label(case: Case) -> str:
    domain, op, version = case.pair
    return f"{domain or 'onnx'}.{op}-{version}-{case.label}"


def _steps() -> list[tuple[str, str, int, int]]:
    found = []
    for domain, op, old in old_versions():
        versions = [schema.since_version for schema in history(op, domain)]
        found.append((domain, op, old, versions[versions.index(old) + 1]))
    return found


def _widens(step: tuple[str, str, int, int]) -> bool:
    domain, op, old, new = step
    schemas = {schema.since_version: schema for schema in history(op, domain)}
    return only_widens(schemas[old], schemas[new])


def test_every_step_is_settled_in_one_way() -> None:
    adapted = {(domain, op, old, new) for (domain, op, old), (new, _) in UP.adapters.items() if old != EXPERIMENTAL}
    for step in _steps():
        ways = [step in adapted, step in RELABELS, _widens(step)]
        assert sum(ways) == 1, f"{step}: adapter {ways[0]}, relabel {ways[1]}, mere widening {ways[2]}"
    assert adapted <= set(_steps()), "an adapter for a step that does not exist"
    assert set(RELABELS) <= set(_steps()), "a relabel for a step that does not exist"


def test_every_operator_on_trial_has_an_adapter() -> None:
    assert {op for _, op, old in UP.adapters if old == EXPERIMENTAL} == EXPERIMENTAL_OPERATORS


def test_every_old_version_has_a_case() -> None:
    covered = {case.pair for case in [*SUITE, *HAND]}
    assert not [pair for pair in old_versions() if pair not in covered]


def test_every_adapter_has_a_case_by_hand() -> None:
    covered = {case.pair for case in HAND}
    assert not [key for key in UP.adapters if key not in covered]


def _expected(case: Case) -> list[Any]:
    """What the old model gives: by itself, or as the table says."""
    if case.want is not None:
        return case.want
    if case.fallback is not None and case.pair[1] in ORT_IS_WRONG:
        return case.fallback
    problems = []
    for run in (run_ort, run_reference) if case.fallback is None else (run_ort,):
        try:
            return run(case.model, case.feeds)
        except Exception as problem:  # each runtime has its own way to say that it lacks a version
            problems.append(problem)
    if case.fallback is None:
        pytest.fail(f"nothing runs {_label(case)}: {problems}")
    return case.fallback


def _raised(case: Case) -> onnx.ModelProto:
    model = from_proto(case.model)
    upgrade_model(model)
    assert dict(model.opset_imports) == {d: CANONICAL_OPSETS[d] for d in model.opset_imports}
    for node in model.graph.all_nodes():
        schema = canonical_schema(node.op_type, node.domain)
        assert schema is not None
        bind_by_schema(node, schema)
    return ir.to_proto(model)


def _run_raised(model: onnx.ModelProto, case: Case) -> list[Any]:
    """By the reference evaluator; where it lacks something, by ONNX Runtime at the newest opset that it knows."""
    problems = []
    if case.pair[1] not in REFERENCE_IS_WRONG:
        try:
            return run_reference(model, case.feeds)
        except Exception as problem:  # the evaluator fails in many ways on what it does not implement
            problems.append(problem)
    for opset in ORT_OPSETS:
        next(imported for imported in model.opset_import if not imported.domain).version = opset
        try:
            return run_ort(onnx.shape_inference.infer_shapes(model), case.feeds)
        except Exception as problem:  # a missing kernel is one of several errors
            problems.append(problem)
    return pytest.fail(f"nothing runs the raised {_label(case)}: {problems}")


def _compare(case: Case, got: Sequence[Any], want: Sequence[Any]) -> None:
    if case.random:
        assert shapes_of(list(got)) == shapes_of(list(want)), _label(case)
    else:
        assert_same(list(got), list(want), _label(case))


@pytest.mark.parametrize("case", [*SUITE, *HAND], ids=_label)
def test_raised_model_means_the_same(case: Case) -> None:
    _compare(case, _run_raised(_raised(case), case), _expected(case))


@pytest.mark.parametrize("case", HAND_WITHOUT_RANKS, ids=_label)
def test_raised_model_means_the_same_without_ranks(case: Case) -> None:
    _compare(case, _run_raised(_raised(case), case), _expected(case))


@pytest.mark.parametrize("case", [*(cases[0] for cases in from_suite().values()), *HAND], ids=_label)
def test_converted_model_means_the_same(case: Case) -> None:
    _compare(case, prepare(case.model).run(case.feeds), _expected(case))
