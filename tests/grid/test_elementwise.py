"""Arithmetic, rounding, exponentials, trigonometry: every dtype of the schemas at its edges."""

from __future__ import annotations

import math
import warnings

import ml_dtypes
import numpy as np
import pytest

from tests.grid.harness import Versus, assert_close, check, edge_values, make_model
from trueport.backend import prepare
from trueport.backends.tensorflow.registry import registry
from trueport.fidelity import accumulation, ulps

SIGNED = [np.int8, np.int16, np.int32, np.int64]
UNSIGNED = [np.uint8, np.uint16, np.uint32, np.uint64]
INTEGERS = SIGNED + UNSIGNED
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
NUMBERS = INTEGERS + FLOATS
MEASURED = [np.float32, np.float64, np.int32, np.int64]
"""Dtypes that ONNX Runtime computes itself; for the others numpy's arithmetic in the reference stands."""


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def judge(dtype: object) -> Versus:
    return "ort" if dtype in MEASURED else "reference"


def edges_of(dtype: object) -> np.ndarray:
    """The edge values without denormals, which TensorFlow's arithmetic kernels read as zero."""
    edges = edge_values(dtype)
    if np.dtype(dtype).kind in "iu":
        return edges
    return edges[(edges == 0) | ~(np.abs(edges) < float(ml_dtypes.finfo(dtype).tiny))]


def pairs(dtype: object) -> list[list[np.ndarray]]:
    """All pairs of edge values by broadcasting, a scalar with a vector, nothing."""
    edges = edges_of(dtype)
    return [[edges[:, None], edges[None, :]], [edges[:1, None], edges[None, :5]], [edges[:0, None], edges[None, :3]]]


