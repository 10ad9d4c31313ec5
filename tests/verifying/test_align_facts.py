"""Names that mislead, weights under other names, targets that fail, and that verify and locate say the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import trueport
from trueport.fidelity import Verdict
from trueport.verifying.locate.result import Located


def model(text: str, **weights: np.ndarray) -> onnx.ModelProto:
    made = onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 21]> ' + text)
    made.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in weights.items())
    return made


def square(seed: int, size: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(size, size)).astype(np.float32)


def shifted(made: onnx.ModelProto) -> onnx.ModelProto:
    """The same model, each inner value under the name of the one before: as numbered names are after one more node."""
    kept = {value.name for value in made.graph.output}
    names = [name for node in made.graph.node for name in node.output if name not in kept]
    other = dict(zip(names, [names[-1], *names[:-1]], strict=True))
    changed = onnx.ModelProto()
    changed.CopyFrom(made)
    for node in changed.graph.node:
        node.input[:] = [other.get(name, name) for name in node.input]
        node.output[:] = [other.get(name, name) for name in node.output]
    return changed


def located(source: Any, target: Any, **options: Any) -> Located:
    """What locate finds, if verify says the same."""
    found = trueport.locate(source, target, **options)
    says = trueport.verify(source, target, **{n: v for n, v in options.items() if n != "everything"}).verdict
    assert (says == Verdict.DEPARTS) == found.departs == (found.culprit is not None)
    return found


LAYERS = """a (float[N,4] x) => (float[N,4] y) {
    t1 = MatMul(x, v) t2 = %s(t1) t3 = MatMul(t2, w) t4 = Tanh(t3) t5 = Add(t4, t2) y = MatMul(t5, u) }"""
WEIGHTS = {"v": square(1), "w": square(2), "u": square(3)}


@pytest.mark.parametrize("faulty", ["v", "w", "u"])
def test_names_that_are_shifted_by_one_do_not_mislead(faulty: str) -> None:
    changed = {**WEIGHTS, faulty: WEIGHTS[faulty] * np.float32(1.05)}
    source, other = model(LAYERS % "Relu", **WEIGHTS), shifted(model(LAYERS % "Relu", **changed))
    found = located(source, other, samples=2)
    assert found.culprit is not None
    assert found.culprit.value == {"v": "t1", "w": "t3", "u": "y"}[faulty]
    assert f"weight {faulty!r}" in found.culprit.causes[0].what
    assert found.aligned == found.values


def test_a_replaced_operator_under_shifted_names() -> None:
    found = located(model(LAYERS % "Relu", **WEIGHTS), shifted(model(LAYERS % "Elu", **WEIGHTS)), samples=2)
    assert found.culprit is not None
    assert found.culprit.value == "t2"


def test_shifted_names_alone_are_no_difference() -> None:
    source = model(LAYERS % "Relu", **WEIGHTS)
    found = located(source, shifted(source), samples=2)
    assert found.aligned == found.values
    assert not any(step.ratio > found.k for step in found.steps)


def test_weights_are_compared_as_operands_and_not_by_their_names() -> None:
    """The target calls the second weight as the source calls the first."""
    source = model("a (float[N,4] x) => (float[N,4] y) { t = MatMul(x, v) y = MatMul(t, w) }", v=square(1), w=square(2))
    changed = square(2)
    changed[1, 2] *= 1.5
    other = model("a (float[N,4] x) => (float[N,4] y) { t = MatMul(x, p) y = MatMul(t, v) }", p=square(1), v=changed)
    found = located(source, other, samples=2)
    assert found.culprit is not None
    assert found.culprit.value == "y"
    assert found.culprit.causes[0].what == "weight 'w' differs in 1 of 16 elements"


def test_an_operator_that_is_put_behind_a_value() -> None:
    weights = {name: WEIGHTS[name] for name in "vw"}
    source = model("a (float[N,4] x) => (float[N,4] y) { s = MatMul(x, v) y = MatMul(s, w) }", **weights)
    text = "a (float[N,4] x) => (float[N,4] y) { %s = MatMul(x, v) %s = Sigmoid(%s) y = MatMul(%s, w) }"
    for before, after in (("t", "s"), ("t", "r")):
        found = located(source, model(text % (before, after, before, after), **weights), samples=2)
        assert found.culprit is not None
        assert found.culprit.value == "s"


def test_an_operator_that_is_left_out() -> None:
    text = "a (float[N,4] x) => (float[N,4] y) { s = MatMul(x, v) %s y = MatMul(%s, w) }"
    weights = {name: WEIGHTS[name] for name in "vw"}
    found = located(model(text % ("r = Relu(s)", "r"), **weights), model(text % ("", "s"), **weights), samples=2)
    assert found.culprit is not None
    assert found.culprit.value == "r"


def test_one_of_several_results_of_a_node() -> None:
    text = """a (float[N,8] x) => (float[N,4] y) {
        %s = Split<axis=1, num_outputs=2>(x) c = Exp(p) d = Tanh(q) y = Add(c, d) }"""
    found = located(model(text % "p, q"), model(text % "q, p"), samples=2)
    assert found.culprit is not None
    assert found.culprit.op == "Split"


def test_every_one_of_several_faults_is_a_step_of_its_own() -> None:
    changed = {"v": WEIGHTS["v"] * np.float32(1.1), "w": WEIGHTS["w"], "u": WEIGHTS["u"] * np.float32(0.9)}
    source, other = model(LAYERS % "Relu", **WEIGHTS), shifted(model(LAYERS % "Relu", **changed))
    found = located(source, other, everything=True)
    assert found.culprit is not None
    assert found.culprit.value == "t1"
    own = [step.value for step in found.steps if (step.own_ratio or 0) > found.k]
    assert own == ["t1", "y"]


def test_a_fault_in_what_does_not_depend_on_the_inputs() -> None:
    text = (
        "a (float[N,4] x) => (float[N,4] y) { s = Transpose<perm = [1, 0]>(v) r = %s(s) t = Relu(x) y = MatMul(t, r) }"
    )
    found = located(model(text % "Exp", v=square(1)), shifted(model(text % "Tanh", v=square(1))), samples=2)
    assert found.culprit is not None
    assert found.culprit.value == "r"


def test_a_target_that_does_not_run() -> None:
    """The node before the one that fails is at fault, and it runs."""
    text = """a (float[A,B,C] x) => (float[D,E,F] y) { r = Relu(x) t = Transpose<perm = %s>(r) y = MatMul(r, t) }"""
    source, other = model(text % [0, 2, 1]), model(text % [2, 0, 1])
    found = located(source, other, samples=2, dims={"A": [2], "B": [3], "C": [4]})
    assert found.culprit is not None
    assert found.culprit.value == "t"


def test_a_node_that_fails_is_named_with_what_the_runtime_says() -> None:
    text = "a (float[6] x) => (float[K] y) { s = Exp(x) i = Constant<value_ints = %s>() r = Gather(s, i) y = Tanh(r) }"
    found = located(model(text % [0, 5]), model(text % [0, 6]), samples=2)
    assert found.culprit is not None
    assert found.culprit.value == "r"
    assert found.culprit.causes[0].kind == "fails"


def test_what_no_output_shows_is_no_fault() -> None:
    """verify compares outputs: locate names nobody where they agree, and says what differs inside."""
    text = "a (float[N,4] x) => (float[N,4] y) { s = %s(x) t = Max(s, big) y = Min(t, big) }"
    big = np.full(4, 1e3, np.float32)
    found = located(model(text % "Sin", big=big), model(text % "Cos", big=big), samples=2)
    assert "differs inside" in found.why


def test_printing_what_was_found_prints_no_arrays() -> None:
    source, other = model(LAYERS % "Relu", **WEIGHTS), model(LAYERS % "Elu", **WEIGHTS)
    found = trueport.locate(source, other, samples=2)
    for words in (str(found), repr(found), repr(found.culprit)):
        assert "array" not in words
        assert len(words) < 400
    assert "'t2'" in str(found)


def test_a_converted_model_in_memory() -> None:
    source = model(LAYERS % "Relu", **WEIGHTS)
    changed = {**WEIGHTS, "w": WEIGHTS["w"] * np.float32(1.05)}
    for weights, value in ((WEIGHTS, None), (changed, "t3")):
        made = trueport.convert(model(LAYERS % "Relu", **weights), to="tensorflow", verify=False).model
        found = located(source, made, samples=2)
        assert (found.culprit.value if found.culprit else None) == value


@pytest.mark.parametrize(
    ("inserted", "reads", "blamed"),
    [
        ("t = Transpose <perm = [0, 2, 1]> (r) u = Reshape(t, six) y = Reshape(u, flat)", "Reshape(r, flat)", "y"),
        ("t = Clip(r, low, high) y = Abs(t)", "Abs(r)", "r"),
        ("t = Abs(r) y = Exp(t)", "Exp(r)", "r"),
    ],
)
def test_a_node_put_between_two_is_of_the_one_or_the_other_whatever_names_say(
    inserted: str, reads: str, blamed: str
) -> None:
    """Values of the target have each other's names: a name that comes to the inserted value by chance tells nothing."""
    head = '<ir_version: 10, opset_import: ["" : 21]> a (float[2,3,3] x) => (float[?,?] z, float[?,?] w) '
    tail = "z = ReduceSum <keepdims = 0> (y, axes) w = Identity(z)"
    arrays = {
        "six": np.asarray([2, 3, 3]), "flat": np.asarray([2, 9]), "axes": np.asarray([0]),
        "low": np.asarray(-0.2, np.float32), "high": np.asarray(0.3, np.float32),
    }  # fmt: skip
    source, target = (
        onnx.parser.parse_model(f"{head} {{ s = Sin(x) r = Sinh(s) {body} {tail} }}")
        for body in (f"y = {reads}", inserted)
    )
    for one in (source, target):
        one.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in arrays.items())
    moved = {"s": "t", "r": "s", "t": "y", "y": "u", "u": "r"}
    for node in target.graph.node:
        for side in (node.input, node.output):
            side[:] = [moved.get(name, name) for name in side]
    x = np.random.default_rng(0).normal(size=(2, 3, 3)).astype(np.float32)
    found = trueport.locate(source, target, data=[{"x": x}])
    assert found.culprit is not None
    assert found.culprit.value == blamed
