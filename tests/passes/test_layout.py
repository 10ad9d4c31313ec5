"""Layout assignment: how many transposes remain, and that nothing else changes."""

from __future__ import annotations

import gc
import pathlib
import re
import time

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from tests.passes.layouts import assigned, check, copy, count, feeds_of, honours, model_of, prepare, run
from trueport.backends.tensorflow.build.module import build_module
from trueport.backends.tensorflow.registry import registry
from trueport.ir.layouts import held_names
from trueport.passes.canonical import canonicalize
from trueport.passes.layout import assign_layouts
from trueport.passes.to_tensorflow import arrange_for_tensorflow
from trueport.runtimes.tensorflow import FunctionModel

LIGHT = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"


def test_one_convolution_is_marked_between_two_transposes():
    model = model_of("agraph (float[N,3,8,8] x) => (float[N,4,6,6] y) { c = Conv(x, w)\n y = Relu(c) }", w=(4, 3, 3, 3))
    after = check(model, 2)
    conv = next(node for node in after.graph if node.op_type == "Conv")
    assert conv.meta["channels_last"] and conv.inputs[1].name == "w"
    assert held_names(conv.outputs[0]) == {"c": (0, 2, 3, 1)}


def test_a_second_run_changes_nothing():
    model = model_of("agraph (float[N,3,8,8] x) => (float[N,4,6,6] y) { y = Conv(x, w) }", w=(4, 3, 3, 3))
    for _ in range(2):
        assign_layouts(model, honours)
        assert [node.op_type for node in model.graph] == ["Transpose", "Conv", "Transpose"]


def test_nothing_is_moved_without_a_convolution():
    model = model_of(
        """agraph (float[N,3,8,8] x) => (float[N,3,1,1] y) {
            n = InstanceNormalization(x, s, b)
            y = GlobalAveragePool(n) }""",
        s=(3,),
        b=(3,),
    )
    check(model, 0, rtol=1e-5)


def test_operator_without_channel_last_handler_stays():
    model = model_of("agraph (float[N,3,8,8] x) => (float[N,4,6,6] y) { y = Conv(x, w) }", w=(4, 3, 3, 3))
    assign_layouts(model, lambda node: False)
    assert count(model, "Transpose") == 0
    assert not any("channels_last" in node.meta for node in model.graph)


def test_resnet_block():
    model = model_of(
        """agraph (float[N,4,8,8] x) => (float[N,6] y) {
            a = Conv<pads=[1,1,1,1]>(x, w1)
            n = BatchNormalization(a, s, b, m, v)
            r = Relu(n)
            c = Conv<pads=[1,1,1,1]>(r, w2)
            d = Conv(x, w3)
            e = Add(c, d)
            f = Relu(e)
            g = GlobalAveragePool(f)
            h = Flatten(g)
            y = Gemm(h, k) }""",
        w1=(4, 4, 3, 3), w2=(4, 4, 3, 3), w3=(4, 4, 1, 1), k=(4, 6),
        s=(4,), b=(4,), m=(4,), v=np.ones(4, np.float32) * 4,
    )  # fmt: skip
    check(model, 1, rtol=1e-4, sizes=(1, 3))


def test_inception_block():
    model = model_of(
        """agraph (float[N,4,8,8] x) => (float[N,10,8,8] y) {
            a = Conv(x, w1)
            b = Conv<pads=[1,1,1,1]>(x, w2)
            p = MaxPool<kernel_shape=[3,3], pads=[1,1,1,1]>(x)
            y = Concat<axis=1>(a, b, p) }""",
        w1=(3, 4, 1, 1), w2=(3, 4, 3, 3),
    )  # fmt: skip
    after = check(model, 2)
    assert next(node for node in after.graph if node.op_type == "Concat").attributes["axis"].as_int() == 3


@pytest.mark.parametrize("dense", [False, True])
def test_squeeze_and_excitation(dense: bool):
    scale = """
            f = Flatten(g)
            d = Gemm(f, wd)
            s = Relu(d)
            t = Reshape(s, shape)
            """
    conv = """
            d = Conv(g, ws)
            t = Relu(d)
            """
    weights = {"wd": (4, 4), "shape": np.array([-1, 4, 1, 1])} if dense else {"ws": (4, 4, 1, 1)}
    model = model_of(
        f"""agraph (float[N,4,8,8] x) => (float[N,4,8,8] y) {{
            c = Conv<pads=[1,1,1,1]>(x, w)
            g = GlobalMaxPool(c)
            {scale if dense else conv}
            m = Mul(c, t)
            y = Conv(m, w2) }}""",
        w=(4, 4, 3, 3), w2=(4, 4, 1, 1), **weights,
    )  # fmt: skip
    check(model, 2, sizes=(1, 3))


