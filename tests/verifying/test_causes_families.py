"""Families of causes: recurrent nodes, operators that are applied once more, constants under other names, sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import trueport
from tests.verifying.test_causes_language import FLOAT, first, model
from trueport.reference.walk import NodeCase
from trueport.verifying.causes.approximations import other_casts
from trueport.verifying.causes.documented import choices
from trueport.verifying.causes.operands import other_operands
from trueport.verifying.causes.search import fits

RNG = np.random.default_rng(8)
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
HIDDEN = 3


def in_tensorflow(source: onnx.ModelProto) -> Any:
    return trueport.convert(source, to="tensorflow", verify=False).built.run()


def recurrent(op: str, attributes: str = "", order: tuple[int, ...] | None = None, names: str = "wrb") -> Any:
    rng = np.random.default_rng(1)
    rows = GATES[op] * HIDDEN
    arrays = [rng.normal(size=(1, n)).astype(np.float32) for n in (rows * 4, rows * HIDDEN, 2 * rows)]
    w, r, b = arrays[0].reshape(1, rows, 4), arrays[1].reshape(1, rows, HIDDEN), arrays[2]
    if order:
        parts = [np.split(array, array.shape[1] // HIDDEN, axis=1) for array in (w, r, b)]
        w, r = (np.concatenate([listed[n] for n in order], 1) for listed in parts[:2])
        b = np.concatenate([parts[2][half + n] for half in (0, len(order)) for n in order], 1)
    head = "a (float[5,2,4] x) => (float[5,1,2,3] y)"
    text = f"{head} {{ y = {op} <hidden_size = {HIDDEN}{attributes}> (x, {', '.join(names)}) }}"
    return model(text, **dict(zip(names, (w, r, b), strict=True)))


SEQUENCE = {"x": RNG.normal(size=(5, 2, 4)).astype(np.float32)}


@pytest.mark.parametrize("form", ["onnx", "tensorflow"])
@pytest.mark.parametrize(
    ("op", "changed", "said"),
    [
        ("LSTM", ', direction = "reverse"', "direction = reverse"),
        ("GRU", ', direction = "reverse"', "direction = reverse"),
        ("RNN", ", clip = 0.5", "clip = 0.5"),
        ("GRU", ", linear_before_reset = 1", "linear_before_reset = 1"),
        ("LSTM", ", input_forget = 1", "input_forget = 1"),
    ],
)
def test_a_recurrent_node_with_another_attribute(op: str, changed: str, said: str, form: str) -> None:
    target = recurrent(op, changed)
    cause = first(recurrent(op), in_tensorflow(target) if form == "tensorflow" else target, SEQUENCE)
    assert said in cause.what


@pytest.mark.parametrize(("op", "order"), [("LSTM", (3, 1, 2, 0)), ("GRU", (1, 0, 2)), ("LSTM", (0, 2, 1, 3))])
def test_gates_in_another_order_in_all_weights(op: str, order: tuple[int, ...]) -> None:
    target = in_tensorflow(recurrent(op, order=order, names="stu"))
    assert (
        first(recurrent(op), target, SEQUENCE).what == f"the gates of its weights W, R, B are in the order {[*order]}"
    )


def test_choices_that_are_listed_without_quotes() -> None:
    for op in GATES:
        assert {"forward", "reverse", "bidirectional"} <= set(choices(op, "", "direction"))
        assert "RNN" not in choices(op, "", "direction")


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("y = Sinh(x)", "s = Sinh(x) y = Tanh(s)", "Tanh is appended"),
        ("y = Softmax(x)", "s = Softmax(x) y = Sqrt(s)", "Sqrt is appended"),
        ("y = Softmax(x)", "s = Softmax(x) y = Softmax(s)", "Softmax is applied twice"),
        ("y = CumSum(x, one)", "s = CumSum(x, one) y = CumSum(s, one)", "CumSum is applied twice"),
    ],
)
def test_an_operator_that_is_applied_once_more(source: str, target: str, said: str) -> None:
    one = np.asarray(1, np.int64)
    models = [model(f"a (float[4,6] x) => (float[4,6] y) {{ {body} }}", one=one) for body in (source, target)]
    assert first(models[0], in_tensorflow(models[1]), {"x": FLOAT}).what.startswith(said)


def test_a_constant_that_only_a_tensorflow_target_has_a_name_for() -> None:
    weight = RNG.normal(size=(4, 3, 3, 3)).astype(np.float32)
    other = weight.swapaxes(1, 2).copy()
    text = "a (float[1,3,7,7] x) => (float[1,4,5,5] y) {{ y = Conv(x, {0}) }}"
    source, target = model(text.format("w"), w=weight), model(text.format("c"), c=other)
    cause = first(source, in_tensorflow(target), {"x": RNG.normal(size=(1, 3, 7, 7)).astype(np.float32)})
    assert cause.kind == "weight"
    assert "transposed by [0, 2, 1, 3]" in cause.what


def test_another_node_is_judged_by_its_own_rounding() -> None:
    """The target's sums cancel, the source's do not: its own noise is far too small for the target's."""
    text = "a (float[4,6] x) => (float[4,1] y) {{ d = ReduceSum{1}(x, axes) y = {0}(d) }}"
    axes = np.asarray([1], np.int64)
    source, target = (model(text.format("Identity", form), axes=axes) for form in ("Square", ""))
    data = {"x": (FLOAT * 1000).astype(np.float32)}
    assert "ReduceSum" in str(first(source, in_tensorflow(target), data))


