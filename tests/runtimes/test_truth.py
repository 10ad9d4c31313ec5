"""The truth of operators at every number of axes: as ONNX Runtime has it, up to float32.

ONNX's reference, which gives most of it, is tried by its suite on pictures, seldom on sounds and volumes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from trueport.backends.tensorflow.registry import registry
from trueport.frontends.onnx.load import load_onnx
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.runtimes.onnxruntime import OnnxRuntimeModel

RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


Call = tuple[str, list[np.ndarray | None], dict[str, Any]]


def calls(r: int) -> dict[str, Call]:
    """Operators on ``[2, 4, …]`` with ``r`` more axes: what is stored, and attributes."""
    sizes = [6, 7, 5][:r]
    two, three = [2] * r, [3] * r
    affine: list[np.ndarray | None] = [normal(4), normal(4)]
    places = RNG.integers(-4, 4, size=(2, 3, *sizes))
    return {
        "GlobalMaxPool": ("GlobalMaxPool", [], {}),
        "GlobalAveragePool": ("GlobalAveragePool", [], {}),
        "GlobalLpPool": ("GlobalLpPool", [], {"p": 2}),
        "MaxPool": ("MaxPool", [], {"kernel_shape": two, "strides": two, "pads": [1] * 2 * r}),
        "MaxPool, up": ("MaxPool", [], {"kernel_shape": two, "strides": two, "ceil_mode": 1}),
        "AveragePool": ("AveragePool", [], {"kernel_shape": two, "strides": two, "pads": [1] * 2 * r}),
        "AveragePool, same": ("AveragePool", [], {"kernel_shape": three, "strides": two, "auto_pad": "SAME_UPPER"}),
        "LpPool": ("LpPool", [], {"kernel_shape": two, "strides": two, "p": 2}),
        "Conv": ("Conv", [normal(4, 2, *three), normal(4)], {"group": 2, "strides": two}),
        "Conv, same": ("Conv", [normal(4, 4, *two)], {"auto_pad": "SAME_LOWER", "strides": two}),
        "ConvTranspose": ("ConvTranspose", [normal(4, 3, *three)], {"strides": two, "group": 2}),
        "InstanceNormalization": ("InstanceNormalization", affine, {}),
        "GroupNormalization": ("GroupNormalization", affine, {"num_groups": 2}),
        "BatchNormalization": ("BatchNormalization", [*affine, normal(4), np.abs(normal(4)) + 1], {}),
        "LayerNormalization": ("LayerNormalization", [normal(4, *sizes)], {"axis": 1}),
        "LpNormalization, 1": ("LpNormalization", [], {"axis": 1, "p": 1}),
        "LpNormalization, 2": ("LpNormalization", [], {"axis": 1, "p": 2}),
        "Resize": ("Resize", [None, None, np.array([2, 4, *[9] * r])], {"mode": "linear"}),
        "Pad": ("Pad", [np.array([0, 0, *[1] * r] * 2)], {"mode": "reflect"}),
        "GatherElements": ("GatherElements", [places], {"axis": 1}),
        "ScatterElements": ("ScatterElements", [places, normal(2, 3, *sizes)], {"axis": 1, "reduction": "add"}),
        "ReduceLogSumExp": ("ReduceLogSumExp", [np.array([1, 2])], {}),
        "CumSum": ("CumSum", [np.array(1)], {"exclusive": 1, "reverse": 1}),
        **({"LRN": ("LRN", [], {"size": 3}), "LRN, wide": ("LRN", [], {"size": 5})} if r == 2 else {}),
    }


@pytest.mark.parametrize(("rank", "name"), [(rank, name) for rank in (1, 2, 3) for name in calls(rank)])
def test_as_onnx_runtime(rank: int, name: str) -> None:
    op, stored, attributes = calls(rank)[name]
    x = normal(2, 4, *[6, 7, 5][:rank])
    names = ["" if array is None else f"c{index}" for index, array in enumerate(stored)]
    node = helper.make_node(op, ["x", *names], ["y"], **attributes)
    constants = [onnx.numpy_helper.from_array(a, n) for a, n in zip(stored, names, strict=True) if a is not None]
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)]
    made = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph([node], "g", ports, made, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    (want,) = OnnxRuntimeModel(model, optimize=False).run({"x": x}).values()
    (got,) = OnnxOracle(load_onnx(model), registry()).exact.run({"x": x}).values()
    assert got.dtype == np.float64
    # A hundred units of the last place of the largest: sums of up to 500 products.
    np.testing.assert_allclose(got, want, rtol=0, atol=100 * 2.0**-23 * float(np.max(np.abs(want))))


@pytest.mark.parametrize(("length", "size", "rounding"), [(13, 7, "floor"), (7, 31, "ceil"), (7, 31, "floor")])
def test_a_resize_to_sizes_aligns_corners_exactly(length: int, size: int, rounding: str) -> None:
    """The size is not the rounded product of length and scale, which may be the next float."""
    attributes = f'mode="nearest", nearest_mode="{rounding}", coordinate_transformation_mode="align_corners"'
    text = (
        f"(float[{length}] x) => (float[{size}] y) <int64[1] s = {{{size}}}> {{ y = Resize<{attributes}>(x, , , s) }}"
    )
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> g {text}')
    x = np.arange(length, dtype=np.float32)
    (want,) = OnnxRuntimeModel(model, optimize=False).run({"x": x}).values()
    (got,) = OnnxOracle(load_onnx(model)).exact.run({"x": x}).values()
    np.testing.assert_array_equal(got, want)
