"""Reductions and running sums: empty sets, wrapping integers, NaN, axes known or not."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.grid.harness import check, edge_values, make_model, prepare
from tests.grid.test_shape import data, ints

FLOATS = [np.dtype(t) for t in ("float32", "float64", "float16", ml_dtypes.bfloat16)]
INTEGERS = [np.dtype(t) for t in ("int32", "int64", "uint32", "uint64")]
SUMS = ["ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"]
LOGS = ["ReduceLogSum", "ReduceLogSumExp"]
EXTREMES = ["ReduceMax", "ReduceMin"]


def numbers(*shape: int, dtype: object = np.float32) -> np.ndarray:
    """Positive and of one magnitude, so that products and logarithms stay in range."""
    spread = np.random.default_rng(0).uniform(0.5, 1.5, shape)
    return (spread if np.dtype(dtype) in FLOATS else np.round(spread * 4)).astype(dtype)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axes", [(0,), (-1,), (0, 2), (1, -1), ()], ids=str)
@pytest.mark.parametrize("op", [*SUMS, *LOGS, *EXTREMES])
def test_axes(op: str, axes: tuple, keepdims: int, constant: bool) -> None:
    sets = [[numbers(*shape), np.array(axes, np.int64)] for shape in ((2, 3, 4), (4, 1, 2))]
    check(op, *sets, versus="float64", terms=24, keepdims=keepdims, constants=[1] if constant else [])


@pytest.mark.parametrize("op", [*SUMS, *LOGS, *EXTREMES])
def test_no_axes(op: str) -> None:
    check(op, [numbers(2, 3)], [numbers(0, 3)], versus="reference", terms=6, keepdims=0)
    if op != "ReduceLogSumExp":  # the reference evaluator can't do a scalar there
        check(op, [np.array(0.75, np.float32)], versus="reference", keepdims=0)


@pytest.mark.parametrize("op", [*SUMS, "ReduceLogSum", *EXTREMES])
@pytest.mark.parametrize("axes", [[ints()], []], ids=["empty", "absent"])
def test_noop(op: str, axes: list) -> None:
    # The steps around the reduction are still done: ReduceL1 gives |x|, ReduceSumSquare x².
    check(op, [numbers(2, 3), *axes], versus="reference", noop_with_empty_axes=1)


WRAPPING = {
    "ReduceSum": lambda x: np.sum(x, 0, x.dtype),
    "ReduceProd": lambda x: np.prod(x, 0, x.dtype),
    "ReduceSumSquare": lambda x: np.sum(x * x, 0, x.dtype),
    "ReduceL1": lambda x: np.sum(np.abs(x), 0, x.dtype),
    "ReduceMax": lambda x: np.max(x, 0),
    "ReduceMin": lambda x: np.min(x, 0),
}


def run(op: str, *inputs: np.ndarray, **attributes: object) -> np.ndarray:
    feeds = {f"x{i}": array for i, array in enumerate(inputs)}
    return prepare(make_model(op, [inputs], **attributes)).run(feeds)[0]


@pytest.mark.parametrize("op", WRAPPING)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_wrap(op: str, dtype: np.dtype) -> None:
    # ONNX Runtime's own sums of int32 stop at the largest, and those of int64 lose digits.
    for few in (numbers(5, dtype=dtype), edge_values(dtype), np.full(5, np.iinfo(dtype).max, dtype)):
        with np.errstate(over="ignore"):
            wanted = WRAPPING[op](few)
        made = run(op, few, ints(0), keepdims=0)
        assert made == wanted and made.dtype == dtype


@pytest.mark.parametrize("op", ["ReduceMean", "ReduceL2"])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_round_to_zero(op: str, dtype: np.dtype) -> None:
    check(op, [numbers(3, 4, dtype=dtype), ints(1)], [numbers(2, 2, dtype=dtype), ints(0)], versus="reference")


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", *LOGS])
@pytest.mark.parametrize("dtype", FLOATS[2:], ids=str)
def test_half_sums_are_rounded_once(op: str, dtype: np.dtype) -> None:
    # One step of 1 changes a sum of 2048 halves no more: adding in the type itself would stop there.
    wide = np.full((2, 3000), 0.75 if op == "ReduceMean" else 0.5).astype(dtype)
    exact = {
        "ReduceSum": lambda x: x.sum(1),
        "ReduceMean": lambda x: x.mean(1),
        "ReduceL1": lambda x: np.abs(x).sum(1),
        "ReduceL2": lambda x: np.sqrt((x * x).sum(1)),
        "ReduceSumSquare": lambda x: (x * x).sum(1),
        "ReduceLogSum": lambda x: np.log(x.sum(1)),
        "ReduceLogSumExp": lambda x: np.log(np.exp(x).sum(1)),
    }[op](wide.astype(np.float64))
    assert np.array_equal(run(op, wide, ints(1), keepdims=0), exact.astype(dtype))


@pytest.mark.parametrize("op", EXTREMES)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool", *INTEGERS, *FLOATS], ids=str)
def test_extremes(op: str, dtype: np.dtype) -> None:
    few = edge_values(dtype)
    few = few[few == few]
    check(op, [np.stack([few, few[::-1]]), ints(0)], [few[:2].reshape(2, 1), ints(1)], versus="reference")


@pytest.mark.parametrize("op", EXTREMES)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float32", "float64"])
def test_extremes_of_nothing(op: str, dtype: str) -> None:
    check(op, [np.zeros((2, 0), dtype), ints(1)], [np.zeros((0, 2), dtype), ints(1)])


@pytest.mark.parametrize("op", [*SUMS, *LOGS, *EXTREMES])
def test_nan_and_infinity(op: str) -> None:
    # NaN wins wherever it stands. (ONNX Runtime's ReduceMax depends on its place.)
    rows = [[1, np.inf, 2], [np.nan, 1, 2], [1, 2, np.nan], [np.inf, 1, np.inf], [np.inf, np.nan, 1]]
    check(op, [np.array(rows, np.float32), ints(1)], versus="float64", terms=3)


def test_log_sum_exp_far_from_zero() -> None:
    rows = [[1000.0, 999.0], [-1000.0, -1001.0], [-0.7, -0.68], [-np.inf, -np.inf], [-np.inf, 1.0]]
    wanted = np.logaddexp(*np.array(rows, np.float32).astype(np.float64).T).astype(np.float32)
    made = run("ReduceLogSumExp", np.array(rows, np.float32), ints(1), keepdims=0)
    np.testing.assert_array_equal(made, wanted)


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("op", ["CumSum", "CumProd"])
def test_running(op: str, axis: int, reverse: int, exclusive: int) -> None:
    kind = np.int32 if reverse else np.int64
    sets = [[numbers(*shape), np.array(axis, kind)] for shape in ((3, 4), (1, 6), (2, 0))]
    attributes = {"reverse": reverse, "exclusive": exclusive}
    check(op, *sets, versus="reference", terms=6, constants=[1] if axis else [], **attributes)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=str)
@pytest.mark.parametrize("op", ["CumSum", "CumProd"])
def test_running_types(op: str, dtype: np.dtype) -> None:
    few = data(6, dtype=dtype) if dtype in INTEGERS else numbers(6, dtype=dtype)
    check(op, [few, np.array(0, np.int64)], versus="reference", terms=6)