def without(arrays: list[list[np.ndarray]], *forbidden: int) -> list[list[np.ndarray]]:
    return [[a, b[:, ~np.isin(b[0], np.array(forbidden).astype(b.dtype))]] for a, b in arrays]


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul"])
def test_arithmetic(op, dtype):
    check(op, *pairs(dtype), versus=judge(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_division_of_floats(dtype):
    check("Div", *pairs(dtype), versus=judge(dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_division_truncates(dtype):
    # ONNX Runtime lacks the short types, and the reference floors.
    for a, b in without(pairs(dtype), 0):
        exact = [int(x) for x in a.ravel()], [int(x) for x in b.ravel()]
        bits = np.iinfo(dtype).bits
        want = [[abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for y in exact[1]] for x in exact[0]]
        wrapped = np.array([[w % 2**bits for w in row] for row in want], np.uint64).astype(dtype)
        assert_equal(convert_and_run("Div", [a, b])[0], wrapped.reshape(a.shape[0], b.shape[1]))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_division_like_onnxruntime(dtype):
    a, b = without(pairs(dtype), 0, -1)[0]
    check("Div", [a, b])


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("fmod", [0, 1])
def test_remainder_of_integers(dtype, fmod):
    check("Mod", *without(pairs(dtype), 0), versus="reference", fmod=fmod)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("fmod", [0, 1])
def test_remainder_of_floats(dtype, fmod):
    edges = edge_values(dtype)
    # A quotient beyond the significand: only fmod's long division gets these right, numpy's mod of halves does not.
    edges = edges[np.isnan(edges) | (np.abs(edges) < 1e3) & (np.abs(edges) > 1e-4) | (edges == 0) | np.isinf(edges)]
    check("Mod", [edges[:, None], edges[None, :]], versus="reference", opset=28, fmod=fmod)


@pytest.mark.parametrize("fmod", [0, 1])
def test_remainder_keeps_the_sign_of_zero(fmod):
    a, b = np.array([0.0, -0.0, 4, -4, 0, -0.0, 4, -4], np.float32), np.array([2] * 4 + [-2] * 4, np.float32)
    got = convert_and_run("Mod", [a, b], opset=28, fmod=fmod)[0]
    assert_equal(np.signbit(got), np.signbit(a if fmod else b))


@pytest.mark.parametrize("exponent", [*NUMBERS])
@pytest.mark.parametrize("base", FLOATS)
def test_powers_of_floats(base, exponent):
    small = np.arange(0 if np.dtype(exponent).kind == "u" else -3, 5).astype(exponent)
    check("Pow", [edge_values(base)[:, None], small[None]], versus="reference")


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 0.5, -0.5, -1, 1 / 3, -7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_powers_by_a_constant(exponent, dtype):
    check("Pow", [edges_of(np.float32), np.array(exponent).astype(dtype)], constants=[1])


@pytest.mark.parametrize("exponent", INTEGERS)
@pytest.mark.parametrize("base", [np.int32, np.int64])
def test_powers_of_integers(base, exponent):
    bases = np.array([-3, -2, -1, 0, 1, 2, 3, 7, 11], base)
    exponents = np.array([0, 1, 2, 5, 31, 63], exponent)
    want = [[int(b) ** int(e) % 2**64 for e in exponents] for b in bases]
    got = convert_and_run("Pow", [bases[:, None], exponents[None]])[0]
    assert_equal(got, np.array(want, np.uint64).astype(base))


def test_negative_powers_of_integers_truncate():
    bases = np.array([[-3], [-1], [1], [2]], np.int32)
    check("Pow", [bases, np.array([[-3, -2, -1]], np.int32)])


@pytest.mark.parametrize("base", [np.int32, np.int64])
@pytest.mark.parametrize("exponent", [np.float32, np.float64])
def test_powers_of_integers_by_floats(base, exponent):
    check("Pow", [np.arange(10, dtype=base)[:, None], np.array([[0, 0.5, 1, 2, 1.7, 3]], exponent)])


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("op", ["Max", "Min"])
def test_extremes(op, dtype):
    a, b = pairs(dtype)[0]
    check(op, [a, b], [a[:2], b[:, :3]], versus=judge(dtype))
    check(op, [a, b, b[:, ::-1].copy()], versus=judge(dtype))
    check(op, [a], versus=judge(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["Sum", "Mean"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_sums_of_inputs(op, dtype, count):
    # Neither ONNX Runtime nor the reference has all types.
    limit = float(ml_dtypes.finfo(dtype).max) / 4
    edges = edges_of(dtype)
    edges = edges[~(np.abs(edges) > limit) | np.isinf(edges)]
    for inputs in ([edges[:, None], edges[None], np.array(0.3, dtype)], [edges[:0, None], edges[None], edges[0]]):
        given = inputs[:count]
        want = sum(x.astype(np.float64) for x in given) / (count if op == "Mean" else 1)
        assert_close(convert_and_run(op, given)[0], want, accumulation(), terms=count)


UNARY = {
    "Neg": SIGNED + FLOATS,
    "Abs": NUMBERS,
    "Sign": NUMBERS,
    **dict.fromkeys(["Ceil", "Floor", "Round", "Sqrt", "Reciprocal", "Exp", "Log", "Erf"], FLOATS),
    **dict.fromkeys(["Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh"], FLOATS),
    **dict.fromkeys(["Asinh", "Acosh", "Atanh"], FLOATS),
}


@pytest.mark.parametrize("op, dtype", [(op, dtype) for op, dtypes in UNARY.items() for dtype in dtypes])
def test_unary(op, dtype):
    edges = edges_of(dtype)
    rank_0 = [np.array(1).astype(dtype)]
    if op == "Erf" and dtype == np.float64:
        # The reference computes it in single precision.
        want = np.array([math.erf(x) for x in edges])
        assert_close(convert_and_run(op, [edges])[0], want, registry().find(op).error)
        return
    rounded_right = registry().find(op).error == ulps(0)
    truth = "float64" if dtype == np.float32 and not rounded_right else "reference"
    check(op, [edges], [edges[:0]], [edges[:3]], versus=truth)
    check(op, rank_0, versus=truth)


@pytest.mark.parametrize("op", [op for op, dtypes in UNARY.items() if dtypes == FLOATS])
def test_unary_over_its_range(op):
    spread = np.concatenate([np.linspace(-1, 1, 997), np.geomspace(1e-6, 60, 997), -np.geomspace(1e-6, 60, 997)])
    rounded_right = registry().find(op).error == ulps(0)
    check(op, [spread.astype(np.float32)], versus="ort" if rounded_right else "float64")


LIMITS = [(None, None), (-1, 2), (2, -1), (None, 2), (1, None), (0, 6)]


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("least, greatest", LIMITS)
@pytest.mark.parametrize("fixed", [True, False])
def test_clip(dtype, least, greatest, fixed):
    if np.dtype(dtype).kind == "u" and -1 in (least, greatest):
        least, greatest = (1, 2) if least == -1 else (2, 1)
    limits = [None if limit is None else np.array(limit).astype(dtype) for limit in (least, greatest)]
    constants = [i + 1 for i, limit in enumerate(limits) if limit is not None] if fixed else []
    edges = edges_of(dtype)
    # An absent limit is the type's own, so infinities are cut, as in ONNX Runtime; the reference lets them pass.
    info = ml_dtypes.iinfo(dtype) if np.dtype(dtype).kind in "iu" else ml_dtypes.finfo(dtype)
    low, high = (own if given is None else given for own, given in zip((info.min, info.max), limits, strict=True))
    want = np.minimum(high, np.maximum(edges, low)).astype(dtype)
    got = prepare(make_model("Clip", [[edges, *limits]], constants=constants)).run(
        {f"x{i}": x for i, x in enumerate([edges, *limits]) if x is not None and i not in constants}
    )
    assert_equal(got[0], want)
    if dtype in MEASURED:
        check("Clip", [edges, *limits], [edges[:0], *limits], constants=constants)


def convert_and_run(op, inputs, **attributes):
    opset = attributes.pop("opset", None)
    return prepare(make_model(op, [inputs], opset=opset, **attributes)).run(inputs)


def assert_equal(got, want):
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(*(x.astype(np.float64) if x.dtype == ml_dtypes.bfloat16 else x for x in (got, want)))
