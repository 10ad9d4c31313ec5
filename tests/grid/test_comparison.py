"""Comparison, logic, choice and bits."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.grid.harness import check, edge_values, make_model
from trueport.backend import prepare

INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
FLOAT8 = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz]


def values(dtype: object) -> np.ndarray:
    """Edge values; no denormals, which TensorFlow's comparisons take for zero."""
    if dtype is str:
        return np.array(["", "a", "A", "ab", "ä", "日本"], object)
    edges = edge_values(dtype)
    if np.dtype(dtype).kind in "biu":
        return edges
    return edges[(edges == 0) | ~(np.abs(edges) < float(ml_dtypes.finfo(dtype).tiny))]


def run(op, *inputs, opset=None, **attributes):
    return prepare(make_model(op, [inputs], opset=opset, **attributes)).run(list(inputs))[0]


def pairs(dtype: object) -> list[list[np.ndarray]]:
    edges = values(dtype)
    return [[edges[:, None], edges[None]], [edges[:1, None], edges[None, :2]], [edges[:0, None], edges[None]]]


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
@pytest.mark.parametrize("op", ["Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"])
def test_comparisons(op, dtype):
    check(op, *pairs(dtype), versus="reference")


@pytest.mark.parametrize("dtype", [bool, str])
def test_equality_of_anything(dtype):
    check("Equal", *pairs(dtype), versus="ort" if dtype is bool else "reference")


@pytest.mark.parametrize("op", ["And", "Or", "Xor"])
def test_logic(op):
    check(op, *pairs(bool))


def test_not():
    check("Not", [values(bool)], [values(bool)[:0]])
    check("Not", [np.array(True)])


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, bool, str, np.complex64, np.complex128])
def test_where(dtype):
    edges = values(dtype) if dtype not in (np.complex64, np.complex128) else np.array([1 + 2j, -0.5j, 3]).astype(dtype)
    condition = np.arange(len(edges)) % 3 == 0
    sets = [[condition[:, None], edges[None], edges[:1, None]], [condition[:2, None], edges[None, :1], edges[:2, None]]]
    for inputs in sets:
        got = run("Where", *inputs)
        assert got.dtype == edges.dtype
        want = np.where(*inputs)
        assert got.tobytes() == want.tobytes() if edges.dtype != object else np.array_equal(got, want)


@pytest.mark.parametrize("dtype", [*FLOATS, *FLOAT8])
@pytest.mark.parametrize("negative, positive", [(1, 1), (1, 0), (0, 1), (0, 0)])
def test_infinities(dtype, negative, positive):
    every = np.arange(256, dtype=np.uint8).view(dtype) if np.dtype(dtype).itemsize == 1 else edge_values(dtype)
    wide = every.astype(np.float64)
    want = (np.isposinf(wide) & bool(positive)) | (np.isneginf(wide) & bool(negative))
    got = run("IsInf", every, detect_negative=negative, detect_positive=positive)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", [*FLOATS, *FLOAT8])
def test_nan(dtype):
    every = np.arange(256, dtype=np.uint8).view(dtype) if np.dtype(dtype).itemsize == 1 else edge_values(dtype)
    np.testing.assert_array_equal(run("IsNaN", every), np.isnan(every.astype(np.float64)))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", ["BitwiseAnd", "BitwiseOr", "BitwiseXor"])
def test_bitwise(op, dtype):
    check(op, *pairs(dtype), versus="reference")


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bitwise_not(dtype):
    check("BitwiseNot", [values(dtype)], [values(dtype)[:0]], versus="reference")


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts_past_the_width(dtype, direction):
    # The text of opset 28 defines every amount; runtimes so far leave those outside of the width to the processor.
    info = np.iinfo(dtype)
    amounts = [*range(info.bits), info.bits, info.bits + 1, info.max] + ([-1, info.min] if info.min else [])
    x, y = values(dtype)[:, None], np.array([amounts], dtype)
    want = [[_shifted(int(a), int(b), info, direction) % 2**info.bits for b in y[0]] for a in x[:, 0]]
    got = run("BitShift", x, y, opset=28, direction=direction)
    np.testing.assert_array_equal(got, np.array(want, np.uint64).astype(dtype))


def _shifted(value: int, amount: int, info: np.iinfo, direction: str) -> int:
    if 0 <= amount < info.bits:
        return value << amount if direction == "LEFT" else value >> amount
    return -1 if direction == "RIGHT" and value < 0 else 0
