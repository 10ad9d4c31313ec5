"""Pooling: windows with pads, strides, dilations and rounding up; indices; whole planes; regions."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.grid.harness import assert_close, check, make_model, run_ort
from tests.grid.layouts import check_channels_last, check_half, check_like_input
from trueport.backend import prepare
from trueport.fidelity import ulps

RNG = np.random.default_rng(13)
HALVES = [np.float16, ml_dtypes.bfloat16]


def normal(*shape: int, dtype: object = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def sets(x: tuple[int, ...], dtype: object = np.float32) -> list[list[np.ndarray]]:
    """The data, and the same with every dim one and two larger."""
    return [[normal(*(s + more for s in x), dtype=dtype)] for more in range(3)]


CASES = {
    "1-D": ((2, 3, 9), {"kernel_shape": [3], "strides": [2], "pads": [1, 0]}),
    "plain": ((2, 3, 8, 9), {"kernel_shape": [3, 2]}),
    "strides": ((2, 3, 8, 9), {"kernel_shape": [2, 3], "strides": [3, 2]}),
    "pads": ((2, 3, 8, 9), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 0, 2]}),
    "pads as SAME": ((2, 3, 8, 9), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    "same upper": ((2, 3, 8, 9), {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": "SAME_UPPER"}),
    "same lower": ((2, 3, 8, 9), {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": "SAME_LOWER"}),
    "valid": ((2, 3, 8, 9), {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": "VALID"}),
    "ceil": ((2, 3, 8, 9), {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    "ceil, wide strides": ((1, 2, 5, 6), {"kernel_shape": [2, 2], "strides": [3, 4], "ceil_mode": 1}),
    "ceil, pads": ((1, 2, 7, 6), {"kernel_shape": [3, 3], "strides": [2, 3], "pads": [1, 1, 1, 1], "ceil_mode": 1}),
    "ceil, ends in pads": ((1, 1, 4, 4), {"kernel_shape": [3, 3], "strides": [3, 3], "pads": [1] * 4, "ceil_mode": 1}),
    "dilations": ((2, 3, 9, 9), {"kernel_shape": [2, 3], "dilations": [3, 2], "strides": [2, 1]}),
    "dilations, pads": ((1, 2, 9, 9), {"kernel_shape": [2, 3], "dilations": [2, 2], "pads": [1, 2, 1, 2]}),
    "3-D": ((1, 2, 5, 6, 7), {"kernel_shape": [2, 3, 2], "strides": [2, 1, 2], "pads": [0, 1, 0, 1, 1, 0]}),
    "3-D ceil": ((1, 2, 5, 6, 7), {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2], "ceil_mode": 1}),
}


@pytest.mark.parametrize("case", CASES)
def test_max_pool(case):
    x, attributes = CASES[case]
    check("MaxPool", *sets(x), **attributes)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("order", [0, 1])
def test_max_pool_with_indices(case, order):
    x, attributes = CASES[case]
    check("MaxPool", *sets(x), outputs=2, storage_order=order, **attributes)


def test_max_pool_takes_the_first_of_equals_and_never_a_pad():
    x = RNG.integers(0, 2, (1, 2, 6, 6)).astype(np.float32)
    lowest = np.full((1, 1, 4, 4), -np.inf, np.float32)
    attributes = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}
    check("MaxPool", [x], outputs=2, **attributes)
    model = make_model("MaxPool", [[lowest]], 2, **attributes)
    values, indices = prepare(model).run(lowest)
    assert np.all(values == -np.inf)
    assert indices.tolist() == [[[[0, 1], [4, 5]]]]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("case", ["pads", "ceil", "dilations", "1-D", "3-D"])
def test_max_pool_of_bytes(case, dtype):
    x, attributes = CASES[case]
    info = np.iinfo(dtype)
    check("MaxPool", [RNG.integers(info.min, info.max, x, dtype, endpoint=True)], **attributes)


@pytest.mark.parametrize("case", ["pads", "dilations", "3-D"])
@pytest.mark.parametrize("dtype", [*HALVES, np.float64])
def test_max_pool_of_other_floats(case, dtype):
    x, attributes = CASES[case]
    check_half("MaxPool", dtype, normal(*x), **attributes)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("include", [0, 1])
def test_average_pool(case, include):
    x, attributes = CASES[case]
    check("AveragePool", *sets(x), terms=18, count_include_pad=include, **attributes)


@pytest.mark.parametrize("case", ["pads", "ceil", "dilations", "3-D", "1-D"])
@pytest.mark.parametrize("dtype", [*HALVES, np.float64])
def test_average_pool_of_other_floats(case, dtype):
    x, attributes = CASES[case]
    check_half("AveragePool", dtype, normal(*x), **attributes)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("case", [case for case in CASES if "ceil" not in case])
def test_lp_pool(case, p):
    x, attributes = CASES[case]
    check("LpPool", *sets(x), terms=18, p=p, **attributes)


@pytest.mark.parametrize("case", ["ceil", "ceil, pads", "3-D ceil"])
def test_lp_pool_rounded_up(case):
    x, attributes = CASES[case]
    check("LpPool", *sets(x), terms=18, p=2, **attributes)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("case", CASES)
def test_windows_channels_last(op, case):
    x, attributes = CASES[case]
    if op == "LpPool" and "ceil" in case:
        attributes = {**attributes, "ceil_mode": 0}
    check_channels_last(op, normal(*x), **attributes)


def test_max_pool_with_indices_channels_last():
    x, attributes = CASES["pads"]
    check_channels_last("MaxPool", normal(*x), outputs=2, **attributes)


# ONNX Runtime has no GlobalLpPool, RoiAlign and MaxRoiPool of opset 22, which only widens their dtypes.
GLOBAL = [
    ("GlobalAveragePool", {}),
    ("GlobalMaxPool", {}),
    *(("GlobalLpPool", {"p": p, "opset": 21}) for p in (1, 2, 3)),
]


@pytest.mark.parametrize("op, attributes", GLOBAL)
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3, 4, 5), (2, 3, 4, 5, 2)], ids=str)
def test_global_pools(op, attributes, shape):
    check(op, *sets(shape), terms=64, **attributes)
    check_channels_last(op, normal(*shape), **attributes)


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalMaxPool"])
@pytest.mark.parametrize("dtype", [*HALVES, np.float64])
def test_global_pools_of_other_floats(op, dtype):
    check_half(op, dtype, normal(2, 3, 40, 5))


def test_global_lp_pool_in_half_precision():
    check_half("GlobalLpPool", np.float16, normal(2, 3, 40, 5), opset=21)


def test_max_unpool():
    x = normal(2, 3, 6, 8)
    values, indices = run_ort(make_model("MaxPool", [[x]], 2, kernel_shape=[2, 2], strides=[2, 2]), {"x0": x})
    check_like_input("MaxUnpool", values, indices, kernel_shape=[2, 2], strides=[2, 2])
    check_like_input("MaxUnpool", values, indices, np.array(x.shape), kernel_shape=[2, 2], strides=[2, 2])


def regions(count: int, size: float) -> np.ndarray:
    corners = RNG.random((count, 2)) * size
    return np.concatenate([corners, corners + RNG.random((count, 2)) * size], 1).astype(np.float32)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("pixels", ["half_pixel", "output_half_pixel"])
@pytest.mark.parametrize("ratio", [0, 2])
def test_roi_align(mode, pixels, ratio):
    more = {"output_height": 3, "output_width": 2, "sampling_ratio": ratio, "spatial_scale": 0.5}
    few, many = ([normal(2, 3, 8, 9), regions(n, 12), RNG.integers(0, 2, n)] for n in (1, 5))
    # The reference and ONNX Runtime take the maximum of the weighted neighbours, not of the interpolated points.
    check("RoiAlign", few, many, opset=21, terms=64, mode=mode, coordinate_transformation_mode=pixels, **more)


def test_roi_align_of_nothing():
    none = [normal(1, 2, 4, 4), np.zeros((0, 4), np.float32), np.zeros(0, np.int64)]
    check("RoiAlign", none, opset=21, output_height=2, output_width=2)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_roi_align_of_other_floats(dtype):
    rois = np.array([[0.5, 1, 6.5, 7]], np.float32)
    more = {"output_height": 2, "output_width": 2, "opset": 21}
    check_half("RoiAlign", dtype, normal(1, 2, 8, 8), rois, np.array([0]), terms=16, **more)


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_max_roi_pool(scale):
    rois = np.concatenate([RNG.integers(0, 2, (5, 1)), regions(5, 10).round()], 1).astype(np.float32)
    few, many = [normal(2, 3, 12, 8), rois[:2]], [normal(2, 3, 9, 8), rois]
    check("MaxRoiPool", few, many, opset=21, pooled_shape=[3, 2], spatial_scale=scale)


def test_dropout_outside_of_training():
    check("Dropout", [normal(3, 4)], outputs=2)
    check("Dropout", [normal(3, 4), np.array(0.3, np.float32), np.array(False)], outputs=2)


@pytest.mark.parametrize("flag", ["known", "computed"])
def test_dropout_in_training(flag):
    x = np.ones((100, 200), np.float32)
    arrays = [x, np.array(0.25, np.float32), np.array(True)]
    model = make_model("Dropout", [arrays], 2, constants=(1, 2) if flag == "known" else (1,), seed=3)
    feeds = {"x0": x} if flag == "known" else {"x0": x, "x2": arrays[2]}
    output, mask = prepare(model).run(feeds)
    assert 0.72 < mask.mean() < 0.78
    assert_close(output, np.where(mask, np.float32(1 / 0.75), np.float32(0)), ulps(1))
    if flag == "computed":
        feeds["x2"] = np.array(False)
        output, mask = prepare(model).run(feeds)
        assert mask.all() and np.array_equal(output, x)
