"""Nodes that do nothing, paddings, batch norms: what goes, what stays, and the results."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from tests.passes.layouts import copy, feeds_of, model_of, run
from trueport.ir.layouts import held_names
from trueport.passes.simplify import simplify


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
