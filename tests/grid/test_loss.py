"""Losses and optimizers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx.helper as oh
import onnx.parser
import pytest

from tests.grid.harness import check
from trueport.backend import prepare

TRAINING = "ai.onnx.preview.training"


def normal(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape).astype(dtype)


def classes(high: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(shape).integers(0, high, shape)


@pytest.mark.parametrize("op", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ignored", [None, 1, -7])
def test_losses(op: str, reduction: str, weighted: bool, ignored: int | None) -> None:
    def inputs(*shape: int) -> list[np.ndarray | None]:
        target = classes(shape[1], shape[0], *shape[2:])
        if ignored is not None:
            target.flat[::3] = ignored
        return [normal(*shape), target, np.abs(normal(shape[1])) if weighted else None]

    attributes = {"reduction": reduction} | ({} if ignored is None else {"ignore_index": ignored})
    opset = 13 if op.startswith("Soft") else 22
    for sets in ([inputs(6, 5), inputs(3, 4)], [inputs(2, 5, 3), inputs(1, 4, 2)], [inputs(2, 3, 4, 2)]):
        check(op, *sets, versus="float64", terms=24, opset=opset, **attributes)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_dtypes(dtype: Any) -> None:
    inputs = [normal(4, 5, 2, dtype=dtype), classes(5, 4, 2).astype(np.int32)]
    check("SoftmaxCrossEntropyLoss", inputs, outputs=2, versus="reference", terms=8, opset=13)
    check("NegativeLogLikelihoodLoss", inputs, versus="reference", terms=8, opset=22)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("updates", [0, 3])
@pytest.mark.parametrize(
    ("op", "kinds", "attributes"),
    [
        ("Adagrad", 3, {"norm_coefficient": 0.01, "decay_factor": 0.1, "epsilon": 1e-4}),
        ("Adam", 4, {"norm_coefficient": 0.01, "norm_coefficient_post": 0.02, "alpha": 0.8, "beta": 0.9}),
        ("Momentum", 3, {"norm_coefficient": 0.01, "alpha": 0.9, "beta": 0.7, "mode": "standard"}),
        ("Momentum", 3, {"norm_coefficient": 0.01, "alpha": 0.9, "beta": 0.7, "mode": "nesterov"}),
    ],
)
def test_optimizers(op: str, kinds: int, attributes: dict[str, Any], updates: int, count: int) -> None:
    tensors = [np.abs(normal(3, 2 + i % count, k + 1)[..., 0]) for k in range(kinds) for i in range(count)]
    inputs = [np.array(0.1, np.float32), np.array(updates, np.int64), *tensors]
    check(op, inputs, outputs=count * (kinds - 1), domain=TRAINING, versus="reference", terms=4, **attributes)


def gradient_model(given: list[str], **attributes: Any) -> Any:
    """y = (a·b)², with Gradient nodes behind it."""
    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["": 22, "ai.onnx.preview.training": 1]>
        g (float[2] a, float[2] b, float[2] c) => (float[2] y, float[2] da, float[2] dda)
        { h = Mul(a, b)  y = Mul(h, h) }""")
    node = oh.make_node("Gradient", given, ["da"], domain=TRAINING, y="y", **attributes)
    second = oh.make_node("Gradient", given, ["dda"], domain=TRAINING, y="da", **attributes)
    model.graph.node.extend([node, second])
    return model


def test_gradient_at_the_values_of_the_graph() -> None:
    a, b, c = (np.array(x, np.float32) for x in ([2, 3], [4, 5], [6, 7]))
    y, first, second = prepare(gradient_model(["a", "b"], xs=["a"], zs=["b"])).run([a, b, c])
    np.testing.assert_array_equal(y, (a * b) ** 2)
    np.testing.assert_array_equal(first, 2 * a * b**2)
    np.testing.assert_array_equal(second, 2 * b**2)


def test_gradient_at_other_values() -> None:
    a, b, c = (np.array(x, np.float32) for x in ([2, 3], [4, 5], [6, 7]))
    _, first, second = prepare(gradient_model(["c", "c"], xs=["a"], zs=["b"])).run([a, b, c])
    np.testing.assert_array_equal(first, 2 * c**3)
    # What the first node was given are not the values of a and b: it does not depend on them.
    np.testing.assert_array_equal(second, 0 * c)
