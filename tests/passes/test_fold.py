"""Constant folding: what is folded, what must stay, and that results do not change by a bit."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from tests.passes.layouts import copy, count, feeds_of, model_of, prepare, run
from trueport.backends.tensorflow.build.module import build_module
from trueport.backends.tensorflow.registry import registry
from trueport.ir.layouts import held_names
from trueport.passes.canonical import canonicalize
from trueport.passes.fold import fold_constants
from trueport.passes.to_tensorflow import arrange_for_tensorflow


def folded(model: ir.Model, rounds: int = 3) -> ir.Model:
    made = copy(model)
    for _ in range(rounds):
        if not fold_constants(made):
            break
        prepare(made)
    return made


def check(model: ir.Model, left: str, sizes: tuple[int, ...] = (1, 3)) -> ir.Model:
    """Fold; the operators that are left; equal bits."""
    after = folded(model)
    assert " ".join(node.op_type for node in after.graph) == left
    for size in sizes:
        feeds = feeds_of(model, size)
        for want, got in zip(run(model, feeds), run(after, feeds), strict=True):
            np.testing.assert_array_equal(got, want, strict=True)
    return after


def test_flatten_by_shape_arithmetic_becomes_a_constant_shape():
    model = model_of(
        """agraph (float[N,4,2,3] x) => (float[N,24] y) {
            s = Shape(x)
            n = Gather(s, zero)
            u = Unsqueeze(n, axes)
            t = Concat<axis=0>(u, rest)
            y = Reshape(x, t) }""",
        zero=np.array(0), axes=np.array([0]), rest=np.array([24]),
    )  # fmt: skip
    after = check(model, "Reshape", sizes=(1, 3))
    assert after.graph.node(0).inputs[1].const_value.numpy().tolist() == [-1, 24]


def test_known_dims_of_an_open_shape():
    model = model_of(
        """agraph (float[N,4,6,6] x) => (float[N,4,M,M] y) {
            s = Shape<start=1>(x)
            h = Slice(s, one, two)
            d = Mul(h, two)
            k = Div(d, four)
            p = Concat<axis=0>(zeros, k, k, zeros, k, k)
            y = Pad(x, p) }""",
        one=np.array([1]), two=np.array([2]), four=np.array([4]), zeros=np.array([0, 0]),
    )  # fmt: skip
    after = check(model, "Pad")
    assert after.graph.node(0).inputs[1].const_value.numpy().tolist() == [0, 0, 3, 3, 0, 0, 3, 3]


def test_floats_that_come_from_dims():
    model = model_of(
        """agraph (float[N,1,5,7] x) => (float[N,1,M,K] y) {
            s = Shape<start=2>(x)
            f = Cast<to=1>(s)
            m = Mul(f, half)
            r = Ceil(m)
            i = Cast<to=7>(r)
            z = Concat<axis=0>(nc, i)
            e = Expand(x, z)
            y = Identity(e) }""",
        half=np.array([2.0, 1.0], np.float32), nc=np.array([1, 1]),
    )  # fmt: skip
    after = folded(model)
    assert count(after, "Mul") == count(after, "Cast") == count(after, "Concat") == 0


def test_float_arithmetic_on_weights_stays():
    model = model_of(
        "agraph (float[N,4] x) => (float[N,4] y) { k = Mul(w, v)\n e = Exp(k)\n y = Mul(x, e) }", w=(4,), v=(4,)
    )
    check(model, "Mul Exp Mul")


def test_quantized_weights_stay_quantized():
    model = model_of(
        "agraph (float[N,4] x) => (float[N,3] y) { k = DequantizeLinear(w, s)\n y = MatMul(x, k) }",
        w=np.ones((4, 3), np.int8), s=np.float32(0.5),
    )  # fmt: skip
    check(model, "DequantizeLinear MatMul")


@pytest.mark.parametrize("op", ["Transpose<perm=[1,0]>(w)", "Transpose(w)"])
def test_weight_used_through_one_transpose_is_stored_so(op: str):
    model = model_of(f"agraph (float[N,4] x) => (float[N,3] y) {{ t = {op}\n y = MatMul(x, t) }}", w=(3, 4))
    after = check(model, "MatMul")
    weight = after.graph.initializers["w"]
    assert weight.shape == (4, 3) and held_names(weight) == {"w": (1, 0), "t": (0, 1)}


def test_artifact_says_how_the_source_weight_is_held():
    model = model_of("agraph (float[N,4] x) => (float[N,3] y) { t = Transpose(w)\n y = MatMul(x, t) }", w=(3, 4))
    after = copy(model)
    canonicalize(after)
    arrange_for_tensorflow(after, registry())
    built = build_module(after, registry())
    (stored,) = built.map.weights
    variable = built.module.weights[stored.key].numpy()
    original = model.graph.initializers["w"].const_value.numpy()
    np.testing.assert_array_equal(variable, original.transpose(stored.perm))


def test_weight_transposed_twice_is_stored_once():
    model = model_of(
        """agraph (float[N,2,3,4] x) => (float[N,2,3,4] y) {
            r = Transpose<perm=[1,2,0]>(w)
            t = Transpose<perm=[1,0,2]>(r)
            y = Add(x, t) }""",
        w=(4, 3, 2),
    )
    after = check(model, "Add")
    weight = after.graph.initializers["w"]
    original = model.graph.initializers["w"].const_value.numpy()
    np.testing.assert_array_equal(weight.const_value.numpy(), original.transpose(held_names(weight)["w"]))


def test_shared_weight_is_not_doubled():
    model = model_of(
        "agraph (float[N,4] x) => (float[N,4] y) { t = Transpose(w)\n h = MatMul(x, t)\n y = MatMul(h, w) }", w=(3, 4)
    )
    check(model, "Transpose MatMul MatMul")


def test_outputs_and_randomness_stay():
    model = model_of(
        """agraph (float[N] x) => (int64[2] y, float[2] r) {
            y = Add(a, a)
            r = RandomUniform<shape=[2]>() }""",
        a=np.array([1, 2]),
    )  # fmt: skip
    assert [node.op_type for node in folded(model).graph] == ["Add", "RandomUniform"]


def test_branches_that_share_a_name():
    model = model_of(
        """agraph (bool p, float[4,2] x) => (float[A,B] y) {
            y = If(p) <
                then_branch = yes () => (float[A,B] a) { c = Add(one, two)
                                                         a = Reshape(x, c) },
                else_branch = no () => (float[A,B] b) { c = Sub(two, one)
                                                        m = Mul(c, eight)
                                                        b = Reshape(x, m) }> }""",
        one=np.array([2, 0]), two=np.array([2, 2]), eight=np.array([1, 1]),
    )  # fmt: skip
    after = folded(model)
    assert [node.op_type for node in after.graph.all_nodes()].count("Reshape") == 2
    assert count(after, "Add") == count(after, "Sub") == count(after, "Mul") == 0


def test_negative_integers_divide_towards_zero():
    model = model_of(
        "agraph (float[4] x) => (float[M] y) { d = Div(a, b)\n e = Sub(zero, d)\n y = Slice(x, e, four) }",
        a=np.array([-3]), b=np.array([2]), zero=np.array([0]), four=np.array([4]),
    )  # fmt: skip
    after = check(model, "Slice")
    assert after.graph.node(0).inputs[1].const_value.numpy().tolist() == [1]
