"""The language of causes: what no list names is found from schemas, the target's own nodes and the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import trueport
from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.causes.attributes import other_attributes
from trueport.verifying.causes.documented import choices, is_flag
from trueport.verifying.causes.endless import has_endless_tree, with_an_end
from trueport.verifying.causes.hypothesis import hypothesis, is_data
from trueport.verifying.causes.relation import relation
from trueport.verifying.causes.search import MOST, search
from trueport.verifying.causes.shapes_of_error import error_patterns
from trueport.verifying.causes.solving import solve
from trueport.verifying.locate.result import Cause

RNG = np.random.default_rng(3)
HEAD = '<ir_version: 10, opset_import: ["" : 21]> '
FLOAT = RNG.normal(size=(4, 6)).astype(np.float32)
IMAGES = RNG.normal(size=(2, 3, 7, 5)).astype(np.float32)


def model(text: str, **weights: Any) -> onnx.ModelProto:
    made = onnx.parser.parse_model(HEAD + text)
    made.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(w), name) for name, w in weights.items())
    return made


def first(source: onnx.ModelProto, target: Any, feeds: Mapping[str, Any]) -> Cause:
    found = trueport.locate(source, target, data=[feeds])
    assert found.culprit is not None, found.why
    return found.culprit.causes[0]


def unary(body: str) -> onnx.ModelProto:
    return model(f"a (float[4,6] x) => (float[4,6] y) {{ y = {body} }}")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("LeakyRelu <alpha = 0.02> (x)", "the target has LeakyRelu with alpha = 0.02, the source has Relu"),
        ("ThresholdedRelu <alpha = 0.3> (x)", "the target has ThresholdedRelu with alpha = 0.3, the source has Relu"),
    ],
)
def test_the_operator_of_an_onnx_target_is_named(target: str, said: str) -> None:
    assert first(unary("Relu(x)"), unary(target), {"x": FLOAT}).what == said


def test_the_operator_of_another_target_is_found_with_its_number() -> None:
    target = trueport.convert(unary("LeakyRelu <alpha = 0.02> (x)"), verify=False).built.run()
    cause = first(unary("Relu(x)"), target, {"x": FLOAT})
    assert cause.what == "it behaves as LeakyRelu with alpha = 0.02, the source has Relu"


def test_a_renamed_weight_with_how_it_differs() -> None:
    weight = RNG.normal(size=(6, 5)).astype(np.float32)
    text = "a (float[4,6] x) => (float[4,5] y) {{ y = MatMul(x, {0}) }}"
    source, target = model(text.format("w"), w=weight), model(text.format("c"), c=weight * np.float32(1.001))
    cause = first(source, target, {"x": FLOAT})
    assert cause.kind == "weight"
    assert "all are 1.001 times the source's" in str(cause)


def test_an_operand_that_is_another_value() -> None:
    text = "a (float[4,6] x) => (float[4,6] y) {{ t = Tanh(x) s = Sin(t) y = Mul(s, {0}) }}"
    cause = first(model(text.format("t")), model(text.format("x")), {"x": FLOAT})
    assert cause.what == "operand 'B' reads 'x', in the source 't'"


def test_a_result_of_another_shape_is_explained_by_its_attribute() -> None:
    text = "a (float[2,3,7,5] x) => (float[2,4,N,M] y) {{ y = Conv <auto_pad = {0}> (x, w) }}"
    weight = RNG.normal(size=(4, 3, 3, 3)).astype(np.float32)
    source, target = (model(text.format(pad), w=weight) for pad in ('"SAME_UPPER"', '"VALID"'))
    cause = first(source, target, {"x": IMAGES})
    assert cause.what == "it behaves as with auto_pad = VALID, the source has SAME_UPPER"


def test_an_attribute_inside_a_branch() -> None:
    text = """a (float[4,6] x) => (float[4,6] y) {{
        s = ReduceSum <keepdims = 0> (x) b = Greater(s, zero)
        y = If (b) <then_branch = t () => (float[4,6] p) {{ p = Celu <alpha = {0}> (x) }},
                    else_branch = e () => (float[4,6] q) {{ q = Neg(x) }}> }}"""
    source, target = (model(text.format(alpha), zero=np.float32(-1e9)) for alpha in ("1.0", "1.01"))
    for other in (target, trueport.convert(target, verify=False).built.run()):
        cause = first(source, other, {"x": FLOAT})
        assert "in its then_branch, Celu 'p'" in cause.what
        assert "alpha = 1.01, the source has 1" in cause.what


def test_computed_in_a_narrower_type() -> None:
    text = "a (double[4,96] x) => (double[4,64] y) {{ {0} }}"
    weight = RNG.normal(size=(96, 64))
    narrow = "n = Cast <to = 1> (x) v = Cast <to = 1> (w) m = MatMul(n, v) y = Cast <to = 11> (m)"
    cause = first(
        model(text.format("y = MatMul(x, w)"), w=weight),
        model(text.format(narrow), w=weight),
        {"x": RNG.normal(size=(4, 96))},
    )
    assert cause.kind == "dtype"
    assert "float32" in cause.what


def case_of(truth: np.ndarray, target: np.ndarray) -> NodeCase:
    node = ir.node("Identity", [ir.Value(name="x")], outputs=[ir.Value(name="y")])

    def again(changed: ir.Node, given: Sequence[Any]) -> Sequence[Any]:
        return [given[0]]

    return NodeCase(node, (truth,), truth, target, truth, (), "y", again)


def test_what_fits_only_where_it_was_fitted_is_no_cause() -> None:
    here = case_of(np.arange(6.0), np.arange(6.0) * 2)
    there = replace(here, inputs=(np.ones(6),), truth=np.ones(6), target=np.ones(6) * 5)
    twice = hypothesis(here, "scale", "doubled", lambda case: np.asarray(case.truth) * 2, 4.0)
    assert [one.what for one in search(here, [iter([twice])], 8, tuple).hypotheses] == ["doubled"]
    assert search(here, [iter([twice])], 8, lambda: [there]).hypotheses == ()


def test_the_shortest_description_comes_first_and_the_rest_within_a_budget() -> None:
    case, tried = case_of(np.arange(6.0), np.arange(6.0) * 2), []

    def wrong(number: int) -> Hypothesis:
        return Hypothesis("scale", f"{number}", lambda: tried.append(number), bits=float(number))

    found = search(case, [(wrong(n) for n in range(2 * MOST))], 8, tuple)
    assert (found.tried, len(tried), found.hypotheses) == (MOST, MOST, ())


def test_a_pattern_needs_more_elements_than_numbers() -> None:
    few, many = (case_of(np.arange(n) + 1.0, 3 * (np.arange(n) + 1.0)) for n in (2, 9))
    for case, kinds in ((few, set()), (many, {"scale"})):
        assert {one.kind for one in error_patterns(case)} & {"scale", "offset"} >= kinds
        assert bool(kinds) == any(one.kind == "scale" for one in error_patterns(case))


def test_numbers_are_solved_for_from_any_start() -> None:
    x = np.linspace(-4, 4, 50)
    case = case_of(x, np.clip(x, -1.375, 1.375))
    found = solve(case, lambda v: np.clip(x, -abs(v[0]), abs(v[0])), [[n] for n in (0.1, 1.0, 100.0)])
    assert found is not None
    assert found[0] == pytest.approx(1.375)


def test_schemas_say_what_an_attribute_may_be() -> None:
    assert {"nearest", "linear", "cubic"} <= set(choices("Resize", "", "mode"))
    assert {"zeros", "border", "reflection"} <= set(choices("GridSample", "", "padding_mode"))
    assert {"NONE", "SOFTMAX", "LOGISTIC"} <= set(choices("TreeEnsembleClassifier", "ai.onnx.ml", "post_transform"))
    assert is_flag("AveragePool", "", "count_include_pad")
    assert not is_flag("Softmax", "", "axis")


def test_every_attribute_of_a_schema_has_alternatives() -> None:
    node = ir.node("TopK", [ir.Value(name="x"), ir.Value(name="k")], outputs=[ir.Value(name="y"), ir.Value(name="i")])
    case = replace(case_of(FLOAT, FLOAT), node=node, inputs=(FLOAT, np.array([3])))
    said = {one.what.split(",")[0] for one in other_attributes(case)}
    assert {"it behaves as with axis = 0", "it behaves as with largest = 0", "it behaves as with sorted = 0"} <= said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda w: w[:, [1, 0, 2]], "the source's are in the order [1, 0, 2] along axis 1"),
        (lambda w: w * 1.25, "all are 1.25 times the source's"),
        (lambda w: w.astype(np.float16), "the source's are rounded to float16"),
        (lambda w: w + RNG.normal(size=w.shape), ""),
    ],
)
def test_how_a_constant_comes_from_another(change: Any, said: str) -> None:
    weight = RNG.normal(size=(4, 3)).astype(np.float32)
    assert relation(weight, np.asarray(change(weight), np.float32)) == said


TREE: dict[str, Any] = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
}


@pytest.mark.parametrize(
    ("changed", "endless"),
    [
        ({}, False),
        ({"nodes_truenodeids": [2, 0, 0], "nodes_falsenodeids": [1, 0, 0]}, False),
        ({"nodes_modes": ["LEAF", "BRANCH_LEQ", "LEAF"]}, False),
        ({"nodes_modes": ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF"]}, True),
        ({"nodes_truenodeids": [0, 0, 0]}, True),
        ({"nodes_falsenodeids": [7, 0, 0]}, True),
    ],
)
def test_trees_that_lead_back_are_not_evaluated(changed: dict[str, Any], endless: bool) -> None:
    node = ir.node("TreeEnsembleRegressor", [ir.Value(name="x")], {**TREE, **changed}, domain="ai.onnx.ml")
    assert has_endless_tree(node) == endless


def test_a_loop_without_a_trip_count_gets_one() -> None:
    node = ir.node("Loop", [None, ir.Value(name="c")], {})
    assert with_an_end(node, [None, np.asarray(True)])[0] == 1000


def test_sizes_are_no_data() -> None:
    inputs = [ir.Value(name="x"), None, ir.Value(name="s")]
    case = replace(case_of(FLOAT, FLOAT), node=ir.node("Resize", inputs), inputs=(FLOAT, None, np.ones(2)))
    assert [is_data(case, index) for index in (0, 2)] == [True, False]
