"""Causes that lie in what a node reads, in the shape of its result, and in how an order of axes is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import trueport
from tests.verifying.test_causes_families import in_tensorflow
from tests.verifying.test_causes_language import FLOAT, first, model
from trueport.ir.ports import Port
from trueport.verifying.inputs.pairing import _permutation

RNG = np.random.default_rng(4)


def culprit(source: onnx.ModelProto, target: Any, data: Any) -> Any:
    return trueport.locate(source, target, data=data).culprit


def test_a_node_that_reads_an_earlier_value_is_to_blame_and_not_the_value_that_nobody_reads() -> None:
    text = "a (float[4,6] x) => (float[4,6] y) {{ g = Gelu(x) m = Mul(x, w) y = Softplus({0}) }}"
    weight = RNG.normal(size=(6,)).astype(np.float32)
    source, target = (model(text.format(name), w=weight) for name in ("m", "g"))
    found = culprit(source, in_tensorflow(target), {"x": FLOAT})
    assert (found.op, found.causes[0].what) == ("Softplus", "operand 'X' (input 0) reads 'g', in the source 'm'")


def test_a_node_that_is_left_out_is_to_blame_and_not_what_reads_its_operand() -> None:
    text = "a (float[4,6] x) => (float[4,6] y) {{ g = Gelu(x) m = Mul(g, w) y = Softplus({0}) }}"
    weight = RNG.normal(size=(6,)).astype(np.float32)
    source, target = (model(text.format(name), w=weight) for name in ("m", "g"))
    found = culprit(source, in_tensorflow(target), {"x": FLOAT})
    assert found.op == "Mul"
    assert "left out" in found.causes[0].what


def test_integers_that_pass_through_a_float() -> None:
    body = "a (int64[5,4] x, int64[5,4] d) => (int64[5,4] y) {{ {0} y = Mod({1}, d) }}"
    casts = "f = Cast <to = 1> (x) b = Cast <to = 7> (f)"
    source, target = model(body.format("", "x")), model(body.format(casts, "b"))
    data = {"x": RNG.integers(1 << 28, 1 << 31, (5, 4)), "d": RNG.integers(3, 1 << 29, (5, 4))}
    assert "A passes through float32" in first(source, in_tensorflow(target), data).what


def test_numbers_that_overflow_explain_nothing() -> None:
    text = "a (float[4,6] x) => (float[4,3] y) {{ y = Gemm <alpha = {0}> (x, w) }}"
    weight = RNG.normal(size=(6, 3)).astype(np.float32)
    source, target = (model(text.format(alpha), w=weight) for alpha in ("1.0", "1.01"))
    data = {"x": (np.abs(FLOAT) * 100 + 50).astype(np.float32)}
    assert "alpha = 1.01" in first(source, in_tensorflow(target), data).what


@pytest.mark.parametrize(("source", "target"), [((None, 3), (None, 4)), (("N", 3, 6), (None, 4, 6))])
def test_open_sizes_do_not_tell_an_order_of_axes(source: Any, target: Any) -> None:
    ports = [Port("y", "tensor", "FLOAT", shape, ("y",)) for shape in (source, target)]
    assert _permutation(*ports) == (False, None)


def test_channels_are_told_by_their_size_between_open_ones() -> None:
    ports = [Port("y", "tensor", "FLOAT", shape, ("y",)) for shape in ((None, 3, "H", "W"), (None, 8, 8, 3))]
    assert _permutation(*ports) == (True, (0, 2, 3, 1))


def test_a_count_that_makes_another_shape() -> None:
    text = "a (float[N,6] x) => (float[N,K] y) { y, i = TopK(x, k) }"
    source, target = (model(text, k=np.asarray([count], np.int64)) for count in (3, 4))
    found = first(source, in_tensorflow(target), {"x": FLOAT})
    assert found.what == "operand 'K' is [4], the source has [3]"


@pytest.mark.parametrize(
    ("op", "source", "target", "said"),
    [
        ("MaxPool", "kernel_shape = [3, 3]", "kernel_shape = [3, 5], pads = [0, 1, 0, 1]", "kernel_shape = [3, 5]"),
        (
            "AveragePool",
            "kernel_shape = [2, 2], count_include_pad = 1",
            "kernel_shape = [2, 3], pads = [0, 1, 0, 0], count_include_pad = 1",
            "kernel_shape = [2, 3]",
        ),
        ("LpPool", "kernel_shape = [3, 3], dilations = [1, 1]", "kernel_shape = [1, 3]", "kernel_shape = [1, 3]"),
    ],
)
def test_a_window_of_another_extent(op: str, source: str, target: str, said: str) -> None:
    text = "a (float[2,3,9,8] x) => (float[2,3,P,Q] y) {{ y = {0} <{1}> (x) }}"
    data = {"x": RNG.normal(size=(2, 3, 9, 8)).astype(np.float32)}
    cause = first(model(text.format(op, source)), in_tensorflow(model(text.format(op, target))), data)
    assert said in cause.what


@pytest.mark.parametrize(
    ("body", "source", "target"),
    [
        ("y = Tile(x, k)", [1, 2], [3, 1]),
        ("y = Tile(x, k)", [2, 2], [7, 2]),
        ("y = Expand(x, k)", [5, 4, 6], [9, 4, 6]),
        ("y = Pad(x, k)", [1, 0, 0, 0], [1, 0, 5, 0]),
        ("y = Reshape(x, k)", [4, 6], [6, 4]),
    ],
)
def test_sizes_that_are_told_by_the_shape_of_the_result(body: str, source: list[int], target: list[int]) -> None:
    rank = len(source) if "Expand" in body or "Reshape" in body else 2
    text = f"a (float[4,6] x) => (float[{','.join('PQRST'[:rank])}] y) {{ {body} }}"
    models = [model(text, k=np.asarray(sizes, np.int64)) for sizes in (source, target)]
    assert str(target) in first(models[0], in_tensorflow(models[1]), {"x": FLOAT}).what


def test_what_is_wrong_in_a_fused_node_is_not_that_it_is_fused(tmp_path: Any) -> None:
    import onnxruntime

    text = "a (float[4,6] x) => (float[4,3] y) {{ m = MatMul(x, w) b = Add(m, v) y = Tanh(b) }}"
    weight, bias = RNG.normal(size=(6, 3)).astype(np.float32), RNG.normal(size=3).astype(np.float32)
    other = weight.copy()
    other[2, 1] *= -1
    source, target = (model(text.format(), w=array, v=bias) for array in (weight, other))
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "fused.onnx")
    onnxruntime.InferenceSession(target.SerializeToString(), options, providers=["CPUExecutionProvider"])
    fused = onnx.load(tmp_path / "fused.onnx")
    assert [node.op_type for node in fused.graph.node] == ["FusedGemm"]
    found = culprit(source, fused, {"x": FLOAT})
    assert (found.op, found.causes[0].kind) == ("MatMul", "weight")


@pytest.mark.parametrize(("target", "shape"), [("ReduceMax", "1"), ("Trilu", "4")])
def test_another_operator_in_the_body_of_a_loop(target: str, shape: str) -> None:
    text = """
        a (float[3,4] x) => (float[3,4] z, float[2,3,{1}] y) {{
            z, y = Loop <body = b (int64 i, bool g, float[3,4] s) => (bool h, float[3,4] t, float[3,{1}] r) {{
                h = Identity(g) t = Add(s, s) r = {0}(s, one) }}> (trips, , x)
        }}"""
    constants = {"one": np.asarray([1], np.int64), "trips": np.asarray(2, np.int64)}
    models = [model(text.format(*of), **constants) for of in (("ReduceSum", "1"), (target, shape))]
    cause = first(models[0], in_tensorflow(models[1]), {"x": FLOAT[:3, :4]})
    assert f"behaves as {target}, the source has ReduceSum" in cause.what


def test_a_factor_is_that_of_the_node_that_has_it_and_not_of_what_reads_its_result() -> None:
    text = "a (float[4,6] x) => (float[4,3] y) {{ {} }}"
    weight, bias = RNG.normal(size=(6, 3)).astype(np.float32), RNG.normal(size=3).astype(np.float32)
    steps = "m = MatMul(x, w) s = Mul(m, half) y = Add(s, b)"
    source = model(text.format(steps), w=weight, b=bias, half=np.float32(0.5))
    target = model(text.format("y = Gemm <alpha = 0.51> (x, w, b)"), w=weight, b=bias)
    found = culprit(source, target, {"x": FLOAT})
    assert (found.op, found.causes[0].what) == ("Mul", "B is 1.02 times the source's")


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ("y, i = TopK <sorted = 1> (x, k)", "y, i = TopK <sorted = 0> (x, k)", "sorted = 0, the source has 1"),
        ("y = Mul(x, w)", "y = Max(x, low)", "the target has Max, the source has Mul"),
    ],
)
def test_what_is_read_in_the_target_comes_before_what_it_looks_like(one: str, other: str, words: str) -> None:
    """An order that is left open gives no numbers to compare; a Max with a low bound looks as if nothing was done."""
    constants = {"k": np.asarray([3], np.int64), "w": np.float32(2), "low": np.float32(-1e3)}
    text = "a (float[4,6] x) => (float[N,K] y) {{ {0} }}"
    source, target = (model(text.format(body), **constants) for body in (one, other))
    assert first(source, target, {"x": FLOAT}).what == words
