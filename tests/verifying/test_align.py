"""Values of models that another tool made: found without a name in common, in whatever order of axes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import trueport
from bench.faults.kinds import FAULTS, faulty
from bench.faults.zoo import ZOO
from bench.known_faults import KEPT, KNOWN
from trueport.verifying.align.families import family
from trueport.verifying.align.fingerprints import best_order, orders, sketch


def renamed(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same model, every inner value and node under another name."""
    kept = {value.name for value in (*model.graph.input, *model.graph.output)}
    names: dict[str, str] = {}

    def other(name: str) -> str:
        return name if not name or name in kept else names.setdefault(name, f"v{len(names)}")

    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for weight in changed.graph.initializer:
        weight.name = other(weight.name)
    for index, node in enumerate(changed.graph.node):
        node.name = f"n{index}"
        node.input[:] = [other(name) for name in node.input]
        node.output[:] = [other(name) for name in node.output]
    del changed.graph.value_info[:]
    return changed


CASES = {
    ("cnn", "paddings moved"): "pads",
    ("residual", "epsilon"): "epsilon = 0.01",
    ("encoder", "Softmax along another axis"): "axis = 0",
}


@pytest.mark.parametrize(("model", "fault"), CASES)
def test_without_a_name_in_common(model: str, fault: str) -> None:
    source = ZOO[model]()
    kind = next(kind for kind in FAULTS if kind.name == fault)
    changed, made = next(found for index in range(20) if (found := faulty(source, kind, index, 0)) is not None)
    found = trueport.locate(source, renamed(changed), samples=4)
    assert found.culprit is not None, found.why
    assert found.culprit.value in made
    assert any(CASES[model, fault] in cause.what for cause in found.culprit.causes), found.culprit.causes
    counted = found.alignment
    assert counted.by_values + counted.by_structure > 0
    assert counted.total == found.aligned <= found.values


@pytest.mark.parametrize("model", ["cnn", "encoder", "gru"])
def test_what_is_right_under_other_names_is_right(model: str) -> None:
    source = ZOO[model]()
    found = trueport.locate(source, renamed(source), samples=3)
    assert found.culprit is None
    assert found.aligned >= 0.9 * found.values
    assert not any(step.ratio > found.k for step in found.steps)


def model(text: str, **weights: np.ndarray) -> onnx.ModelProto:
    made = onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 21]> ' + text)
    made.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in weights.items())
    return made


def square(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(4, 4)).astype(np.float32)


def test_of_values_with_equal_numbers_each_goes_with_what_uses_it() -> None:
    source = model(
        """a (float[3,4] x) => (float[3,4] y) {
        a = Relu(x) b = Relu(x) c = MatMul(a, v) d = MatMul(b, w) y = Add(c, d) }""",
        v=square(1),
        w=square(2),
    )
    other = model(
        """a (float[3,4] x) => (float[3,4] y) {
        p = Relu(x) q = Relu(x) r = MatMul(p, w2) s = MatMul(q, v2) y = Add(s, r) }""",
        v2=square(1),
        w2=square(2) * np.float32(1.5),
    )
    found = trueport.locate(source, other, everything=True)
    assert {step.value: step.target_value for step in found.steps} == {"a": "q", "b": "p", "c": "s", "d": "r", "y": "y"}
    assert found.culprit is not None
    assert found.culprit.value == "d"
    assert found.culprit.causes[0].what == "weight 'w' differs in 16 of 16 elements"


def test_structure_is_followed_past_what_the_target_does_not_have() -> None:
    """The sum with zero is gone; of two operators of one kind the first is the first."""
    source = model(
        """a (float[3,4] x) => (float[3,4] y) { c = MatMul(x, v) d = Add(c, zero)
        e = LeakyRelu <alpha = 0.2> (d) f = LeakyRelu <alpha = 0.5> (e) g = MatMul(f, w) y = Tanh(g) }""",
        v=square(1),
        w=square(2),
        zero=np.zeros(4, np.float32),
    )
    other = model(
        """a (float[3,4] x) => (float[3,4] y) { p = MatMul(x, v2)
        q = LeakyRelu <alpha = 0.3> (p) r = LeakyRelu <alpha = 0.5> (q) s = MatMul(r, w2) y = Tanh(s) }""",
        v2=square(1),
        w2=square(2),
    )
    found = trueport.locate(source, other, everything=True)
    assert {step.value: step.target_value for step in found.steps} == {
        "c": "p",
        "d": "p",
        "e": "q",
        "f": "r",
        "g": "s",
        "y": "y",
    }
    assert found.culprit is not None
    assert (found.culprit.value, len(found.culprit.within)) == ("e", 0)
    assert "alpha = 0.3" in found.culprit.causes[0].what


def test_channels_that_another_tool_moved() -> None:
    known = next(known for known in KNOWN if known.name == "cubic_coefficient")
    found = trueport.locate(known.make(), known.target(KEPT), samples=2)
    assert [step.op for step in found.steps][:2] == ["Conv", "Relu"]
    assert all(step.ratio <= found.k for step in found.steps[:2])
    assert found.culprit is not None
    assert found.culprit.target_node


def test_the_order_of_axes_is_found_by_numbers() -> None:
    x = np.random.default_rng(0).normal(size=(2, 4, 4, 4)).astype(np.float32)
    for perm in ((0, 2, 3, 1), (0, 3, 1, 2), (0, 1, 2, 3), (0, 3, 2, 1)):
        found = best_order(x, x.transpose(perm) * np.float32(1 + 1e-6))
        assert found is not None
        assert found[0] == perm


def test_a_sketch_does_not_depend_on_the_order_of_axes() -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 5)).astype(np.float32)
    one, turned, other = sketch(x), sketch(x.transpose(2, 0, 1)), sketch(x + 1)
    assert one is not None
    assert turned is not None
    assert other is not None
    assert one.near(turned)
    assert not one.near(other)
    assert sketch(np.zeros(4)) is None


def test_orders_fit_shapes() -> None:
    assert list(orders((1, 3, 4, 4), (1, 4, 4, 3))) == [(0, 2, 3, 1), (0, 3, 2, 1)]
    assert not list(orders((1, 3), (3, 2)))


def test_families_cross_frameworks() -> None:
    assert family("Conv") == family("Conv2D") == family("CONV_2D")
    assert family("AddV2") == family("BiasAdd") == family("Add")
    assert family("Relu") != family("Tanh")
