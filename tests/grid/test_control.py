"""Branches and loops against ONNX Runtime: captures, no iterations, changing shapes, sequences carried round."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx.helper as oh
import onnx.parser
import pytest
from onnx import TensorProto

from tests.grid.harness import run_ort, run_reference
from trueport.backend import prepare

HEADER = '<ir_version: 10, opset_import: ["" : 21]>\n'


def same(text: str, *feeds: dict[str, Any], versus: Any = run_ort) -> list[Any]:
    """Convert once, run all feeds: everything must be equal to what the runtime says, in dtype and shape too."""
    model = onnx.parser.parse_model(HEADER + text)
    rep = prepare(model)
    results = []
    for feed in feeds:
        got, want = rep.run(feed), versus(model, feed)
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            assert_same(g, w)
        results.append(got)
    return results


def assert_same(got: Any, want: Any) -> None:
    if isinstance(want, list):
        assert isinstance(got, list) and len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            assert_same(g, w)
    elif want is None:
        assert got is None
    else:
        assert got.dtype == np.asarray(want).dtype
        np.testing.assert_array_equal(got, want, strict=True)


def flag(value: bool) -> np.ndarray:
    return np.array(value)


def vector(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.float32)


# --- If


def test_if_with_branches_of_different_rank() -> None:
    text = """g (bool c, float[N] x) => (float[] y) {
        one = Constant <value = int64[2] {1, -1}> ()
        y = If (c) <
            then_branch = t () => (a) { a = Reshape (x, one) },
            else_branch = e () => (b) { b = Identity (x) }
        >
    }"""
    same(text.replace("float[] y", "float y"), *({"c": flag(c), "x": vector(3)} for c in (True, False)))


def test_if_with_a_vector_as_condition() -> None:
    text = """g (bool[1] c, float[N] x) => (float[M] y) {
        y = If (c) <
            then_branch = t () => (a) { a = Neg (x) },
            else_branch = e () => (b) { b = Abs (x) }
        >
    }"""
    same(text, *({"c": np.array([c]), "x": vector(3)} for c in (True, False)))


def test_if_with_several_outputs_and_nesting() -> None:
    text = """g (bool c, bool d, float[N] x, string[K] s) => (float[A] y, string[B] z) {
        w = Neg (x)
        y, z = If (c) <
            then_branch = t () => (a1, a2) {
                a1, a2 = If (d) <
                    then_branch = tt () => (p1, p2) { p1 = Add (w, x)  p2 = Identity (s) },
                    else_branch = te () => (q1, q2) { q1 = Identity (w)  q2 = StringConcat (s, s) }
                >
            },
            else_branch = e () => (b1, b2) { b1 = Concat <axis = 0> (x, w)  b2 = Identity (s) }
        >
    }"""
    words = np.array(["a", "é"], object)
    feeds = [{"c": flag(c), "d": flag(d), "x": vector(3), "s": words} for c in (True, False) for d in (True, False)]
    same(text, *feeds)


@pytest.mark.parametrize("condition", [0, 1])
def test_if_with_a_constant_condition_keeps_one_branch(condition: int) -> None:
    text = f"""g (float[N] x) => (float[M] y) {{
        c = Constant <value = bool {{{condition}}}> ()
        y = If (c) <
            then_branch = t () => (a) {{ a = Neg (x) }},
            else_branch = e () => (b) {{ b = Abs (x) }}
        >
    }}"""
    same(text, {"x": vector(3)})


def test_if_of_sequences() -> None:
    text = """g (bool c, seq(float[]) s, float[N] x) => (seq(float[]) y) {
        y = If (c) <
            then_branch = t () => (seq(float[]) a) { a = SequenceInsert (s, x) },
            else_branch = e () => (seq(float[]) b) { b = Identity (s) }
        >
    }""".replace("float[]", "float")
    same(
        text,
        *({"c": flag(c), "s": [vector(2), vector(1)], "x": vector(3)} for c in (True, False)),
        {"c": flag(True), "s": [], "x": vector(1)},
    )


# --- Loop

BODY = """<body = b (int64 i, bool go, float[K] v) => (bool more, float[K2] out, float[K3] seen) {
            limit = Constant <value = float {5.0}> ()
            out = Add (v, x)
            top = ReduceMax <keepdims = 0> (out)
            more = Less (top, limit)
            seen = Identity (out)
        }>"""


@pytest.mark.parametrize("given", ["trips, go", ", go"])
def test_loop_by_count_and_condition(given: str) -> None:
    first, second = (name.strip() for name in given.split(","))
    declared = [kind for name, kind in (("trips", "int64 trips"), ("go", "bool go")) if name in (first, second)]
    inputs = f"{first}, {second}, x" if second else f"{first}, , x"
    text = (
        f"g ({', '.join(declared)}, float[N] x) => (float[A] y, float[B, C] all) {{ y, all = Loop {BODY} ({inputs}) }}"
    )
    model = loop_model(text, first, second)
    rep = prepare(model)
    for trips in (0, 1, 2, 9):
        for go in (True, False):
            feeds = {"trips": np.array(trips, np.int64), "go": flag(go), "x": np.array([0.5, 1.5], np.float32)}
            feeds = {name: value for name, value in feeds.items() if name in (first, second, "x")}
            for got, want in zip(rep.run(feeds), run_ort(model, feeds), strict=True):
                if want.size:
                    assert_same(got, want)
                else:  # What one step's shape would be is not known: ONNX Runtime's choice is its own.
                    assert got.shape[0] == 0 and got.ndim == want.ndim


def test_loop_by_count_alone_ignores_the_condition() -> None:
    """So the specification; ONNX Runtime stops by the body's condition all the same."""
    text = f"g (int64 trips, float[N] x) => (float[A] y, float[B, C] all) {{ y, all = Loop {BODY} (trips, , x) }}"
    rep = prepare(loop_model(text, "trips", ""))
    for trips in (0, 1, 9):
        y, every = rep.run({"trips": np.array(trips, np.int64), "x": np.array([0.5, 1.5], np.float32)})
        assert_same(y, np.array([0.5, 1.5], np.float32) * (trips + 1))
        assert every.shape[0] == trips


