"""Sums of terms that are all alike, added from one end: faithful whatever order this machine's kernels add in."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
import tensorflow as tf
import torch

import trueport
from trueport.fidelity import Verdict
from trueport.reference.sums import Sums, largest_sum_error

HEAD = '<ir_version: 10, opset_import: ["" : 21]> g '
LENGTH = 3000
WEIGHT = np.full((LENGTH, 10), 0.7137, np.float32)
"""no partial sum of such a weight is exact"""
ALIKE = "h = Tile (x, repeats) "
ENDS = {"numbers": "y = Neg (s)", "logits": "l = Mul (s, hundred) y = Softmax <axis=-1> (l)"}
PRODUCTS = {
    "MatMul": "s = MatMul (h, w)",
    "Gemm": "s = Gemm (h, w)",
    "Conv": "i = Reshape (h, image) c = Conv (i, k) s = Flatten (c)",
    "ReduceSum": "u = Unsqueeze (h, last_axis) t = Mul (u, w) s = ReduceSum <keepdims=0> (t, axis)",
}
IN_ORDER = (
    "u = Unsqueeze (h, last_axis) t = Mul (u, w) a = CumSum (t, axis) o = Gather <axis=1> (a, last) "
    "m = ReduceSum <keepdims=0> (t, axis) s = Where (is_tail, o, m) "
)
"""some columns in order, as kernels treat those that do not fill a vector"""
CONSTANTS = {
    "w": WEIGHT,
    "k": np.ascontiguousarray(WEIGHT.T.reshape(10, LENGTH // 4, 2, 2)),
    "is_tail": np.arange(10) > 6,
    "hundred": np.float32(100),
    "repeats": np.array([1, LENGTH]),
    "image": np.array([-1, LENGTH // 4, 2, 2]),
    "last_axis": np.array([-1]),
    "axis": np.array([1]),
    "last": np.array(LENGTH - 1),
}


def model_of(sums: str, end: str, times: float = 1.0) -> onnx.ModelProto:
    model = onnx.parser.parse_model(f"{HEAD}(float[N, 1] x) => (float[N, 10] y) {{ {ALIKE} {sums} {ENDS[end]} }}")
    used = {name for node in model.graph.node for name in node.input}
    for name in used & set(CONSTANTS):
        array = CONSTANTS[name] * np.float32(times) if name == "w" else CONSTANTS[name]
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return model


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("product", PRODUCTS)
def test_terms_that_are_alike_in_another_order_are_no_alarm(product: str, end: str) -> None:
    found = trueport.verify(model_of(PRODUCTS[product], end), model_of(IN_ORDER, end))
    assert found.verdict == Verdict.FAITHFUL, str(found)


def test_nor_are_they_after_tensorflow_and_pytorch() -> None:
    def product(x: Any) -> Any:
        return tf.negative(tf.matmul(tf.tile(x, [1, LENGTH]), WEIGHT))

    class Product(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.from_numpy(WEIGHT))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return -torch.matmul(x.repeat(1, LENGTH), self.weight)

    model = model_of(IN_ORDER, "numbers")
    by_tensorflow = tf.function(product, input_signature=[tf.TensorSpec([None, 1], name="x")])
    assert trueport.verify(by_tensorflow, model, allow="names").verdict == Verdict.FAITHFUL
    found = trueport.verify(Product(), model, example_inputs=(torch.ones(3, 1),), allow="names")
    assert found.verdict == Verdict.FAITHFUL, str(found)


def test_a_wrong_weight_behind_such_sums_is_seen() -> None:
    found = trueport.verify(model_of(PRODUCTS["MatMul"], "numbers"), model_of(IN_ORDER, "numbers", 1.01))
    assert found.verdict == Verdict.DEPARTS


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_ordinary_terms_err_within_the_declared_bound(scale: float) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(64, 2048)) * scale, rng.normal(size=(2048, 64))
    assert largest_sum_error(Sums.PRODUCT, [a, b], a @ b) < 4
    x, w = rng.normal(size=(2, 64, 14, 14)) * scale, rng.normal(size=(8, 64, 3, 3))
    assert largest_sum_error(Sums.WINDOWS, [x, w], np.zeros((2, 8, 12, 12))) < 4


@pytest.mark.parametrize("shape, result", [((4, 3000), (4,)), ((4, 3000), (4, 1)), ((3000, 4), (4,)), ((50, 60), ())])
def test_terms_along_the_axes_that_are_summed(shape: tuple[int, ...], result: tuple[int, ...]) -> None:
    x = np.full(shape, 0.7137)
    assert largest_sum_error(Sums.AXES, [x], np.zeros(result)) > 20


def test_layouts_have_the_same_terms() -> None:
    x, w = np.full((2, 300, 5, 5), 0.7137), np.full((8, 300, 3, 3), 1.137)
    first = largest_sum_error(Sums.WINDOWS, [x, w], np.zeros((2, 8, 3, 3)))
    moved = [np.moveaxis(x, 1, -1), w.transpose(2, 3, 1, 0)]
    assert first == largest_sum_error(Sums.WINDOWS_LAST, moved, np.zeros((2, 3, 3, 8))) > 20
    assert largest_sum_error(Sums.WINDOWS, [np.zeros((0, 4, 5, 5)), w], np.zeros((0, 8, 3, 3))) == 0
