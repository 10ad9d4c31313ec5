"""Resize and Upsample of ONNX to TensorFlow, compared with ONNX Runtime and ONNX's reference.

A cell is one model with many nodes. Where the two disagree, docs/specification-notes.md says who is followed: lengths
with a fraction and smoothing are the reference's, ties and symmetric halves ONNX Runtime's.
"""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import trueport
from tests.cells import grid
from trueport.backend import prepare
from trueport.fidelity import Verdict

Attributes = dict[str, Any]
Hows = dict[str, tuple[str, list[float]]]
TRANSFORMS = [
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
]
HOWS: Hows = {
    "1.5": ("scales", [1.5, 1.5]),
    "0.7": ("scales", [0.7, 0.7]),
    "1.2,2.3": ("scales", [1.2, 2.3]),
    "2": ("scales", [2.0, 2.0]),
    "5,13": ("sizes", [5, 13]),
    "1,1": ("sizes", [1, 1]),
}
ROI = np.array([0, 0, 0.13, -0.21, 1, 1, 0.87, 1.27], np.float32)
SHAPES = [(2, 3, 7, 9), (2, 3, 10, 13), (2, 3, 23, 5)]


def model(op: str, opset: int, attributes: Attributes, how: tuple[str, list[float]], shape: Any) -> onnx.ModelProto:
    """One node; ``axes`` are the last two where the attributes say so."""
    kind, values = how
    given = values if "axes" in attributes else [1, 1, *values] if kind == "scales" else [*shape[:2], *values]
    roi = attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    arrays = [
        numpy_helper.from_array(ROI if "axes" not in attributes else ROI[[2, 3, 6, 7]], "roi"),
        numpy_helper.from_array(np.array(given, np.float32 if kind == "scales" else np.int64), kind),
    ]
    names = {"scales": ["scales"], "sizes": ["", "sizes"]}[kind]
    inputs = ["x", *names] if opset < 11 else ["x", "roi" if roi else "", *names]
    node = helper.make_node(op, inputs, ["y"], **attributes)
    dims = [None if len(set(sizes)) > 1 else sizes[0] for sizes in zip(shape, *SHAPES, strict=True)]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * len(shape))
    graph = helper.make_graph([node], "g", [x], [y], arrays if roi else arrays[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def expected(made: onnx.ModelProto, x: np.ndarray) -> list[np.ndarray]:
    """What ONNX Runtime gives, where it has the case, and what ONNX's reference gives."""
    found = []
    with contextlib.suppress(Exception):  # of several types, where ONNX Runtime lacks the case
        found += onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"x": x})
    return [*found, *ReferenceEvaluator(made).run(None, {"x": x})]


def wrong(op: str, opset: int, attributes: Attributes, hows: Hows) -> list[str]:
    found = []
    for (name, how), shape in itertools.product(hows.items(), SHAPES):
        made = model(op, opset, attributes, how, shape)
        x = np.random.default_rng(shape).normal(size=shape).astype(np.float32) * 3
        got = prepare(made).run([x])[0]
        offs = [np.abs(got - want).max() if want.shape == got.shape else np.inf for want in expected(made, x)]
        bound = 4 * float(np.abs(x).max()) * float(np.finfo(np.float32).eps) * (8 + 4 * max(shape))
        if min(offs) > (0 if attributes["mode"] == "nearest" else bound):
            found.append(f"{name} at {shape}: off by {offs}")
    return found


def cells() -> dict[str, Attributes]:
    found: dict[str, Attributes] = {}
    for transform in TRANSFORMS:
        where = {"coordinate_transformation_mode": transform}
        for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
            found[f"nearest {rounding} {transform}"] = {"mode": "nearest", "nearest_mode": rounding, **where}
        for outside, smooth in itertools.product((0, 1), (0, 1) if transform != "tf_crop_and_resize" else (0,)):
            label = f"{transform}{' excluded' if outside else ''}{' smooth' if smooth else ''}"
            options = {"exclude_outside": outside, "antialias": smooth, **where}
            found[f"linear {label}"] = {"mode": "linear", **options}
            found[f"cubic {label}"] = {"mode": "cubic", "cubic_coeff_a": (-0.75, -0.5)[outside], **options}
    for policy, mode in itertools.product(("not_larger", "not_smaller"), ("nearest", "linear")):
        found[f"{mode} {policy}"] = {"mode": mode, "keep_aspect_ratio_policy": policy, "axes": [2, 3]}
    return found


@grid(cells(), quick=2)
def test_resize(cell: Attributes) -> None:
    hows = {name: how for name, how in HOWS.items() if "axes" not in cell or how[0] == "sizes"}
    assert not wrong("Resize", 19, cell, hows)


@pytest.mark.parametrize("opset", [9, 10])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_old_opsets(mode: str, opset: int) -> None:
    up = {name: how for name, how in HOWS.items() if how[0] == "scales" and min(how[1]) >= 1}
    assert not wrong("Upsample" if opset == 9 else "Resize", opset, {"mode": mode}, up)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_sizes_of_aligned_corners_are_faithful(mode: str) -> None:
    attributes = {"mode": mode, "coordinate_transformation_mode": "align_corners"}
    made = model("Resize", 19, attributes, HOWS["5,13"], SHAPES[0])
    assert trueport.convert(made, to="tensorflow").report.verdict == Verdict.FAITHFUL