def loop_model(text: str, first: str, second: str) -> onnx.ModelProto:
    """The parser has no absent inputs: they are cleared afterwards."""
    model = onnx.parser.parse_model(HEADER + text.replace("(, ", "(x, ").replace(", ,", ", x,"))
    node = model.graph.node[0]
    node.input[0], node.input[1] = first, second
    return model


def test_loop_without_steps_knows_the_dims_of_a_step() -> None:
    text = """g (int64 n, float[2, 3] x) => (float[2, 3] y, float[T, 2, 3] all) {
        go = Constant <value = bool {1}> ()
        y, all = Loop (n, go, x) <body = b (int64 i, bool c, float[2, 3] v) => (bool c2, float[2, 3] w, float[2, 3] s) {
            c2 = Identity (c)
            w = Neg (v)
            s = Identity (w)
        }>
    }"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    same(text, *({"n": np.array(n, np.int64), "x": x} for n in (0, 1, 3)))


def test_loop_that_grows_its_value() -> None:
    text = """g (int64 n, float[N] x) => (float[M] y) {
        go = Constant <value = bool {1}> ()
        y = Loop (n, go, x) <body = b (int64 i, bool c, float[K] v) => (bool c2, float[L] w) {
            c2 = Identity (c)
            w = Concat <axis = 0> (v, x)
        }>
    }"""
    same(text, *({"n": np.array(n, np.int64), "x": vector(2)} for n in (0, 1, 4)))


def test_loops_in_loops_with_captures() -> None:
    text = """g (int64 n, int64 m, float[N] x) => (float[A] y, float[B, C, D] all) {
        go = Constant <value = bool {1}> ()
        two = Constant <value = float {2.0}> ()
        y, all = Loop (n, go, x) <body = b (int64 i, bool c, float[K] v) => (bool c2, float[L] w, float[P, Q] rows) {
            c2 = Identity (c)
            fi = Cast <to = 1> (i)
            w, rows = Loop (m, c2, v) <body = bb (int64 j, bool d, float[K] u) => (bool d2, float[L] u2, float[R] row) {
                d2 = Identity (d)
                fj = Cast <to = 1> (j)
                both = Add (fi, fj)
                scaled = Mul (both, x)
                u2 = Add (u, scaled)
                row = Mul (u2, two)
            }>
        }>
    }"""
    same(
        text,
        *(
            {"n": np.array(n, np.int64), "m": np.array(m, np.int64), "x": vector(3)}
            for n, m in ((2, 3), (1, 1), (4, 2))
        ),
    )


def test_loop_that_carries_a_sequence() -> None:
    text = """g (int64 n, float[N] x) => (seq(float) y) {
        go = Constant <value = bool {1}> ()
        s = SequenceEmpty ()
        y = Loop (n, go, s) <body = b (int64 i, bool c, seq(float) v) => (bool c2, seq(float) w) {
            c2 = Identity (c)
            zero = Constant <value = int64[1] {0}> ()
            end = Reshape (i, zero2)
            part = Slice (x, zero, end)
            w = SequenceInsert (v, part)
        }>
    }""".replace("s = SequenceEmpty ()", "s = SequenceEmpty ()\n        zero2 = Constant <value = int64[1] {1}> ()")
    same(text, *({"n": np.array(n, np.int64), "x": vector(5)} for n in (0, 1, 4)))


@pytest.mark.parametrize("kind", ["string", "bool", "int8", "double", "uint64", "bfloat16", "float8e4m3fn", "int4"])
def test_loop_collects_any_type(kind: str) -> None:
    dtype = {
        "string": object,
        "bfloat16": ml_dtypes.bfloat16,
        "float8e4m3fn": ml_dtypes.float8_e4m3fn,
        "int4": ml_dtypes.int4,
    }
    text = f"""g (int64 n, {kind}[N] x) => ({kind}[M] y, {kind}[T, N2] all) {{
        go = Constant <value = bool {{1}}> ()
        y, all = Loop (n, go, x) <body = b (int64 i, bool c, {kind}[K] v) => (bool c2, {kind}[K2] w, {kind}[K3] s) {{
            c2 = Identity (c)
            w = Identity (v)
            s = Identity (x)
        }}>
    }}"""
    x = np.array(["a", "é"], object) if kind == "string" else np.array([1, 0]).astype(dtype.get(kind, kind))
    model = onnx.parser.parse_model(HEADER.replace("21", "25") + text)
    got, collected = prepare(model).run({"n": np.array(3, np.int64), "x": x})
    assert_same(got, x)
    assert_same(collected, np.stack([x] * 3))


# --- Scan


def scan_model(dtype: int = TensorProto.FLOAT, width: int | None = None, **attributes: Any) -> onnx.ModelProto:
    """One state (a running sum) and two scanned inputs; gives the sums and the products of all steps."""
    body = oh.make_graph(
        [
            oh.make_node("Add", ["s", "a"], ["s2"]),
            oh.make_node("Identity", ["s2"], ["sum"]),
            oh.make_node("Mul", ["a", "b"], ["product"]),
        ],
        "body",
        [oh.make_tensor_value_info(name, dtype, None) for name in ("s", "a", "b")],
        [oh.make_tensor_value_info(name, dtype, None) for name in ("s2", "sum", "product")],
    )
    node = oh.make_node(
        "Scan", ["s0", "x", "y"], ["last", "sums", "products"], body=body, num_scan_inputs=2, **attributes
    )
    graph = oh.make_graph(
        [node],
        "g",
        [
            oh.make_tensor_value_info(name, dtype, [None, width][-rank:])
            for name, rank in (("s0", 1), ("x", 2), ("y", 2))
        ],
        [
            oh.make_tensor_value_info(name, dtype, [None] * rank)
            for name, rank in (("last", 1), ("sums", 2), ("products", 2))
        ],
    )
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"scan_input_axes": [1, 0], "scan_output_axes": [1, 0]},
        {"scan_input_axes": [-1, -2], "scan_output_axes": [-1, -2]},
        {"scan_input_directions": [1, 0], "scan_output_directions": [0, 1]},
        {
            "scan_input_axes": [0, 1],
            "scan_input_directions": [1, 1],
            "scan_output_axes": [1, 1],
            "scan_output_directions": [1, 0],
        },
    ],
)
def test_scan(attributes: dict[str, Any]) -> None:
    model = scan_model(**attributes)
    rep = prepare(model)
    axes = attributes.get("scan_input_axes", [0, 0])
    rng = np.random.default_rng(0)
    for steps, width in ((4, 3), (1, 2), (3, 1)):
        shapes = [(steps, width) if axis in (0, -2) else (width, steps) for axis in axes]
        x, y = (rng.integers(-9, 9, shape).astype(np.float32) for shape in shapes)
        feeds = {"s0": np.zeros(width, np.float32), "x": x, "y": y}
        for got, want in zip(rep.run(feeds), run_ort(model, feeds), strict=True):
            assert_same(got, want)


def test_scan_without_steps() -> None:
    model = scan_model(width=3)
    feeds = {"s0": vector(3), "x": np.zeros([0, 3], np.float32), "y": np.zeros([0, 3], np.float32)}
    last, sums, products = prepare(model).run(feeds)
    assert_same(last, feeds["s0"])
    assert sums.shape == (0, 3) and products.shape == (0, 3)


@pytest.mark.parametrize("dtype", [TensorProto.INT64, TensorProto.UINT8, TensorProto.DOUBLE, TensorProto.FLOAT16])
def test_scan_of_types(dtype: int) -> None:
    model = scan_model(dtype)
    kind = oh.tensor_dtype_to_np_dtype(dtype)
    feeds = {
        name: np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(kind)
        for name, shape in (("s0", (2,)), ("x", (3, 2)), ("y", (3, 2)))
    }
    want = run_reference(model, feeds)
    for got, expected in zip(prepare(model).run(feeds), want, strict=True):
        assert_same(got, np.asarray(expected))
