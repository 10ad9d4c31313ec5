"""Resize and Upsample of ONNX, in TensorFlow and in the float64 reference, compared with the specification's formulas.

The formulas are computed by tests/families/resize_formula.py. A coordinate of mode nearest that lies at a tie, nearer
than 1e-5 to a boundary of rounding, is decided by float32: ONNX Runtime's choice is expected where it takes one of the
two neighbors, and either neighbor where it lacks the case or uses another formula (docs/specification-notes.md).
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import trueport
from tests.cells import grid
from tests.families.resize_formula import Formula, formula
from trueport.backend import prepare
from trueport.backends.tensorflow.registry import registry
from trueport.fidelity import Verdict
from trueport.frontends.onnx.load import load_onnx
from trueport.reference.onnx.oracle import OnnxOracle

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
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
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


def session(made: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(made.SerializeToString(), options)


def onnx_runtime(made: onnx.ModelProto, x: np.ndarray) -> np.ndarray | None:
    """What ONNX Runtime gives, or None where it lacks the case."""
    with contextlib.suppress(Exception):  # of several types
        result: np.ndarray = session(made).run(None, {"x": x})[0]
        return result
    return None


def by_formula(attributes: Attributes, how: tuple[str, list[float]], x: np.ndarray) -> Formula:
    kind, values = how
    scales, sizes = (values, None) if kind == "scales" else (None, [int(size) for size in values])
    roi = attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    return formula(x, scales, sizes, [float(v) for v in ROI[[2, 3, 6, 7]]] if roi else None, **attributes)


def fault(got: np.ndarray, want: Formula, runtime: np.ndarray | None, bound: float) -> str | None:
    """How ``got`` differs; at ties of mode nearest it must be ONNX Runtime's if that is one of the neighbors."""
    if got.shape != want.exact.shape:
        return f"expected shape {want.exact.shape}, got {got.shape}"
    allowed = np.stack([want.exact, *want.ties])
    if want.ties and runtime is not None and runtime.shape == got.shape:
        allowed = np.where((runtime == allowed).any(0), runtime, allowed)
    off = np.abs(got - allowed).min(0)
    return f"off by {off.max()} at {np.argwhere(off > bound)[:3].tolist()}" if off.max(initial=0) > bound else None


def cases(attributes: Attributes, hows: Hows) -> Iterator[tuple[str, tuple[str, list[float]], np.ndarray]]:
    for (name, how), shape in itertools.product(hows.items(), SHAPES):
        x = np.random.default_rng(shape).normal(size=shape).astype(np.float32) * 3
        yield f"{name} at {shape}", how, x


def wrong(op: str, opset: int, attributes: Attributes, hows: Hows) -> list[str]:
    """The cases in which TensorFlow gives something else."""
    faults = []
    defaults = {} if opset > 10 else {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    for name, how, x in cases(attributes, hows):
        made = model(op, opset, attributes, how, x.shape)
        got = prepare(made).run([x])[0]
        bound = 4 * float(np.abs(x).max()) * float(np.finfo(np.float32).eps) * (8 + 4 * max(x.shape))
        bound = 0 if attributes["mode"] == "nearest" else bound
        why = fault(got, by_formula({**defaults, **attributes}, how, x), onnx_runtime(made, x), bound)
        faults += [f"{name}: {why}"] if why else []
    return faults


def wrong_reference(attributes: Attributes, hows: Hows) -> list[str]:
    """The cases in which the float64 reference of an ONNX source gives something else."""
    faults = []
    for name, how, x in cases(attributes, hows):
        made = model("Resize", 19, attributes, how, x.shape)
        (got,) = OnnxOracle(load_onnx(made), registry()).exact.run({"x": x}).values()
        bound = 0 if attributes["mode"] == "nearest" else 64 * float(np.abs(x).max()) * float(np.finfo(np.float64).eps)
        why = fault(got, by_formula(attributes, how, x), onnx_runtime(made, x), bound)
        faults += [f"{name}: {why}"] if why else []
    return faults


def cells() -> dict[str, Attributes]:
    found: dict[str, Attributes] = {}
    for transform in TRANSFORMS:
        where = {"coordinate_transformation_mode": transform}
        for rounding in ROUNDINGS:
            found[f"nearest {rounding} {transform}"] = {"mode": "nearest", "nearest_mode": rounding, **where}
        for outside, smooth in itertools.product((0, 1), (0, 1) if transform != "tf_crop_and_resize" else (0,)):
            label = f"{transform}{' excluded' if outside else ''}{' smooth' if smooth else ''}"
            options = {"exclude_outside": outside, "antialias": smooth, **where}
            found[f"linear {label}"] = {"mode": "linear", **options}
            found[f"cubic {label}"] = {"mode": "cubic", "cubic_coeff_a": (-0.75, -0.5)[outside], **options}
    for policy, mode in itertools.product(("not_larger", "not_smaller"), ("nearest", "linear")):
        found[f"{mode} {policy}"] = {"mode": mode, "keep_aspect_ratio_policy": policy, "axes": [2, 3]}
    return found


def hows(cell: Attributes) -> Hows:
    return {name: how for name, how in HOWS.items() if "axes" not in cell or how[0] == "sizes"}


@grid(cells(), quick=2)
def test_resize(cell: Attributes) -> None:
    assert not wrong("Resize", 19, cell, hows(cell))


@pytest.mark.parametrize("known", [True, False])
def test_ties(known: bool) -> None:
    """Ties, and a scale whose product is less than 2: as ONNX Runtime, with lengths that are known or dynamic."""
    x = np.arange(23 * 5, dtype=np.float32).reshape(1, 1, 23, 5)
    hows = {"a": [1.2, 0.6], "b": [1.4, 0.3], "c": [0.7, 2.4], "d": [3, 3]}
    nodes = [
        helper.make_node(
            "Resize", ["x", "", name], [f"{name}{i}"], coordinate_transformation_mode=transform, nearest_mode=rounding
        )
        for i, (transform, rounding) in enumerate(itertools.product(TRANSFORMS[:3] + TRANSFORMS[4:5], ROUNDINGS))
        for name in hows
    ]
    arrays = [numpy_helper.from_array(np.array([1, 1, *how], np.float32), name) for name, how in hows.items()]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape if known else [1, 1, None, None])
    outputs = [helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, [None] * 4) for node in nodes]
    graph = helper.make_graph(nodes, "g", [given], outputs, arrays)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=8)
    results = prepare(made).run([x])
    wanted = session(made).run(None, {"x": x})
    names = [f"{node.output[0]}: {node.attribute}" for node in nodes]
    assert not [name for name, a, b in zip(names, results, wanted, strict=True) if not np.array_equal(a, b)]


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_float64_reference(mode: str) -> None:
    """All cells; no TensorFlow, so that it is fast."""
    chosen = {name: cell for name, cell in cells().items() if cell["mode"] == mode}
    assert not [f"{name}, {why}" for name, cell in chosen.items() for why in wrong_reference(cell, hows(cell))]


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
