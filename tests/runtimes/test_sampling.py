"""Places of an image in float64: the same pixels as ONNX's reference, for every mode and border."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from trueport.runtimes.wide.sampling import grid_sample

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("lengths", [(5,), (5, 4), (3, 4, 5)], ids=str)
@pytest.mark.parametrize(
    ("mode", "padding_mode", "align_corners"),
    itertools.product(["nearest", "linear", "cubic"], ["zeros", "border", "reflection"], [0, 1]),
)
def test_as_the_reference(mode: str, padding_mode: str, align_corners: int, lengths: tuple[int, ...]) -> None:
    image = RNG.normal(size=(2, 3, *lengths))
    # Numbers whose places are exact in float32 as well: to that the reference rounds them.
    grid = np.round(RNG.uniform(-2.2, 2.2, size=(2, *[4] * len(lengths), len(lengths))) * 64) / 64
    attributes = {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners}
    ports = [helper.make_tensor_value_info(n, TensorProto.DOUBLE, a.shape) for n, a in (("x", image), ("g", grid))]
    made = helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)
    graph = helper.make_graph([helper.make_node("GridSample", ["x", "g"], ["y"], **attributes)], "g", ports, [made])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])
    (want,) = ReferenceEvaluator(model).run(None, {"x": image, "g": grid})
    got = grid_sample(image, grid, **attributes)
    # Thirds and fifths are not exact: what float32 loses of a place, times the image's steps.
    np.testing.assert_allclose(got, want, rtol=0, atol=2.0**-20)


def test_a_place_that_is_no_number_is_left_to_the_reference() -> None:
    grid = np.full((1, 2, 2, 2), np.nan)
    assert grid_sample(np.ones((1, 1, 3, 3)), grid, align_corners=0, mode="linear", padding_mode="zeros") is None