def test_members_of_a_sequence_are_compared_one_by_one() -> None:
    node = ir.node("SequenceConstruct", [ir.Value(name="a"), ir.Value(name="b")], outputs=[ir.Value(name="s")])
    parts = [FLOAT, FLOAT[:2, :3]]
    case = NodeCase(node, tuple(parts), parts, parts[::-1], parts, (), "s", lambda _, inputs: [list(inputs)])
    found = [one for one in other_operands(case) if fits(one, case, 8.0)]
    assert [one.what for one in found] == ["inputs inputs[0] and inputs[1] are swapped"]


@pytest.mark.parametrize(
    ("way", "said"),
    [
        (np.clip(np.trunc(FLOAT * 300), 0, 255).astype(np.uint8), "saturated to uint8"),
        (np.trunc(FLOAT * 300).astype(np.int64).astype(np.uint8), "wraps around as uint8"),
    ],
)
def test_casts_of_numbers_that_the_type_does_not_hold(way: np.ndarray, said: str) -> None:
    node = ir.node(
        "Cast", [ir.Value(name="a")], {"to": 2}, outputs=[ir.Value(name="y", type=ir.TensorType(ir.DataType.UINT8))]
    )
    held = (FLOAT * 300).astype(np.float64)
    case = NodeCase(node, (held,), way, way, way, (), "y", lambda _, inputs: list(inputs))
    found = [one for one in other_casts(case) if fits(one, case, 8.0)]
    assert said in min(found, key=lambda one: one.bits).what


def test_a_difference_that_cannot_be_evaluated_is_said_as_read() -> None:
    """A tree that leads into its own leaves: the runtime evaluates it, the reference does not."""
    modes = ["BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"]
    text = (
        '<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]> a (float[4,6] x) => (float[4,1] y) '
        "{{ y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 1, nodes_modes = [{0}], "
        "nodes_treeids = [0, 0, 0, 1, 1, 1], nodes_nodeids = [0, 1, 2, 0, 1, 2], "
        "nodes_featureids = [0, 0, 0, 1, 1, 1], "
        "nodes_values = [0.1, 0.0, 0.0, 0.2, 0.0, 0.0], nodes_truenodeids = [1, 0, 0, 1, 0, 0], "
        "nodes_falsenodeids = [2, 0, 0, 2, 0, 0], target_treeids = [0, 0, 1, 1], target_nodeids = [1, 2, 1, 2], "
        "target_ids = [0, 0, 0, 0], target_weights = [0.5, -0.7, 0.9, 0.25]> (x) }}"
    )
    orders = (modes, [modes[1], modes[0], *modes[2:]])
    source, target = (onnx.parser.parse_model(text.format(", ".join(f'"{m}"' for m in order))) for order in orders)
    assert "nodes_modes" in first(source, target, {"x": FLOAT}).what


def test_numbers_that_give_nan_are_no_solution() -> None:
    """With an epsilon of -1, one of the starts, the root is of a negative number."""
    text = "a (float[4,6] x) => (float[4,6] y) {{ y = LayerNormalization <epsilon = {0}> (x, s) }}"
    source, target = (model(text.format(e), s=np.ones(6, np.float32)) for e in (1e-4, 0.013))
    cause = first(source, in_tensorflow(target), {"x": FLOAT * np.float32(0.1)})
    assert cause.what == "it behaves as with epsilon = 0.013, the source has 0.0001"