def test_unet_with_resize_and_skip():
    model = model_of(
        """agraph (float[N,4,H,W] x) => (float[N,4,H,W] y) {
            a = Conv<pads=[1,1,1,1]>(x, w1)
            p = MaxPool<kernel_shape=[2,2], strides=[2,2]>(a)
            b = Conv<pads=[1,1,1,1]>(p, w2)
            u = Resize<mode="nearest">(b, , scales)
            c = Concat<axis=-3>(a, u)
            y = Conv<pads=[1,1,1,1]>(c, w3) }""",
        w1=(4, 4, 3, 3), w2=(4, 4, 3, 3), w3=(4, 8, 3, 3), scales=np.array([1, 1, 2, 2], np.float32),
    )  # fmt: skip
    after = check(model, 2, sizes=(4,))
    resize = next(node for node in after.graph if node.op_type == "Resize")
    assert resize.inputs[2].const_value.numpy().tolist() == [1, 2, 2, 1]


def test_channel_shuffle_splits_the_channel_axis():
    model = model_of(
        """agraph (float[N,8,5,6] x) => (float[N,8,5,6] y) {
            a = Conv<group=2>(x, w1)
            r = Reshape(a, split)
            t = Transpose<perm=[0,2,1,3,4]>(r)
            s = Reshape(t, merge)
            y = Conv<group=2>(s, w2) }""",
        w1=(8, 4, 1, 1), w2=(8, 4, 1, 1), split=np.array([-1, 2, 4, 5, 6]), merge=np.array([-1, 8, 5, 6]),
    )  # fmt: skip
    after = check(model, 3, sizes=(1, 3))
    shuffle = [n.attributes["perm"].as_ints() for n in after.graph if n.op_type == "Transpose"][1]
    assert tuple(shuffle) == (0, 1, 2, 4, 3)


def test_patch_embedding_needs_no_transpose_of_its_own():
    model = model_of(
        """agraph (float[N,3,8,8] x) => (float[N,4,6] y) {
            c = Conv<strides=[4,4]>(x, w)
            r = Reshape(c, shape)
            t = Transpose<perm=[0,2,1]>(r)
            y = MatMul(t, k) }""",
        w=(5, 3, 4, 4), k=(5, 6), shape=np.array([0, 5, 4]),
    )  # fmt: skip
    check(model, 1, sizes=(1, 3))


def test_channel_last_model_loses_all_its_transposes():
    model = model_of(
        """agraph (float[N,8,8,3] x) => (float[N,6,6,4] y) {
            t = Transpose<perm=[0,3,1,2]>(x)
            c = Conv(t, w)
            r = Relu(c)
            y = Transpose<perm=[0,2,3,1]>(r) }""",
        w=(4, 3, 3, 3),
    )
    check(model, 0)


def test_layer_norm_between_convolutions_as_in_convnext():
    model = model_of(
        """agraph (float[N,4,8,8] x) => (float[N,4,8,8] y) {
            c = Conv<pads=[1,1,1,1], group=4>(x, w1)
            t = Transpose<perm=[0,2,3,1]>(c)
            l = LayerNormalization<axis=-1>(t, s, b)
            d = MatMul(l, k)
            e = Mul(d, gamma)
            u = Transpose<perm=[0,3,1,2]>(e)
            y = Add(x, u) }""",
        w1=(4, 1, 3, 3), k=(4, 4), s=(4,), b=(4,), gamma=(4,),
    )  # fmt: skip
    check(model, 2, rtol=1e-5)


def test_operands_of_lower_rank_follow():
    model = model_of(
        """agraph (float[N,3,8,8] x, float[8] v, float[8,1] h) => (float[N,4,8,8] y) {
            c = Conv(x, w)
            a = Add(c, bias)
            b = Mul(a, row)
            d = Sub(b, v)
            e = PRelu(d, slope)
            f = Max(e, h, one)
            g = Conv(f, w2)
            y = Where(mask, g, f) }""",
        w=(4, 3, 1, 1), w2=(4, 4, 1, 1), bias=(4, 1, 1), row=(8,), slope=(1, 4, 1, 1),
        one=np.float32(1), mask=np.arange(8) % 2 == 0,
    )  # fmt: skip
    check(model, 2)


