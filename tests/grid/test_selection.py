"""Elements chosen by value, and tensors made from positions: ties, NaN, every type, empty results."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.grid.harness import check, edge_values, make_model, prepare
from tests.grid.test_shape import BOOL, COMMON, OLD, STRING, data, ints

NUMBERS = [np.dtype(t) for t in (*(t for t in COMMON if t != BOOL), ml_dtypes.bfloat16)]


def ties(*shape: int, dtype: object = np.float32) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 4, shape).astype(dtype)


def run(op: str, *inputs: np.ndarray, outputs: int = 1, **attributes: object) -> tuple:
    model = make_model(op, [inputs], outputs, **attributes)
    return prepare(model).run({f"x{i}": array for i, array in enumerate(inputs)})


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_arg(op: str, keepdims: int, last: int, axis: int) -> None:
    attributes = {"axis": axis, "keepdims": keepdims, "select_last_index": last}
    check(op, [ties(3, 4, 5)], [ties(2, 7, 1)], **attributes)


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_arg_types(op: str, last: int, dtype: np.dtype) -> None:
    few = edge_values(dtype)
    few = few[few == few]
    # Denormals equal zero to TensorFlow's comparisons; none is an extreme here.
    check(op, [np.concatenate([few, few])], versus="reference", axis=0, select_last_index=last)


def test_arg_nan_is_extreme() -> None:
    rows = np.array([[1, np.nan, 3, np.nan], [5, 4, 1, np.nan], [np.inf, 1, np.nan, 2]], np.float32)
    for op, by in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
        assert np.array_equal(run(op, rows, axis=1, keepdims=0)[0], by(rows, 1))


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_top_k_types(largest: int, dtype: np.dtype) -> None:
    values = np.concatenate([edge_values(dtype), ties(9, dtype=dtype)])
    values = values[values == values]
    # -0 equals 0: the lower index comes first.
    check("TopK", [values, ints(len(values))], [values[:5], ints(2)], outputs=2, versus="reference", largest=largest)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("constant", [True, False])
def test_top_k(largest: int, axis: int, constant: bool) -> None:
    sets = [[ties(4, 5, 3), ints(3)], [ties(3, 6, 4), ints(3)]]
    check("TopK", *sets, outputs=2, constants=[1] if constant else [], axis=axis, largest=largest)


def test_top_k_nan_is_largest() -> None:
    row = np.array([1, np.nan, 3, -np.inf, -np.nan, np.inf], np.float32)
    assert run("TopK", row, ints(6), outputs=2)[1].tolist() == [1, 4, 5, 2, 0, 3]
    assert run("TopK", row, ints(6), outputs=2, largest=0)[1].tolist() == [3, 0, 2, 5, 1, 4]


def test_top_k_of_none() -> None:
    check("TopK", [ties(2, 3), ints(0)], outputs=2)


@pytest.mark.parametrize("dtype", [t for t in OLD if t != STRING], ids=str)
def test_non_zero(dtype: np.dtype) -> None:
    check("NonZero", [data(2, 3, dtype=dtype)], [np.zeros((0, 2), dtype)], versus="reference")


def test_non_zero_denormals_and_scalars() -> None:
    tiny = np.array([0.0, -0.0, 1e-45, -1e-45, np.nan, np.inf], np.float32)
    assert run("NonZero", tiny)[0].tolist() == [[2, 3, 4, 5]]
    # By the specification a scalar has no coordinates: (0, N). ONNX Runtime gives (1, N).
    assert run("NonZero", np.array(3.0, np.float32))[0].shape == (0, 1)
    assert run("NonZero", np.array(0.0, np.float32))[0].shape == (0, 0)


@pytest.mark.parametrize("dtype", OLD, ids=str)
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_compress(axis: int | None, dtype: np.dtype) -> None:
    attributes = {} if axis is None else {"axis": axis}
    short = np.array([False, True])
    sets = [[data(3, 4, dtype=dtype), short], [data(2, 5, dtype=dtype), np.array([False, False])]]
    check("Compress", *sets, versus="reference", **attributes)


@pytest.mark.parametrize("dtype", OLD, ids=str)
@pytest.mark.parametrize("sorted", [0, 1])
def test_unique_types(sorted: int, dtype: np.dtype) -> None:
    few = data(5, dtype=dtype)[[3, 1, 4, 1, 0, 3, 3]]
    by = "ort" if dtype in ("float32", "float64", "int64", "int8", STRING) else "reference"
    check("Unique", [few], [few[:0]] if by == "reference" else [few[:1]], outputs=4, versus=by, sorted=sorted)


@pytest.mark.parametrize("sorted", [0, 1])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_unique(axis: int | None, sorted: int) -> None:
    attributes = {} if axis is None else {"axis": axis}
    check("Unique", [ties(4, 3, 2) % 2], [ties(2, 5, 1)], outputs=4, sorted=sorted, **attributes)


def test_unique_nan_is_one_value() -> None:
    row = np.array([np.nan, 1, 0.0, np.nan, -0.0], np.float32)
    values, indices, inverse, counts = run("Unique", row, outputs=4)
    assert np.array_equal(values, [0, 1, np.nan], equal_nan=True)
    assert (indices.tolist(), inverse.tolist(), counts.tolist()) == ([2, 1, 0], [2, 1, 0, 2, 0], [2, 1, 2])


def test_unique_strings_by_bytes() -> None:
    words = np.array(["b", "ab", "a", "", "a\0", "é", "b"], object)
    check("Unique", [words], outputs=4)


@pytest.mark.parametrize("axis", [-1, 0, 1, -2])
@pytest.mark.parametrize("constants", [[1, 2], []], ids=str)
def test_one_hot(axis: int, constants: list) -> None:
    values = np.array([-2.5, 3], np.float32)
    sets = [[np.array(rows), ints(4), values] for rows in ([[0, 3], [-1, -4]], [[4, -5], [1, 100]])]
    check("OneHot", *sets, constants=constants, axis=axis)


@pytest.mark.parametrize("dtype", OLD, ids=str)
@pytest.mark.parametrize("kind", ["uint8", "int32", "float32", "float64"])
def test_one_hot_types(kind: str, dtype: np.dtype) -> None:
    values = data(2, dtype=dtype)
    made = run("OneHot", np.array([1, 0, 7], kind), np.array([3], kind), values)[0]
    wanted = values[np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])]
    assert made.dtype == values.dtype and np.array_equal(made, wanted)


@pytest.mark.parametrize("dtype", OLD, ids=str)
@pytest.mark.parametrize("upper", [0, 1])
def test_trilu(upper: int, dtype: np.dtype) -> None:
    for k in (-9, -1, 0, 2, 9):
        part = data(3, 5, dtype=dtype)
        empty = "" if dtype == STRING else np.zeros([], dtype)
        kept = (np.triu if upper else np.tril)(np.ones((3, 5), bool), k)
        made = run("Trilu", part, np.array(k, np.int64), upper=upper)[0]
        assert np.array_equal(made, np.where(kept, part, empty))


def test_trilu_batches() -> None:
    check("Trilu", [data(2, 3, 4)], [data(1, 0, 2)], [data(3, 4, 1)])


@pytest.mark.parametrize("dtype", COMMON, ids=str)
def test_eye_like(dtype: np.dtype) -> None:
    check("EyeLike", [data(3, 4, dtype=dtype)], [data(2, 0, dtype=dtype)], versus="reference", k=1)
    check("EyeLike", [data(3, 4, dtype=dtype)], versus="reference", k=-2, dtype=7)


RANGES = [(0, 5, 1), (10, 4, -2), (3, 3, 1), (5, 1, 2), (1, 5, -1), (-7, 8, 4), (0, 1, 7)]


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("constant", [True, False])
def test_range(dtype: str, constant: bool) -> None:
    sets = [[np.array(bound, dtype) for bound in bounds] for bounds in RANGES]
    for each in sets[:1] if not constant else sets:
        check("Range", *([each] if constant else sets), constants=[0, 1, 2] if constant else [])


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16, "float32"])
def test_range_fractions(dtype: str) -> None:
    sets = [[np.array(bound, dtype) for bound in bounds] for bounds in [(0, 1, 0.25), (1.5, -2, -0.5), (0.5, 3, 1)]]
    check("Range", *sets, versus="reference", opset=27)


def boxes(count: int, batches: int = 1) -> np.ndarray:
    corners = np.random.default_rng(5).uniform(0, 4, (batches, count, 4))
    return np.round(corners, 1).astype(np.float32)


@pytest.mark.parametrize("center", [0, 1])
@pytest.mark.parametrize("constants", [[2, 3, 4], []], ids=str)
def test_non_max_suppression(center: int, constants: list) -> None:
    sets = []
    for batches, classes, count in ((2, 3, 9), (1, 1, 30), (3, 2, 1)):
        scores = np.round(np.random.default_rng(count).uniform(0, 1, (batches, classes, count)), 1)
        limits = [ints(5), np.array([0.3], np.float32), np.array([0.2], np.float32)]
        sets.append([boxes(count, batches), scores.astype(np.float32), *limits])
    check("NonMaxSuppression", *sets, constants=constants, center_point_box=center)


def test_non_max_suppression_bounds() -> None:
    scores = np.array([[[0.5, 0.5, 0.9, -1.0]]], np.float32)
    whole = [boxes(4), scores, ints(2**62), np.array([1.0], np.float32)]
    check("NonMaxSuppression", whole, [*whole[:2], ints(0), whole[3]], [*whole[:2], ints(-3), whole[3]])
    check("NonMaxSuppression", [boxes(4), scores, ints(2)])
    assert run("NonMaxSuppression", boxes(4), scores)[0].shape == (0, 3)
    nothing = run("NonMaxSuppression", boxes(4), scores[:, :0], ints(3))[0]
    assert nothing.shape == (0, 3)
    assert run("NonMaxSuppression", boxes(0), scores[:, :, :0], ints(3))[0].shape == (0, 3)
