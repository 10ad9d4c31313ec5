"""Inputs: the same bytes for the same seed, inside tables, at ties and bounds, at several sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import onnx.parser
import onnxruntime as ort
import pytest
from onnx import TensorProto

import trueport
from bench.faults.zoo import ZOO
from tests.models import model_of
from trueport.errors import UsageError
from trueport.fidelity import Verdict
from trueport.frontends.onnx.load import load_onnx
from trueport.ir.ports import Port
from trueport.verifying.inputs.hints import hints_of
from trueport.verifying.inputs.plan import PLAN, Sample, graph_ports, make_inputs, plan_inputs


def inputs_of(model: onnx.ModelProto, **options: Any) -> list[Sample]:
    graph = load_onnx(model).graph
    return make_inputs(graph_ports(graph), graph, **options)


def runner(model: onnx.ModelProto) -> Any:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

    def accepts(feeds: Mapping[str, Any]) -> bool:
        try:
            session.run(None, dict(feeds))
        except Exception:  # ONNX Runtime's own types
            return False
        return True

    return accepts


def test_the_same_seed_gives_the_same_bytes() -> None:
    once, again, other = (inputs_of(ZOO["masked_attention"](), seed=seed) for seed in (4, 4, 5))
    assert all(np.array_equal(a[name], b[name]) for a, b in zip(once, again, strict=True) for name in a)
    assert not all(np.array_equal(a["x"], b["x"]) for a, b in zip(once, other, strict=True))
    few = inputs_of(ZOO["masked_attention"](), seed=4, samples=3)
    assert all(np.array_equal(a["x"], b["x"]) for a, b in zip(few[:1], once[:1], strict=True))


@pytest.mark.parametrize(
    ("dims", "sizes"),
    [
        (None, {1, 3, 7, 2, 8}),
        ({"N": [2, 4]}, {2, 4}),
        ({"N": range(1, 11)}, {1, 5, 10}),
        ({"x:0": [6]}, {6}),
        ({"batch": [4]}, {4}),
    ],
    ids=["by default", "listed", "bounds", "by place", "the first"],
)
def test_open_dims_take_several_sizes(dims: Any, sizes: set[int]) -> None:
    assert {feeds["x"].shape[0] for feeds in inputs_of(ZOO["cnn"](), dims=dims)} == sizes


def test_dims_without_a_name_are_a_batch_or_named_by_place() -> None:
    ports = [Port("x", "tensor", "FLOAT", (None, None, 3), ("x",))]
    made = make_inputs(ports, dims={"batch": [4], "x:1": [2, 9]}, samples=2)
    assert [feeds["x"].shape for feeds in made] == [(4, 2, 3), (4, 9, 3)]


@pytest.mark.parametrize("dims", [{"M": [1]}, {"N": []}, {"N": [-1]}])
def test_dims_that_do_not_exist_or_make_no_sense_are_refused(dims: Any) -> None:
    with pytest.raises(UsageError, match="dims: "):
        inputs_of(ZOO["cnn"](), dims=dims)


def two_dims(kernel: int) -> onnx.ModelProto:
    weight = oh.make_tensor("w", TensorProto.FLOAT, [1, 1, kernel, kernel], [1.0] * kernel**2)
    return model_of(
        [oh.make_node("Conv", ["x", "w"], ["y"])],
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1, "h", "w_"])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        initializers=[weight],
    )


@pytest.mark.parametrize("kernel", [1, 7, 20])
def test_sizes_are_found_that_the_source_takes(kernel: int) -> None:
    model = two_dims(kernel)
    taken = runner(model)
    made = inputs_of(model, accepts=taken)
    assert all(taken(feeds) for feeds in made)
    assert any(feeds["x"].shape[2] != feeds["x"].shape[3] for feeds in made), "an axis taken for another would not show"


def test_dims_that_must_agree_do() -> None:
    model = model_of(
        [oh.make_node("MatMul", ["a", "b"], ["y"])],
        [
            oh.make_tensor_value_info("a", TensorProto.FLOAT, [2, "k"]),
            oh.make_tensor_value_info("b", TensorProto.FLOAT, ["m", 4]),
        ],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    taken = runner(model)
    made = inputs_of(model, accepts=taken)
    assert all(taken(feeds) for feeds in made)
    assert len({feeds["a"].shape for feeds in made}) >= 3


def test_indices_stay_inside_their_table_and_reach_its_ends() -> None:
    made = inputs_of(ZOO["text"]())
    tokens = np.concatenate([feeds["tokens"].ravel() for feeds in made])
    assert tokens.min() == 0
    assert tokens.max() == 9
    assert set(made[PLAN.index("boundaries")]["tokens"].ravel()) <= {0, 9}


def test_an_index_into_an_open_dim_is_bound_to_its_size() -> None:
    model = model_of(
        [oh.make_node("Gather", ["x", "i"], ["y"])],
        [
            oh.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 2]),
            oh.make_tensor_value_info("i", TensorProto.INT64, [40]),
        ],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    for feeds in inputs_of(model):
        assert feeds["i"].max() < feeds["x"].shape[0]
    assert max(feeds["i"].max() for feeds in inputs_of(model)) == 7


def test_a_quantized_input_comes_at_its_ties() -> None:
    model = ZOO["quantized_cnn"]()
    hints = hints_of(load_onnx(model).graph.inputs[0])
    assert np.allclose(np.array(hints.boundaries) / 0.03 % 1, 0.5)
    values = np.concatenate([feeds["x"].ravel() for feeds in inputs_of(model)])
    assert np.isin(np.float32(hints.boundaries[0]), values)


PARAMETERS = {
    "Reshape": (["x", "p"], [2]),
    "Expand": (["x", "p"], [2]),
    "Tile": (["x", "p"], [2]),
    "Slice": (["x", "p", "e"], [1]),
    "TopK": (["x", "p"], [1]),
    "Pad": (["x", "p"], [4]),
}


@pytest.mark.parametrize("op", PARAMETERS)
def test_parameters_that_are_inputs_are_such_that_the_source_takes_them(op: str) -> None:
    names, shape = PARAMETERS[op]
    kinds = [oh.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4])]
    kinds += [oh.make_tensor_value_info(name, TensorProto.INT64, shape) for name in names[1:]]
    outputs = ["y", "i"] if op == "TopK" else ["y"]
    model = model_of(
        [oh.make_node(op, names, outputs)], kinds, [oh.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    )
    taken = runner(model)
    assert all(taken(feeds) for feeds in inputs_of(model))


def test_both_branches_are_taken() -> None:
    ports = [Port("c", "tensor", "BOOL", (), ("c",)), Port("x", "tensor", "FLOAT", (3,), ("x",))]
    made = make_inputs(ports)
    assert {bool(feeds["c"]) for feeds in made} == {True, False}
    assert {np.sign(feeds["x"].sum()) for feeds in made} == {-1.0, 0.0, 1.0}


def test_special_numbers_come_apart() -> None:
    plan = plan_inputs([Port("x", "tensor", "FLOAT", (40, 5), ("x",)), Port("i", "tensor", "INT64", (3,), ("i",))])
    assert all(np.all(np.isfinite(feeds["x"])) and not feeds.special for feeds in plan.samples())
    nan, infinite, denormal = plan.specials()
    assert np.isnan(nan["x"]).any() and np.isinf(infinite["x"]).any()
    tiny = np.abs(denormal["x"][denormal["x"] != 0])
    assert 0 < tiny.min() < np.finfo(np.float32).tiny
    assert nan.special and infinite.special and denormal.special
    assert not list(plan_inputs([Port("i", "tensor", "INT64", (3,), ("i",))]).specials())


@pytest.mark.parametrize(
    "dtype", ["FLOAT16", "BFLOAT16", "DOUBLE", "FLOAT8E4M3FN", "INT4", "UINT8", "UINT64", "STRING"]
)
def test_every_element_type_can_be_drawn(dtype: str) -> None:
    port = Port("x", "tensor", dtype, (4, 3), ("x",))
    for feeds in [*make_inputs([port]), *plan_inputs([port]).specials()]:
        assert feeds["x"].shape == (4, 3)
        assert feeds["x"].dtype == (object if dtype == "STRING" else port.element.numpy())


def test_numbers_that_a_model_can_not_use_are_not_drawn() -> None:
    """Integers that divide are never zero, dropout never trains, and what stands beside zero is no denormal."""
    model = model_of(
        [
            oh.make_node("Div", ["i", "d"], ["q"]),
            oh.make_node("Dropout", ["x", "r", "t"], ["h"]),
            oh.make_node("Relu", ["x"], ["k"]),
        ],
        [
            oh.make_tensor_value_info("i", TensorProto.INT8, [50]),
            oh.make_tensor_value_info("d", TensorProto.INT8, [50]),
            oh.make_tensor_value_info("x", TensorProto.FLOAT, [50]),
            oh.make_tensor_value_info("r", TensorProto.FLOAT, []),
            oh.make_tensor_value_info("t", TensorProto.BOOL, []),
        ],
        [oh.make_tensor_value_info("q", TensorProto.INT8, [50])],
    )
    for feeds in inputs_of(model):
        assert np.all(feeds["d"] != 0)
        assert not feeds["t"]
        assert 0 <= feeds["r"] < 1
        assert not np.any((feeds["x"] != 0) & (np.abs(feeds["x"]) < np.finfo(np.float32).tiny))
    assert np.sum(inputs_of(model)[PLAN.index("boundaries")]["x"] == 0) > 5


def test_an_empty_batch_that_only_a_kernel_refuses_is_told_and_does_not_decide() -> None:
    """ONNX Runtime refuses a product of a weight with an empty batch, which the graph takes."""
    head = '<ir_version: 10, opset_import: ["" : 21]> g (float[N, 3, 4] x) => (float[N, 2, 4] y) '
    source = onnx.parser.parse_model(
        head + "{ t = Transpose <perm=[0, 2, 1]> (x) m = MatMul (t, v) y = Transpose <perm=[0, 2, 1]> (m) }"
    )
    target = onnx.parser.parse_model(head + "{ y = MatMul (w, x) }")
    weight = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    target.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    source.graph.initializer.append(onnx.numpy_helper.from_array(np.ascontiguousarray(weight.T), "v"))
    found = trueport.verify(source, target)
    assert found.verdict == Verdict.FAITHFUL
    assert any("the target fails" in output.why for output in found.special)