@pytest.mark.parametrize(
    "middle, shape",
    [
        ("m = Softmax<axis=1>(c)", "N,4,8,6"),
        ("m = Softmax(c)", "N,4,8,6"),
        ("m = Slice(c, one, three, one)", "N,2,8,6"),
        ("m = Slice(c, one, three)", "M,4,8,6"),
        ("m = Slice(c, one, three, minus, two)", "N,4,8,1"),
        ("m = ReduceMax<keepdims=1>(c, hw)", "N,4,1,1"),
        ("m = ReduceSum(c, one)", "N,1,8,6"),
        ("m = CumSum(c, two0)", "N,4,8,6"),
        ("m, n = Split<axis=1, num_outputs=2>(c)", "N,2,8,6"),
        ("m, n = TopK<axis=1>(c, two)", "N,2,8,6"),
        ("m = Gather<axis=1>(c, three)", "N,1,8,6"),
        ("m = Tile(c, repeats)", "N,8,8,18"),
        ("m = Pad(c, pads)", "N,5,10,9"),
        ("m = Pad(c, pads2, , hw)", "N,4,10,9"),
        ("m = Clip(c, zero, four)", "N,4,8,6"),
        ("q = QuantizeLinear<axis=1>(c, scale, point)\n m = DequantizeLinear<axis=1>(q, scale, point)", "N,4,8,6"),
        ("q, s, z = DynamicQuantizeLinear(c)\n m = DequantizeLinear(q, s, z)", "N,4,8,6"),
        ("u = Unsqueeze(c, two)\n v = Relu(u)\n m = Squeeze(v, two)", "N,4,8,6"),
        ("i = ArgMax<axis=1>(c)\n m = Cast<to=1>(i)", "N,1,8,6"),
        ("m = Dropout(c)", "N,4,8,6"),
        ("m = LpNormalization<axis=1>(c)", "N,4,8,6"),
    ],
)
def test_operators_that_carry_the_order(middle: str, shape: str):
    channels = 4 if shape.split(",")[1].isdigit() is False else int(shape.split(",")[1])
    used = {
        "one": np.array([1]), "two": np.array([2]), "three": np.array([3]), "minus": np.array([-1]),
        "hw": np.array([2, -1]), "two0": np.array(2), "repeats": np.array([1, 2, 1, 3]),
        "pads": np.array([0, 0, 1, 2, 0, 1, 1, 1]), "pads2": np.array([1, 2, 1, 1]),
        "zero": np.float32(0), "four": np.float32(4),
        "scale": np.array([1, 2, 0.5, 4], np.float32), "point": np.zeros(4, np.int8),
    }  # fmt: skip
    arguments = set(re.findall(r"\w+", middle))
    names = {name: array for name, array in used.items() if name in arguments}
    model = model_of(
        f"agraph (float[N,3,8,6] x) => (y) {{ c = Conv(x, w)\n {middle}\n y = Conv(m, w2) }}",
        w=(4, 3, 1, 1), w2=(2, channels, 1, 1), **names,
    )  # fmt: skip
    check(model, 1 if shape.endswith("1,1") else 2, rtol=1e-5, sizes=(4,))


def test_reduction_without_keepdims_leaves_the_region():
    model = model_of(
        "agraph (float[N,3,8,8] x) => (float[N,4] y) { c = Conv(x, w)\n y = ReduceMax<keepdims=0>(c, axes) }",
        w=(4, 3, 1, 1), axes=np.array([2, 3]),
    )  # fmt: skip
    check(model, 1)


def test_shape_of_a_held_value_needs_no_transpose():
    model = model_of(
        """agraph (float[N,3,8,6] x) => (float[N,4,8,6] y, int64[4] s, int64[2] e) {
            c = Conv(x, w)
            s = Shape(c)
            e = Shape<start=1, end=-1>(c)
            y = Conv(c, w2) }""",
        w=(4, 3, 1, 1), w2=(4, 4, 1, 1),
    )  # fmt: skip
    check(model, 2, sizes=(1, 3))


def test_one_transpose_serves_all_users():
    model = model_of(
        """agraph (float[N,3,8,8] x) => (float[N,4,8,8] y, float[N,4,8,8] z, float[N,256] f) {
            a = Relu(x)
            b = Sigmoid(x)
            c = Conv(a, w)
            d = Conv(b, w)
            e = Add(c, d)
            y = Relu(e)
            z = Neg(e)
            f = Flatten(e) }""",
        w=(4, 3, 1, 1),
    )
    check(model, 2, rtol=1e-5)


def test_pools_with_indices_keep_the_models_order():
    model = model_of(
        """agraph (float[N,3,8,8] x) => (float[N,3,4,4] y, int64[N,3,4,4] i) {
            y, i = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x) }"""
    )
    check(model, 0)


@pytest.mark.parametrize("shape, kernel, perm", [("N,3,8", (4, 3, 3), 2), ("N,3,4,5,6", (4, 3, 1, 2, 3), 2)])
def test_other_ranks(shape: str, kernel: tuple[int, ...], perm: int):
    model = model_of(f"agraph (float[{shape}] x) => (y) {{ c = Conv(x, w)\n y = Relu(c) }}", w=kernel)
    check(model, perm)


