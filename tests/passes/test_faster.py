"""Rewrites that only make a model faster in ONNX Runtime: equal nodes, global pools, single numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx_ir as ir
import pytest

from tests.passes.layouts import copy, feeds_of, model_of, run
from trueport.ir.layouts import held_names
from trueport.ir.provenance import mark_origins, origins
from trueport.passes.merge import merge_equal
from trueport.passes.recognize.pooling import recognize_global_pools
from trueport.passes.scalars import spread_scalars


def check(model: ir.Model, change: Callable[[ir.Model], int], left: str, *, ulps: int = 0) -> ir.Model:
    """The operators that are left, and the same results."""
    after = copy(model)
    mark_origins(after.graph)
    change(after)
    assert " ".join(node.op_type for node in after.graph) == left
    assert [value.name for value in after.graph.outputs] == [value.name for value in model.graph.outputs]
    feeds = feeds_of(model)
    for want, got in zip(run(model, feeds), run(after, feeds), strict=True):
        assert got.shape == want.shape and got.dtype == want.dtype
        np.testing.assert_array_max_ulp(got, want, ulps)
    return after


def test_equal_nodes_are_computed_once_and_found_by_both_names() -> None:
    model = model_of("""agraph (float[N,4] x) => (float[N,4] y) {
        a = Relu(x)  b = Relu(x)  c = LeakyRelu<alpha = 0.1>(a)  d = LeakyRelu<alpha = 0.1>(b)
        e = LeakyRelu<alpha = 0.2>(b)  f = Add(c, d)  y = Add(f, e) }""")
    after = check(model, merge_equal, "Relu LeakyRelu LeakyRelu Add Add")
    relu = after.graph.node(0)
    assert set(origins(relu)) == {"a", "b"}
    assert held_names(relu.outputs[0]) == {"b": (0, 1)}


def test_what_makes_an_output_is_not_merged() -> None:
    model = model_of("agraph (float[N] x) => (float[N] y, float[N] z) { a = Relu(x) y = Relu(x) z = Neg(a) }")
    check(model, merge_equal, "Relu Relu Neg")


@pytest.mark.parametrize("draw", ["RandomNormalLike(x)", "RandomUniformLike(x)", "Bernoulli(x)"])
def test_draws_are_not_merged(draw: str) -> None:
    model = model_of(f"agraph (float[N] x) => (float[N] y) {{ a = {draw}\n b = {draw}\n y = Sub(a, b) }}")
    assert merge_equal(model) == 0


def test_operators_of_other_domains_are_not_merged() -> None:
    nodes = [ir.node("Draw", [], domain="com.acme") for _ in range(2)]
    assert merge_equal(ir.Model(ir.Graph([], [], nodes=nodes, name="g"), ir_version=10)) == 0


@pytest.mark.parametrize(("keepdims", "left"), [(1, "GlobalAveragePool Neg"), (0, "GlobalAveragePool Flatten Neg")])
def test_a_mean_over_height_and_width_is_a_global_pool(keepdims: int, left: str) -> None:
    dims = "N,3,1,1" if keepdims else "N,3"
    model = model_of(
        f"agraph (float[N,3,5,7] x) => (float[{dims}] y) {{ m = ReduceMean<keepdims={keepdims}>(x, axes) y = Neg(m) }}",
        axes=np.array([3, -2]),
    )
    # Sums of 35 numbers in another order.
    check(model, recognize_global_pools, left, ulps=35)


@pytest.mark.parametrize(
    ("type_", "axes"), [("float[N,3,5,7]", [1, 2]), ("float[N,3,5]", [2]), ("double[N,3,5,7]", [2, 3])]
)
def test_other_means_stay(type_: str, axes: list[int]) -> None:
    result = type_.split("[")[0] + "[]"
    text = f"agraph ({type_} x) => ({result} y) {{ m = ReduceMean<keepdims=1>(x, axes) y = Neg(m) }}"
    assert recognize_global_pools(model_of(text, axes=np.array(axes))) == 0


@pytest.mark.parametrize("call", ["Add(x, c)", "Div(x, c)", "Div(c, x)", "Pow(x, c)"])
def test_a_number_beside_single_pixels_has_their_rank(call: str) -> None:
    text = f"agraph (float[N,8,1,1] x) => (float[N,8,1,1] y) {{ y = {call} }}"
    after = check(model_of(text, c=np.float32(3)), spread_scalars, call.split("(")[0])
    assert sorted(len(value.shape or ()) for value in after.graph.node(0).inputs if value is not None) == [4, 4]


@pytest.mark.parametrize("dims", ["N,8", "N,8,2,2", "N"])
def test_numbers_beside_other_data_stay(dims: str) -> None:
    text = f"agraph (float[{dims}] x) => (float[{dims}] y) {{ y = Add(x, c) }}"
    assert spread_scalars(model_of(text, c=np.float32(3))) == 0
