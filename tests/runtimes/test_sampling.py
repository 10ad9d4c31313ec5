"""Places of an image in float64: the same pixels as ONNX's reference, for every mode and border."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.models import model_of
from trueport.reference.onnx.kernels import KERNELS
from trueport.reference.onnx.sampling import deform_conv, grid_sample
from trueport.runtimes.onnxruntime import OnnxRuntimeModel

RNG = np.random.default_rng(0)


def run_reference(op: str, opset: int, inputs: dict[str, np.ndarray], **attributes: object) -> np.ndarray:
    ports = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in inputs.items()
    ]
    made = helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)
    graph = helper.make_graph([helper.make_node(op, list(inputs), ["y"], **attributes)], "g", ports, [made])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return ReferenceEvaluator(model).run(None, inputs)[0]


@pytest.mark.parametrize("lengths", [(5,), (5, 4), (3, 4, 5)], ids=str)
@pytest.mark.parametrize(
    ("mode", "padding_mode", "align_corners"),
    [
        (mode, padding_mode, aligned)
        for mode, padding_mode, aligned in itertools.product(
            ["nearest", "linear", "cubic"], ["zeros", "border", "reflection"], [0, 1]
        )
        # There the reference clamps the coordinate, runtimes each of the four neighbours.
        if (mode, padding_mode) != ("cubic", "border")
    ],
)
def test_as_the_reference(mode: str, padding_mode: str, align_corners: int, lengths: tuple[int, ...]) -> None:
    image = RNG.normal(size=(2, 3, *lengths))
    # Numbers whose places are exact in float32 as well: to that the reference rounds them.
    grid = np.round(RNG.uniform(-2.2, 2.2, size=(2, *[4] * len(lengths), len(lengths))) * 64) / 64
    attributes = {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners}
    want = run_reference("GridSample", 22, {"x": image, "g": grid}, **attributes)
    got = grid_sample(image, grid, **attributes)
    # Thirds and fifths are not exact: what float32 loses of a place, times the image's steps.
    np.testing.assert_allclose(got, want, rtol=0, atol=2.0**-20)


@pytest.mark.parametrize("align_corners", [0, 1])
def test_cubic_with_border_as_onnx_runtime(align_corners: int) -> None:
    image = RNG.normal(size=(2, 3, 5, 4)).astype(np.float32)
    grid = (np.round(RNG.uniform(-2.2, 2.2, size=(2, 4, 4, 2)) * 64) / 64).astype(np.float32)
    attributes: dict[str, Any] = {"mode": "cubic", "padding_mode": "border", "align_corners": align_corners}
    model = model_of(
        [helper.make_node("GridSample", ["x", "g"], ["y"], **attributes)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, a.shape) for name, a in (("x", image), ("g", grid))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    want = OnnxRuntimeModel(model).run({"x": image, "g": grid})["y"]
    # Float32 sums of 16 products of numbers of the size of three.
    np.testing.assert_allclose(grid_sample(image, grid, **attributes), want, rtol=0, atol=2.0**-18)


def test_a_place_that_is_no_number_is_left_to_the_reference() -> None:
    grid = np.full((1, 2, 2, 2), np.nan)
    assert grid_sample(np.ones((1, 1, 3, 3)), grid, align_corners=0, mode="linear", padding_mode="zeros") is None


@pytest.mark.parametrize("groups", [(1, 1), (2, 1), (1, 2), (2, 4)], ids=str)
@pytest.mark.parametrize(
    "places",
    [
        {"pads": [0, 0, 0, 0], "strides": [1, 1], "dilations": [1, 1]},
        {"pads": [1, 0, 1, 2], "strides": [2, 1], "dilations": [1, 2]},
    ],
    ids=["plain", "moved"],
)
def test_a_deformed_convolution_as_the_reference(groups: tuple[int, int], places: dict[str, list[int]]) -> None:
    group, offset_group = groups
    (top, left, bottom, right), (down, across), (tall, wide) = places.values()
    out = (6 + top + bottom - 2 * tall - 1) // down + 1, (7 + left + right - 1 * wide - 1) // across + 1
    taps = offset_group * 3 * 2
    inputs = {
        "X": RNG.normal(size=(2, 4, 6, 7)),
        "W": RNG.normal(size=(6, 4 // group, 3, 2)),
        "offset": np.round(RNG.normal(size=(2, taps * 2, *out)) * 64) / 64,
        "B": RNG.normal(size=6),
        "mask": RNG.uniform(size=(2, taps, *out)),
    }
    attributes = {**places, "group": group, "offset_group": offset_group}
    got = deform_conv(*inputs.values(), **attributes)
    # As above: the reference's places are float32, and every result sums up 24 or 12 of them.
    np.testing.assert_allclose(got, run_reference("DeformConv", 22, inputs, **attributes), rtol=0, atol=2.0**-15)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gathering_from_longer_axes(axis: int) -> None:
    data = RNG.normal(size=(5, 6, 7))
    shape = [3, 4, 5]
    indices = RNG.integers(-data.shape[axis], data.shape[axis], size=shape)
    want = np.empty(shape)
    for at in np.ndindex(*shape):
        place = list(at)
        place[axis] = indices[at]
        want[at] = data[tuple(place)]
    np.testing.assert_array_equal(KERNELS["GatherElements"](data, indices, axis=axis), want)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("auto_pad", ["NOTSET", "SAME_LOWER", "VALID"])
def test_pooling_by_a_norm_as_the_reference(auto_pad: str, p: int) -> None:
    x = RNG.normal(size=(2, 3, 7, 8))
    attributes = {"kernel_shape": [3, 2], "strides": [2, 1], "p": p, "auto_pad": auto_pad}
    attributes |= {"pads": [1, 0, 1, 1]} if auto_pad == "NOTSET" else {}
    got = KERNELS["LpPool"](x, ceil_mode=0, **{"pads": None, "dilations": None, **attributes})
    np.testing.assert_allclose(got, run_reference("LpPool", 22, {"X": x}, **attributes), rtol=1e-13)
