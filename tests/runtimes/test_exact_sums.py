"""Integer sums in ONNX Runtime are exact on every CPU, for every operator that has them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from onnx import TensorProto, numpy_helper

from tests.machines.emulated import integer_product
from trueport.operators.table import facts_of
from trueport.runtimes.exact_sums import has_saturating_sums, with_exact_sums
from trueport.runtimes.onnxruntime import OnnxRuntimeModel

RNG = np.random.default_rng(3)
DATA = RNG.integers(0, 256, (4, 64), dtype=np.uint8)
WEIGHTS = RNG.integers(-128, 128, (64, 8), dtype=np.int8)
PICTURE = RNG.integers(0, 256, (1, 16, 5, 5), dtype=np.uint8)
KERNEL = RNG.integers(-128, 128, (8, 16, 3, 3), dtype=np.int8)
MS = "com.microsoft"
RESULTS = {
    "MatMulInteger": TensorProto.INT32,
    "ConvInteger": TensorProto.INT32,
    "MatMulIntegerToFloat": TensorProto.FLOAT,
}


def model(
    op: str, inputs: list[tuple[str, np.ndarray]], fed: Collection[str], domain: str = "", **attributes: Any
) -> Any:
    """Return a model of one node; all inputs but those that ``fed`` names are constants."""
    node = oh.make_node(op, [name for name, _ in inputs], ["y"], domain=domain, **attributes)
    graph = oh.make_graph(
        [node],
        "sums",
        [
            oh.make_tensor_value_info(n, oh.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in inputs
            if n and n in fed
        ],
        [oh.make_tensor_value_info("y", RESULTS.get(op, TensorProto.UINT8), None)],
        [numpy_helper.from_array(array, name) for name, array in inputs if name not in fed and name],
    )
    opsets = [oh.make_opsetid("", 20), *([oh.make_opsetid(domain, 1)] if domain else [])]
    return oh.make_model(graph, opset_imports=opsets, ir_version=9)


def scale(value: float) -> np.ndarray:
    return np.array(value, np.float32)


def zero(value: int, dtype: Any = np.uint8) -> np.ndarray:
    return np.array(value, dtype)


def centred(array: np.ndarray, zero_point: int) -> np.ndarray:
    return array.astype(np.int64) - zero_point


def quantized(sums: np.ndarray, factor: float, zero_point: int) -> np.ndarray:
    return np.clip(np.rint(sums * factor) + zero_point, 0, 255).astype(np.uint8)


def convolution() -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(centred(PICTURE, 7), (3, 3), axis=(2, 3))
    return np.einsum("nchwij,mcij->nmhw", windows, centred(KERNEL, 0))


SUMS = centred(DATA, 7) @ centred(WEIGHTS, -3)
CASES: dict[str, tuple[Any, np.ndarray, np.ndarray]] = {
    "MatMulInteger": (
        model("MatMulInteger", [("a", DATA), ("w", WEIGHTS), ("p", zero(7)), ("q", zero(-3, np.int8))], ["a"]),
        DATA,
        SUMS.astype(np.int32),
    ),
    "MatMulInteger, fed": (
        model("MatMulInteger", [("a", DATA), ("w", WEIGHTS)], ["a", "w"]),
        DATA,
        (DATA.astype(np.int64) @ WEIGHTS).astype(np.int32),
    ),
    "ConvInteger": (
        model("ConvInteger", [("a", PICTURE), ("w", KERNEL), ("p", zero(7))], ["a"]),
        PICTURE,
        convolution().astype(np.int32),
    ),
    "QLinearMatMul": (
        model(
            "QLinearMatMul",
            [
                *[("a", DATA), ("s", scale(0.5)), ("p", zero(7))],
                *[("w", WEIGHTS), ("t", scale(0.25)), ("q", zero(-3, np.int8))],
                *[("u", scale(64)), ("r", zero(120))],
            ],
            ["a"],
        ),
        DATA,
        quantized(SUMS, 0.125 / 64, 120),
    ),
    "QLinearConv": (
        model(
            "QLinearConv",
            [
                *[("a", PICTURE), ("s", scale(0.5)), ("p", zero(7))],
                *[("w", KERNEL), ("t", scale(0.25)), ("q", zero(0, np.int8))],
                *[("u", scale(64)), ("r", zero(120))],
            ],
            ["a"],
        ),
        PICTURE,
        quantized(convolution(), 0.125 / 64, 120),
    ),
    "MatMulIntegerToFloat": (
        model(
            "MatMulIntegerToFloat",
            [
                *[("a", DATA), ("w", WEIGHTS), ("s", scale(0.5)), ("t", scale(0.25))],
                *[("p", zero(7)), ("q", zero(-3, np.int8))],
            ],
            ["a"],
            MS,
        ),
        DATA,
        (SUMS * 0.125).astype(np.float32),
    ),
    "QGemm": (
        model(
            "QGemm",
            [
                *[("a", DATA), ("s", scale(0.5)), ("p", zero(7))],
                *[("w", WEIGHTS), ("t", scale(0.25)), ("q", zero(-3, np.int8))],
                *[("", zero(0)), ("u", scale(64)), ("r", zero(120))],
            ],
            ["a"],
            MS,
        ),
        DATA,
        quantized(SUMS, 0.125 / 64, 120),
    ),
}


@pytest.mark.parametrize("level", ["none", "all"])
@pytest.mark.parametrize("case", CASES)
def test_sums_are_those_of_int64(case: str, level: Any) -> None:
    made, data, want = CASES[case]
    feeds = {"a": data} if "fed" not in case else {"a": data, "w": WEIGHTS}
    got = OnnxRuntimeModel(made, level=level).run(feeds)["y"]
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("case", CASES)
def test_weights_that_meet_uint8_become_uint8(case: str) -> None:
    """The node keeps its operator; no weight of it is int8 any more."""
    made = with_exact_sums(CASES[case][0])
    (node,) = (n for n in made.graph.node if facts_of(n).integer_sum)
    types = {tensor.name: tensor.data_type for tensor in made.graph.initializer}
    summed = facts_of(node).integer_sum
    assert summed is not None
    for weight, zero_point in summed.weights:
        assert types.get(node.input[zero_point]) == TensorProto.UINT8
        assert node.input[weight].endswith("#unsigned")


def test_signed_data_is_left_alone() -> None:
    signed = model("MatMulInteger", [("a", DATA.view(np.int8)), ("w", WEIGHTS)], ["a"])
    assert not has_saturating_sums(signed)
    assert with_exact_sums(signed) is signed


def test_dequantized_products_are_counted_as_sums() -> None:
    """The optimizer makes integer kernels of them."""
    text = """<ir_version: 9, opset_import: ["" : 20]>
    g (uint8[4,64] a) => (float[4,8] y) <float s = {0.5}, uint8 p = {7}> {
      d = DequantizeLinear(a, s, p)
      e = DequantizeLinear(w, s)
      y = MatMul(d, e)
    }"""
    made = onnx.parser.parse_model(text)
    made.graph.initializer.append(numpy_helper.from_array(WEIGHTS, "w"))
    assert has_saturating_sums(made)
    want = (centred(DATA, 7) @ WEIGHTS.astype(np.int64) * 0.25).astype(np.float32)
    np.testing.assert_array_equal(OnnxRuntimeModel(made, level="all").run({"a": DATA})["y"], want)


def test_a_model_as_run_here_is_told_only_where_it_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trueport.runtimes.onnxruntime.saturates_here", lambda: False)
    assert OnnxRuntimeModel(integer_product()).as_run_here() is None
    monkeypatch.setattr("trueport.runtimes.onnxruntime.saturates_here", lambda: True)
    assert OnnxRuntimeModel(integer_product()).as_run_here() is not None
    assert OnnxRuntimeModel(integer_product(), exact_sums=False).as_run_here() is None
