"""Elements picked and written by position: negative indices, huge bounds, duplicates, all element types."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from tests.grid.harness import check
from tests.grid.test_shape import BOOL, COMMON, INT64_MAX, INT64_MIN, NARROW, OLD, data, ints, versus
from trueport.backends.tensorflow.registry import registry

SLICES = [
    ([0], [INT64_MAX], [0], [1]),
    ([1, 0], [3, 2], [0, 1], [1, 1]),
    ([-1], [INT64_MIN], [1], [-1]),
    ([-2], [-9], [1], [-2]),
    ([100], [0], [0], [-1]),
    ([INT64_MAX], [INT64_MIN], [-1], [-3]),
    ([INT64_MIN], [INT64_MAX], [-1], [2]),
    ([2], [1], [0], [1]),
    ([0, 1], [-1, 1000], [-1, 0], [2, 1]),
    ([3], [3], [1], [-1]),
]


@pytest.mark.parametrize("constants", [[1, 2, 3, 4], [3, 4], [1], []], ids=str)
@pytest.mark.parametrize("parameters", SLICES, ids=str)
def test_slice(parameters: tuple, constants: list) -> None:
    arrays = [ints(*values) for values in parameters]
    check("Slice", [data(4, 5), *arrays], [data(7, 3), *arrays], constants=constants)


@pytest.mark.parametrize("constants", [[1, 2], []], ids=str)
def test_slice_without_axes(constants: list) -> None:
    check("Slice", [data(4, 5), ints(1, -2), ints(-1, 9)], constants=constants)
    check("Slice", [data(4, 5), ints(1, dtype=np.int32), ints(2**31 - 1, dtype=np.int32)], constants=constants)


@pytest.mark.parametrize("dtype", OLD, ids=str)
def test_slice_types(dtype: np.dtype) -> None:
    inputs = [data(4, 5, dtype=dtype), ints(3), ints(0), ints(0), ints(-2)]
    check("Slice", inputs, versus=versus(dtype), constants=[1, 2, 3, 4])


@pytest.mark.parametrize("dtype", OLD, ids=str)
def test_gather_types(dtype: np.dtype) -> None:
    check("Gather", [data(3, 4, dtype=dtype), ints(0, -1, 2)], versus=versus(dtype), axis=1)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("indices", [ints(0, -1), ints(1).reshape(()), ints(), np.array([[0, 1], [-2, 1]], np.int32)])
def test_gather(indices: np.ndarray, axis: int) -> None:
    check("Gather", [data(3, 2, 4), indices], [data(2, 3, 3), indices], axis=axis)
    check("Gather", [data(3, 2, 4), indices], constants=[1], axis=axis)


@pytest.mark.parametrize("dtype", OLD, ids=str)
def test_gather_elements_types(dtype: np.dtype) -> None:
    indices = np.array([[0, -1], [2, 0]], np.int64)
    check("GatherElements", [data(3, 2, dtype=dtype), indices], versus="reference" if dtype.kind == "c" else "ort")


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_gather_elements(axis: int) -> None:
    indices = np.array([0, -1, 1, 0, -2, 1, 1, 0], np.int32).reshape(2, 2, 2)
    check("GatherElements", [data(2, 3, 4), indices], [data(3, 2, 2), indices[:1, :, :1]], axis=axis)
    check("GatherElements", [data(2, 3, 4), indices[:0]], axis=axis)


@pytest.mark.parametrize("dtype", OLD, ids=str)
def test_gather_nd_types(dtype: np.dtype) -> None:
    indices = np.array([[0, -1], [1, 0]], np.int64)
    check("GatherND", [data(2, 3, dtype=dtype), indices], versus="reference" if dtype.kind == "c" else "ort")


@pytest.mark.parametrize(
    "shape, indices, batch_dims",
    [
        ((2, 3, 4), [[0, 1], [-1, -3]], 0),
        ((2, 3, 4), [[[1]], [[-1]]], 1),
        ((2, 3, 4), [[[1, -1], [0, 0]], [[2, 2], [-1, 3]]], 1),
        ((2, 2, 4), [[[0], [1]], [[-1], [2]]], 2),
        ((2, 3, 4), [[[1]]], 0),
    ],
)
def test_gather_nd(shape: tuple, indices: list, batch_dims: int) -> None:
    at = np.array(indices, np.int64)
    check("GatherND", [data(*shape), at], [data(*shape[:-1], shape[-1] + 2), at], batch_dims=batch_dims)


REDUCTIONS = ["none", "add", "mul", "max", "min"]
SCATTERED = [t for t in COMMON if t != BOOL]


@pytest.mark.parametrize("dtype", SCATTERED, ids=str)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_scatter_elements(reduction: str, dtype: np.dtype) -> None:
    twice = reduction != "none"
    indices = np.array([[0, 2, -1], [0 if twice else 1, 1 if twice else 0, 0]], np.int64)
    updates = data(2, 3, dtype=dtype) + np.ones([], dtype)
    old = data(3, 4, dtype=dtype)
    by = "reference" if dtype == np.float16 else "ort"
    check("ScatterElements", [old, indices, updates], versus=by, reduction=reduction, axis=0, terms=3)
    check("ScatterElements", [old, indices, updates], versus=by, reduction=reduction, axis=-1, terms=3)


@pytest.mark.parametrize("dtype", SCATTERED, ids=str)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_scatter_nd(reduction: str, dtype: np.dtype) -> None:
    indices = np.array([[0, -1], [1, 0], [1, 0 if reduction != "none" else 1]], np.int64)
    old, updates = data(2, 3, 2, dtype=dtype), data(3, 2, dtype=dtype) + np.ones([], dtype)
    by = "reference" if dtype == np.float16 else "ort"
    check("ScatterND", [old, indices, updates], [old[:, :2], indices, updates], versus=by, reduction=reduction, terms=3)


@pytest.mark.parametrize("dtype", [np.dtype(bool), np.dtype(object), np.dtype(np.complex64)], ids=str)
def test_scatter_other_types(dtype: np.dtype) -> None:
    indices = np.array([[0, 2], [1, 1]], np.int64)
    by = "reference" if dtype.kind == "c" else "ort"
    check("ScatterElements", [data(3, 2, dtype=dtype), indices, data(2, 2, dtype=dtype)], versus=by)
    check("ScatterND", [data(3, 3, dtype=dtype), indices, data(2, dtype=dtype)], versus=by)


def test_scatter_complex_sums() -> None:
    indices = np.array([[0], [0]], np.int64)
    old, updates = data(3, dtype=np.complex64), data(2, dtype=np.complex64)
    for reduction in ("add", "mul"):
        check("ScatterND", [old, indices, updates], versus="reference", reduction=reduction, terms=3)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_scatter_nothing(reduction: str) -> None:
    none = np.zeros((0, 1), np.int64)
    check("ScatterND", [data(3, 2), none, np.zeros((0, 2), np.float32)], reduction=reduction)


@pytest.mark.parametrize("reduction", ["max", "min"])
def test_scatter_nan_wins(reduction: str) -> None:
    old, updates = np.array([1, np.nan, 1, 3], np.float32), np.array([np.nan, 1, 2, 0, np.nan], np.float32)
    at = np.array([[0], [1], [2], [3], [3]], np.int64)
    check("ScatterND", [old, at, updates], versus="reference", reduction=reduction)


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.uint16), BOOL, *NARROW[:-2]], ids=str)
@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_tensor_scatter(mode: str, dtype: np.dtype) -> None:
    start = ints(1, 0) if mode == "linear" else ints(3, 5)
    inputs = [data(2, 3, 4, 2, dtype=dtype), data(2, 3, 2, 2, dtype=dtype)[::-1].copy(), start]
    check("TensorScatter", inputs, versus="reference", opset=24, mode=mode)
    check("TensorScatter", [*inputs[:2], None], versus="reference", opset=24, mode=mode, axis=2)


@pytest.mark.parametrize("dtype", OLD, ids=str)
@pytest.mark.parametrize("axis", [0, 1])
def test_reverse_sequence(axis: int, dtype: np.dtype) -> None:
    sets = [[data(3, 3, 2, dtype=dtype), ints(3, 1, 2)], [data(3, 3, 1, dtype=dtype), ints(1, 2, 3)]]
    check("ReverseSequence", *sets, versus="reference", time_axis=axis, batch_axis=1 - axis)


@pytest.mark.parametrize("dtype", OLD, ids=str)
@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_and_space(mode: str, dtype: np.dtype) -> None:
    deep, flat = (1, 8, 2, 3), (2, 3, 4, 2)
    check("DepthToSpace", [data(*deep, dtype=dtype)], versus="reference", blocksize=2, mode=mode)
    check("SpaceToDepth", [data(*flat, dtype=dtype)], versus="reference", opset=28, blocksize=2, mode=mode)


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
@pytest.mark.parametrize("blocksize", [1, 2])
@pytest.mark.parametrize("op", ["DepthToSpace", "SpaceToDepth"])
def test_channels_last_is_the_same(op: str, mode: str, blocksize: int) -> None:
    first = tf.constant(data(2, 8, 4, 2))
    handler = registry().find(op).handler
    wanted = handler(SimpleNamespace(channels_last=False), first, blocksize=blocksize, mode=mode)
    last = handler(
        SimpleNamespace(channels_last=True), tf.transpose(first, (0, 2, 3, 1)), blocksize=blocksize, mode=mode
    )
    assert np.array_equal(np.transpose(last, (0, 3, 1, 2)), wanted)