def test_branches_get_layouts_of_their_own():
    model = model_of(
        """agraph (float[N,3,8,8] x, bool p) => (float[N,4,8,8] y) {
            c = Conv(x, w)
            i = If(p) <
                then_branch = yes () => (float[N,4,8,8] a) { b = Conv(c, w2)
                                                             a = Relu(b) },
                else_branch = no () => (float[N,4,8,8] d) { d = Identity(c) }>
            y = Conv(i, w2) }""",
        w=(4, 3, 1, 1), w2=(4, 4, 1, 1),
    )  # fmt: skip
    check(model, 6)


def test_branches_of_several_nodes_share_a_value_whose_transpose_vanished():
    """The second If must not take what was put in place for the first for the value before the transpose."""
    branches = """<
        then_branch = g1 () => (float[M,N] a) { a = Relu(t) },
        else_branch = g2 () => (float[M,N] b) { b = Abs(t) }>"""
    model = model_of(
        f"""agraph (float[N,M] x, bool c) => (float[M,N] y, float[M,N] z, float[M,N] r) {{
            e = Neg(x)
            t = Transpose<perm=[1,0]>(e)
            r = Neg(t)
            y = If{branches}(c)
            z = If{branches}(c) }}"""
    )
    check(model, 1)


def test_weights_are_moved_by_nodes_and_stay_themselves():
    model = model_of(
        "agraph (float[N,3,8,8] x) => (float[N,4,8,8] y) { c = Conv(x, w)\n a = Add(c, t)\n y = Conv(a, v) }",
        w=(4, 3, 1, 1), t=(4, 8, 8), v=(4, 4, 1, 1),
    )  # fmt: skip
    after = check(model, 3)
    assert {"w", "t", "v"} <= set(after.graph.initializers)


@pytest.mark.parametrize("path", sorted(LIGHT.glob("*.onnx")), ids=lambda path: path.stem)
def test_light_models_have_transposes_only_at_their_borders(path: pathlib.Path):
    model = ir.load(path)
    prepare(model)
    shuffles = count(model, "Transpose")
    assert count(assigned(model), "Transpose") <= 2 + shuffles


def test_an_activation_stays_with_the_convolution_before_it():
    model = model_of("agraph (float[N,3,8,8] x) => (y) { c = Conv(x, w) y = Sigmoid(c) }", w=(4, 3, 1, 1))
    assert [node.op_type for node in assigned(model).graph] == ["Transpose", "Conv", "Sigmoid", "Transpose"]


def test_time_is_linear():
    def seconds(nodes: int) -> float:
        lines = "\n".join(
            f"v{i + 1} = {'Relu(' if i % 2 else 'Conv(w, '[:5]}v{i}{'' if i % 2 else ', w'})" for i in range(nodes)
        )
        model = model_of(f"agraph (float[N,4,8,8] v0) => (y) {{ {lines}\n y = Neg(v{nodes}) }}", w=(4, 4, 1, 1))
        gc.collect()
        gc.disable()  # a collection walks every object of the process, which here are other tests' frameworks
        try:
            start = time.thread_time()
            assign_layouts(model, honours)
            spent = time.thread_time() - start
        finally:
            gc.enable()
        assert count(model, "Transpose") == 2
        return spent

    # Ten times the nodes: ten times the time if it is linear, a hundred times if it is quadratic.
    assert min(seconds(10_000) for _ in range(3)) < 40 * min(seconds(1_000) for _ in range(3))


def test_tensorflow_runs_the_region_and_knows_inner_values_by_their_names():
    model = model_of(
        """agraph (float[N,4,8,6] x) => (float[N,4,4,3] y) {
            a = Conv<pads=[1,1,1,1]>(x, w1)
            n = BatchNormalization(a, s, b, m, v)
            p = MaxPool<kernel_shape=[2,2], strides=[2,2]>(n)
            t = Transpose<perm=[0,2,3,1]>(p)
            d = Add(t, bias)
            u = Transpose<perm=[0,3,1,2]>(d)
            g = GlobalAveragePool(u)
            y = Mul(u, g) }""",
        w1=(4, 4, 3, 3), s=(4,), b=(4,), m=(4,), v=np.full(4, 4, np.float32), bias=(4,),
    )  # fmt: skip
    feeds = feeds_of(model, 3)
    names = ("a", "n", "p", "t", "d", "u", "g")
    want = dict(zip(("y", *names), run(model, feeds, names), strict=True))
    after = copy(model)
    canonicalize(after)
    arrange_for_tensorflow(after, registry())
    assert count(after, "Transpose") == 2
    built = build_module(after, registry())
    got = FunctionModel(built.module, built.function, built.map).run(feeds, fetch=["y", *names])
    for name, array in want.items():
        np.testing.assert_allclose(got[name], array, rtol=1e-5, atol=1e-5)
