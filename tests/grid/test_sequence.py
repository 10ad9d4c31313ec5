"""Sequences and optionals against ONNX Runtime, through a model's inputs and outputs and inside of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import pytest

from tests.grid.test_control import HEADER, assert_same, same, vector
from trueport.backend import prepare

KINDS = {
    "float": np.float32,
    "double": np.float64,
    "float16": np.float16,
    "int8": np.int8,
    "int64": np.int64,
    "uint64": np.uint64,
    "bool": np.bool_,
    "string": object,
    "complex64": np.complex64,
}


def items(kind: str, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    made = [np.arange(np.prod(shape, dtype=int)).reshape(shape) for shape in shapes]
    if kind == "string":
        return [np.array([f"é{i}" for i in a.ravel()], object).reshape(a.shape) for a in made]
    return [a.astype(KINDS[kind]) for a in made]


def position(value: int, dtype: Any = np.int64) -> np.ndarray:
    return np.array(value, dtype)


@pytest.mark.parametrize("kind", KINDS)
def test_sequences_pass_the_border(kind: str) -> None:
    """All dtypes, elements of any shapes, none at all."""
    text = f"g (seq({kind}) s) => (seq({kind}) y) {{ y = Identity (s) }}"
    rep = prepare(onnx.parser.parse_model(HEADER + text))
    for given in (items(kind, (2, 3), (), (0, 4), (1,)), []):
        assert_same(rep.run([given])[0], given)


@pytest.mark.parametrize("kind", ["float", "string", "bool", "int64"])
@pytest.mark.parametrize("index", [0, 1, -1, -3])
def test_at(kind: str, index: int) -> None:
    text = f"g (seq({kind}) s, int64 p) => ({kind} y) {{ y = SequenceAt (s, p) }}"
    given = items(kind, (2,), (3, 1), ())
    rep = prepare(onnx.parser.parse_model(HEADER + text))
    assert_same(rep.run([given, position(index)])[0], given[index])


def test_at_outside_is_an_error() -> None:
    text = "g (seq(float) s, int64 p) => (float y) { y = SequenceAt (s, p) }"
    rep = prepare(onnx.parser.parse_model(HEADER + text))
    for index in (2, -3):
        with pytest.raises(Exception, match="list"):
            rep.run([items("float", (2,), (3,)), position(index)])


@pytest.mark.parametrize("kind", ["float", "string", "bool"])
@pytest.mark.parametrize("index", [0, 1, 2, -1, -2, None])
def test_insert_and_length(kind: str, index: int | None) -> None:
    p = "" if index is None else ", p"
    text = f"""g (seq({kind}) s, {kind}[N] x, int64 p) => (seq({kind}) y, int64 n) {{
        y = SequenceInsert (s, x{p})
        n = SequenceLength (y)
    }}"""
    feeds = {"s": items(kind, (2, 1), (1,)), "x": items(kind, (3,))[0], "p": position(index or 0)}
    same(text, feeds)


@pytest.mark.parametrize("index", [0, 1, -1, -3, None])
def test_erase(index: int | None) -> None:
    p = "" if index is None else ", p"
    text = f"g (seq(float) s, int64 p) => (seq(float) y) {{ y = SequenceErase (s{p}) }}"
    same(text, {"s": items("float", (2,), (1, 2), (3,)), "p": position(index or 0)})
    if index in (0, -1, None):
        same(text, {"s": items("float", (2,)), "p": position(index or 0)})


@pytest.mark.parametrize("index", [0, 1, -1])
def test_constant_positions_leave_no_list(index: int) -> None:
    text = f"""g (float[N] a, float[2, 3] b) => (float c) {{
        p = Constant <value = int64 {{{index}}}> ()
        s = SequenceConstruct (a, b)
        longer = SequenceInsert (s, a, p)
        shorter = SequenceErase (longer, p)
        c = SequenceAt (shorter, p)
    }}"""
    same(text, {"a": vector(4), "b": np.ones((2, 3), np.float32)})


@pytest.mark.parametrize("new_axis", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1, -2])
@pytest.mark.parametrize("kind", ["float", "string"])
def test_concat(axis: int, new_axis: int, kind: str) -> None:
    text = f"""g (seq({kind}[]) s, {kind}[2, 3] a) => ({kind}[] y, {kind}[] z) {{
        y = ConcatFromSequence <axis = {axis}, new_axis = {new_axis}> (s)
        known = SequenceConstruct (a, a)
        z = ConcatFromSequence <axis = {axis}, new_axis = {new_axis}> (known)
    }}"""
    a = items(kind, (2, 3))[0]
    same(text, {"s": [a, a[::-1]], "a": a}, {"s": [a], "a": a})


def test_concat_of_different_extents() -> None:
    text = "g (seq(float[]) s) => (float[] y) { y = ConcatFromSequence <axis = 1> (s) }"
    same(text, {"s": items("float", (2, 3), (2, 1), (2, 0))})


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("dims", ["A, B", "4, 6"])
def test_split_by_ones(axis: int, keepdims: int, dims: str) -> None:
    text = f"g (float[{dims}] x) => (seq(float) y) {{ y = SplitToSequence <axis = {axis}, keepdims = {keepdims}> (x) }}"
    same(text, {"x": np.arange(24, dtype=np.float32).reshape(4, 6)})


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("split", [4, 1, [1, 3], [0, 4]])
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("kind", ["float", "string"])
def test_split(axis: int, split: Any, constant: bool, kind: str) -> None:
    array = np.array(split, np.int64)
    dims = "" if array.ndim == 0 else f"[{len(array)}]"
    made = f"p = Constant <value = int64{dims} {{{', '.join(map(str, array.ravel()))}}}> ()" if constant else ""
    given = "" if constant else f", int64{dims} p"
    text = f"""g ({kind}[A, B] x{given}) => (seq({kind}) y) {{
        {made}
        y = SplitToSequence <axis = {axis}> (x, p)
    }}"""
    x = items(kind, (4, 4) if array.ndim else (4, 6))[0]
    same(text, {"x": x} if constant else {"x": x, "p": array})


def test_map_with_a_capture() -> None:
    text = """g (seq(float) s, float[N] k) => (seq(float) y, seq(int64) z) {
        y, z = SequenceMap (s) <body = b (float a) => (float c, int64 d) {
            c = Mul (a, k)
            d = Shape (c)
        }>
    }"""
    feeds = [{"s": items("float", (3,), (2, 3)), "k": vector(3)}, {"s": [], "k": vector(3)}]
    model = onnx.parser.parse_model(HEADER + text)
    rep = prepare(model)
    for feed in feeds:
        y, z = rep.run(feed)
        assert_same(y, [a * feed["k"] for a in feed["s"]])
        assert_same(z, [np.array(a.shape) for a in feed["s"]])


# --- Optionals


@pytest.mark.parametrize("kind", ["float", "string", "bool"])
def test_optional_tensors_pass_the_border(kind: str) -> None:
    text = f"g (optional({kind}) s) => (optional({kind}) y, bool h) {{ y = Identity (s)  h = OptionalHasElement (s) }}"
    rep = prepare(onnx.parser.parse_model(HEADER + text))
    for given in (items(kind, (2, 3))[0], items(kind, ())[0], items(kind, (0, 2))[0], None):
        got, has = rep.run([given])
        assert_same(got, given)
        assert_same(has, np.array(given is not None))


def test_optional_sequences_pass_the_border() -> None:
    text = """g (optional(seq(float)) s) => (optional(seq(float)) y, bool h) {
        y = Identity (s)
        h = OptionalHasElement (s)
    }"""
    rep = prepare(onnx.parser.parse_model(HEADER + text))
    for given in (items("float", (2, 3), ()), [], None):
        got, has = rep.run([given])
        assert_same(got, given)
        assert_same(has, np.array(given is not None))


def test_optional_made_and_opened() -> None:
    text = """g (float[N] x, seq(float) s) => (float y, seq(float) z, bool h, float plain, seq(float) same) {
        a = Optional (x)
        b = Optional (s)
        y = OptionalGetElement (a)
        z = OptionalGetElement (b)
        h = OptionalHasElement (x)
        plain = OptionalGetElement (x)
        same = OptionalGetElement (s)
    }"""
    feeds = {"x": vector(3), "s": items("float", (2,), (1, 1))}
    got = prepare(onnx.parser.parse_model(HEADER + text)).run(feeds)
    for g, want in zip(got, (feeds["x"], feeds["s"], np.array(True), feeds["x"], feeds["s"]), strict=True):
        assert_same(g, want)


def test_optional_chosen_by_a_branch() -> None:
    text = """g (optional(float) o, float[N] d) => (float y) {
        h = OptionalHasElement (o)
        y = If (h) <
            then_branch = t () => (float a) { a = OptionalGetElement (o) },
            else_branch = e () => (float b) { b = Identity (d) }
        >
    }"""
    rep = prepare(onnx.parser.parse_model(HEADER + text))
    assert_same(rep.run([vector(2), vector(3)])[0], vector(2))
    assert_same(rep.run([None, vector(3)])[0], vector(3))
