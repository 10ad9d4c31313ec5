"""Inputs that reach what is decided behind arithmetic, and the count of what was reached."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime
import pytest

import trueport
from tests.verifying.reach_cases import (
    I64,
    KINDS,
    F,
    G,
    Pair,
    buckets,
    cap_after_conv,
    if_mean,
    infinities,
    known_mean,
    narrow_product,
    narrow_sum,
    nested_if,
    norm_above,
    peak_rescaled,
    rows_behind_mod,
    rows_of_floats,
    saturation,
    seconds,
    text_keys,
    tree_leaf,
    trips,
)
from trueport.fidelity import Verdict
from trueport.mapping.registry import RECORDS
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.verifying.inputs.plan import Plan, Sample, graph_ports, plan_inputs
from trueport.verifying.inputs.reach.solve import solve
from trueport.verifying.verification import Verification

Kind = Callable[[np.random.Generator], Pair]

UNSEEN = {"tree_mode"}
"""Reached, but only exactly at a threshold, where noise in the inputs of a tree explains the other side."""


def rng(kind: Kind, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, len(kind.__name__)])


def planned(model: onnx.ModelProto, seed: int = 0) -> Plan:
    graph = OnnxOracle.of(model, RECORDS).model.graph
    return plan_inputs(graph_ports(graph), graph, seed=seed, accepts=lambda feeds: True)


def samples(model: onnx.ModelProto) -> list[Sample]:
    plan = planned(model)
    return [*plan.samples(), *plan.beyond()]


def outputs(model: onnx.ModelProto, feeds: Sample) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, dict(feeds))  # type: ignore[no-any-return]


def differ(pair: Pair, feeds: Sample) -> bool:
    try:
        wanted = outputs(pair[0], feeds)
    except Exception:  # ONNX Runtime's own types: the source does not take these inputs
        return False
    got = outputs(pair[1], feeds)
    return any(not np.allclose(a, b, 1e-4, 1e-6, equal_nan=True) for a, b in zip(wanted, got, strict=True))


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.__name__ not in UNSEEN], ids=lambda kind: kind.__name__
)
def test_some_sample_shows_the_difference(kind: Kind) -> None:
    pair = kind(rng(kind, 0))
    found = samples(pair[0])
    assert any(differ(pair, feeds) for feeds in found)
    assert len(found) <= 11 + 5 + 2


@pytest.mark.parametrize("kind", [if_mean, peak_rescaled, tree_leaf, text_keys, trips, narrow_sum, infinities])
def test_verify_detects_it(kind: Kind) -> None:
    assert trueport.verify(*kind(rng(kind, 1))).verdict is Verdict.DEPARTS


@pytest.mark.parametrize("kind", [nested_if, norm_above, saturation, seconds, known_mean, cap_after_conv, buckets])
def test_a_source_is_faithful_to_itself_on_the_same_inputs(kind: Kind) -> None:
    source = kind(rng(kind, 1))[0]
    found = trueport.verify(source, source)
    assert (found.verdict, found.rejected) == (Verdict.FAITHFUL, 0)


def covered(model: onnx.ModelProto, seed: int = 0) -> Verification:
    return trueport.verify(model, model, seed=seed)


def test_coverage_counts_branches_and_sides() -> None:
    coverage = covered(if_mean(rng(if_mean, 0))[0]).coverage
    assert coverage is not None
    assert {node.operator: (node.parts, node.reached) for node in coverage.nodes} == {"Greater": (2, 2), "If": (2, 2)}
    assert str(coverage) == "coverage: 4 of 4 branches and sides reached"


def test_coverage_counts_rows_behind_arithmetic() -> None:
    coverage = covered(rows_behind_mod(rng(rows_behind_mod, 0))[0]).coverage
    assert coverage is not None
    rows = next(node for node in coverage.nodes if node.kind == "rows")
    assert rows.reached == rows.parts > 200


def test_every_row_that_is_called_covered_shows_its_fault() -> None:
    kind = rows_of_floats
    source = kind(rng(kind, 0))[0]
    found = samples(source)
    table = next(weight for weight in source.graph.initializer if list(weight.dims) == [120, 2])
    for row in (1, 60, 118):
        wrong = onnx.ModelProto()
        wrong.CopyFrom(source)
        array = onnx.numpy_helper.to_array(table).copy()
        array[row] = 9
        changed = next(weight for weight in wrong.graph.initializer if weight.name == table.name)
        changed.CopyFrom(onnx.numpy_helper.from_array(array, table.name))
        assert any(differ((source, wrong), feeds) for feeds in found)


def test_what_no_input_reaches_is_named() -> None:
    g = G()
    never = g.Greater(g.Tanh("x"), 2.0)
    model = g.model({"x": (F, ["N", 2])}, g.Where(never, 1.0, "x"))
    coverage = covered(model).coverage
    assert coverage is not None
    assert {(node.operator, node.missing) for node in coverage.not_reached} == {
        ("Greater", ("below 2", "above 2")),
        ("Where", ("true",)),
    }
    assert "a fault there would not be seen" in str(coverage)
    said = json.loads(json.dumps(covered(model).to_json()))["coverage"]
    assert (said["parts"], said["reached"]) == (coverage.parts, coverage.reached)


def test_what_is_reached_but_hidden_by_what_follows_is_not_covered() -> None:
    g = G()
    bounded = g.Clip(g.Abs("x"), 1.0, 2.5)
    coverage = covered(g.model({"x": (F, ["N", 6])}, bounded)).coverage
    assert coverage is not None
    assert {node.operator: node.missing for node in coverage.nodes} == {"Abs": ("below 0", "above 0"), "Clip": ()}


def test_what_a_softmax_hides_is_not_covered() -> None:
    """A masked score is far below the others: whatever it is, its share is zero."""
    g = G()
    masked = g.Where("keep", "x", np.float32(-1e4))
    model = g.model({"x": (F, ["N", 6]), "keep": (onnx.TensorProto.BOOL, ["N", 6])}, g.Softmax(masked))
    coverage = covered(model).coverage
    assert coverage is not None
    assert {node.operator: node.missing for node in coverage.nodes}["Where"] == ("false",)


def test_what_only_decides_between_equals_is_not_covered() -> None:
    """Of saturated shares the largest are equal to the last place: which of them comes first says nothing."""
    g = G()
    corners = np.arange(10, dtype=np.float32)[None, :, None] * 3
    boxes = np.concatenate([corners, corners, corners + 1, corners + 1], axis=2)
    scores = g.Transpose(g.Softmax("x", axis=-1), perm=[0, 2, 1])
    chosen = g.NonMaxSuppression(boxes, scores, np.array([4]), np.float32([0.4]), np.float32([0.25]))
    coverage = covered(g.model({"x": (F, [1, 10, 3])}, chosen)).coverage
    assert coverage is not None
    assert {node.operator: node.missing for node in coverage.nodes}["Softmax"] == ("above 88",)


def test_what_is_bounded_where_it_matters_is_covered() -> None:
    g = G()
    coverage = covered(g.model({"x": (F, ["N", 6])}, g.Clip(g.Abs("x"), 0.01, 2.5))).coverage
    assert coverage is not None
    assert not coverage.not_reached


def test_counts_of_loops() -> None:
    coverage = covered(trips(rng(trips, 0))[0]).coverage
    assert coverage is not None
    assert [(node.parts, node.reached) for node in coverage.nodes if node.kind == "trips"] == [(3, 3)]


def test_large_products_stay_within_64_bits() -> None:
    plan = planned(narrow_product(rng(narrow_product, 0))[0])
    large = [sample for sample in plan.beyond() if sample.about.startswith("large")]
    assert large
    for feeds in large:
        exact = [int(a) * int(b) for a, b in zip(feeds["a"].ravel(), feeds["b"].ravel(), strict=True)]
        assert (1 << 31) < max(map(abs, exact)) < (1 << 63)


def test_sizes_steps_and_indices_stay_small() -> None:
    g = G()
    made = g.Add(g.Range(np.int64(0), "n", np.int64(1)), g.Gather(np.arange(7), "i"))
    model = g.model({"n": (I64, []), "i": (I64, [1])}, made, I64)
    found = samples(model)
    assert max(int(feeds["n"]) for feeds in found) < 10
    assert all(np.all((feeds["i"] >= 0) & (feeds["i"] < 7)) for feeds in found)


def test_overflow_is_not_an_ordinary_sample() -> None:
    g = G()
    model = g.model({"x": (F, ["N", 4])}, g.Exp(g.Mul("x", "x")))
    plan = planned(model)
    with np.errstate(over="ignore"):
        assert all(np.all(np.isfinite(outputs(model, feeds)[0])) for feeds in plan.beyond())


def test_tested_nan_counts() -> None:
    tested = [feeds for feeds in samples(known_mean(rng(known_mean, 0))[0]) if feeds.tested]
    assert [bool(np.isnan(feeds["x"]).any()) for feeds in tested] == [True]
    assert not [feeds for feeds in samples(peak_rescaled(rng(peak_rescaled, 0))[0]) if feeds.tested]


def test_conversion_takes_one_more_sample_for_what_is_not_reached() -> None:
    source = if_mean(rng(if_mean, 0))[0]
    found = trueport.convert(source, "tensorflow").report.comparison
    assert found is not None
    assert found.coverage is not None
    assert found.samples == 4
    assert [(node.parts, node.reached) for node in found.coverage.nodes if node.kind == "branch"] == [(2, 2)]


def test_solving_for_every_element_by_itself() -> None:
    wanted = np.array([3.0, 8.0, -27.0, 5.0])
    numbers, solved = solve(lambda x: x**3, np.ones(4), wanted, ())
    assert solved.all()
    assert np.allclose(numbers, np.cbrt(wanted), rtol=1e-6)
    numbers, solved = solve(lambda x: 7 * x + 3, np.zeros(2, np.int64), np.array([24, 25]), ())
    assert (numbers[0], solved.tolist()) == (3, [True, False])
    _, solved = solve(np.tanh, np.zeros(1), np.array([2.0]), ())
    assert not solved.any()
