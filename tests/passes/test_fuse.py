"""Nodes that do nothing, paddings, batch norms: what goes, what stays, and the results."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from tests.passes.layouts import copy, count, feeds_of, model_of, run
from trueport.fidelity import EXACT
from trueport.ir.layouts import held_names
from trueport.ir.provenance import mark_origins, origins
from trueport.passes.fuse import FOLDED, fold_batch_norms, simplify


def check(model: ir.Model, left: str) -> ir.Model:
    """Simplify; the operators that are left; equal bits."""
    after = copy(model)
    simplify(after)
    assert " ".join(node.op_type for node in after.graph) == left
    feeds = feeds_of(model)
    for want, got in zip(run(model, feeds), run(after, feeds), strict=True):
        np.testing.assert_array_equal(got, want, strict=True)
    return after


@pytest.mark.parametrize(
    "idle",
    [
        "Identity(a)",
        "Dropout(a)",
        "Dropout(a, ratio)",
        "Cast<to=1>(a)",
        "Transpose<perm=[0,1,2]>(a)",
        "Reshape(a, shape)",
        "Expand(a, ones)",
        "Pad(a, zeros)",
    ],
)
def test_idle_nodes_go_and_their_names_are_kept(idle: str):
    parameters = {
        "ratio": np.float32(0.3),
        "shape": np.array([0, 0, 4]),
        "ones": np.array([1, 1, 1]),
        "zeros": np.zeros(6, np.int64),
    }
    model = model_of(
        f"agraph (float[N,3,4] x) => (float[N,3,4] y) {{ a = Relu(x)\n b = {idle}\n y = Neg(b) }}",
        **{name: array for name, array in parameters.items() if f"{name})" in idle},
    )
    after = check(model, "Relu Neg")
    assert held_names(after.graph.node(0).outputs[0]) == {"b": (0, 1, 2)}


@pytest.mark.parametrize(
    "busy",
    [
        "Cast<to=11>(a)\n y = Cast<to=1>(b)",
        "Transpose<perm=[1,0]>(a)\n y = Transpose(b)",
        "Expand(a, shape)\n y = Slice(b, zero, one, zero)",
    ],
)
def test_nodes_that_do_something_stay(busy: str):
    given = {"shape": np.array([2, 3, 4]), "zero": np.array([0]), "one": np.array([1])} if "Expand" in busy else {}
    model = model_of(f"agraph (float[3,4] x) => (y) {{ a = Relu(x)\n b = {busy} }}", **given)
    assert simplify(model) == 0


def test_an_output_keeps_its_name():
    model = model_of("agraph (float[N,3] x) => (float[N,3] y) { a = Relu(x)\n y = Identity(a) }")
    check(model, "Relu Identity")


def test_two_reshapes_are_one():
    model = model_of(
        "agraph (float[2,6] x) => (float[4,3] y) { a = Reshape(x, s)\n y = Reshape(a, t) }",
        s=np.array([3, 4]), t=np.array([4, -1]),
    )  # fmt: skip
    check(model, "Reshape")


@pytest.mark.parametrize(
    "pad, user, left",
    [
        ("Pad(x, pads)", "Conv(p, w)", "Conv"),
        ("Pad(x, pads)", "Conv<pads=[1,0,0,2], strides=[2,2]>(p, w)", "Conv"),
        ("Pad(x, spatial, , axes)", "Conv(p, w)", "Conv"),
        ("Pad(x, pads, one)", "Conv(p, w)", "Pad Conv"),
        ('Pad<mode="edge">(x, pads)', "Conv(p, w)", "Pad Conv"),
        ("Pad(x, channel)", "Conv(p, w4)", "Pad Conv"),
        ("Pad(x, crop)", "Conv(p, w)", "Pad Conv"),
        ("Pad(x, pads)", 'Conv<auto_pad="SAME_UPPER">(p, w)', "Pad Conv"),
        ("Pad(x, pads, lowest)", "MaxPool<kernel_shape=[3,3]>(p)", "MaxPool"),
        ("Pad(x, pads)", "MaxPool<kernel_shape=[3,3]>(p)", "Pad MaxPool"),
        ("Pad(x, pads)", "AveragePool<kernel_shape=[4,4], strides=[2,2]>(p)", "AveragePool"),
        ("Pad(x, pads)", "AveragePool<kernel_shape=[4,4], pads=[1,1,1,1]>(p)", "Pad AveragePool"),
        ("Pad(x, pads)", "AveragePool<kernel_shape=[4,4], strides=[2,2], ceil_mode=1>(p)", "Pad AveragePool"),
    ],
)
def test_paddings_join_what_they_pad_for(pad: str, user: str, left: str):
    used = f"{pad} {user}".replace(",", " ").replace(")", " ").replace("(", " ").split()
    given = {
        "pads": np.array([0, 0, 1, 2, 0, 0, 1, 0]), "spatial": np.array([1, 2, 0, 1]), "axes": np.array([2, -1]),
        "channel": np.array([0, 1, 1, 1, 0, 0, 1, 1]), "crop": np.array([0, 0, -1, 1, 0, 0, 1, 1]),
        "one": np.float32(1), "lowest": np.float32(-np.inf), "w": (2, 3, 3, 3), "w4": (2, 4, 3, 3),
    }  # fmt: skip
    model = model_of(
        f"agraph (float[N,3,8,8] x) => (y) {{ p = {pad}\n y = {user} }}",
        **{name: value for name, value in given.items() if name in used},
    )
    check(model, left)


@pytest.mark.parametrize(
    "linear, x, weights",
    [
        ("Conv(x, w)", "N,4,5,5", {"w": (6, 4, 3, 3)}),
        ("Conv<group=2>(x, w, b)", "N,4,5,5", {"w": (6, 2, 3, 3), "b": (6,)}),
        ("ConvTranspose<group=2>(x, w, b)", "N,4,5,5", {"w": (4, 3, 3, 3), "b": (6,)}),
        ("Gemm(x, w, b)", "N,4", {"w": (4, 6), "b": (6,)}),
        ("Gemm<transB=1>(x, w)", "N,4", {"w": (6, 4)}),
    ],
)
def test_batch_norm_is_folded_and_noted(linear: str, x: str, weights: dict[str, tuple[int, ...]]):
    model = model_of(
        f"agraph (float[{x}] x) => (y) {{ c = {linear}\n y = BatchNormalization(c, s, t, m, v) }}",
        s=(6,), t=(6,), m=(6,), v=np.arange(1, 7, dtype=np.float32), **weights,
    )  # fmt: skip
    mark_origins(model.graph)
    after = copy(model)
    notes = fold_batch_norms(after)
    assert [note.fidelity for note in notes] == [EXACT] and len(after.graph) == 1
    assert [value.name for value in after.graph.outputs] == ["y"]
    assert after.graph.initializers["w"].metadata_props[FOLDED] == origins(model.graph.node(1))[0]
    feeds = feeds_of(model)
    for want, got in zip(run(model, feeds), run(after, feeds), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "nodes",
    [
        "c = Conv(x, w)\n y = BatchNormalization(c, s, t, m, v)\n z = Neg(c)",
        "c = Conv(x, w)\n d = Conv(x, w)\n y = BatchNormalization(c, s, t, m, v)\n z = Neg(d)",
        "c = Relu(x)\n y = BatchNormalization(c, s, t, m, v)\n z = Conv(x, w)",
    ],
    ids=["result used elsewhere", "shared weight", "no convolution"],
)
def test_batch_norm_that_must_stay(nodes: str):
    model = model_of(
        f"agraph (float[N,4,5,5] x) => (y, z) {{ {nodes} }}",
        w=(4, 4, 1, 1), s=(4,), t=(4,), m=(4,), v=np.ones(4, np.float32),
    )  # fmt: skip
    assert fold_batch_norms(model) == [] and count(model, "BatchNormalization") == 1
