"""Noise of products by what differs in them: as large as that of products evaluated anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import trueport.reference.onnx.evaluate as evaluate
from trueport.frontends.onnx.load import load_onnx
from trueport.mapping.registry import RECORDS
from trueport.reference.base import Truth
from trueport.reference.noise import RoundingNoise
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.reference.onnx.windows import average_pool, max_pool, windows_of

HEAD = '<ir_version: 10, opset_import: ["" : 21]> g '
MODELS = {
    "Conv": "(float[2,4,8,8] x) => (float[2,6,8,8] y) { h = Tanh (x) y = Conv <pads=[1,1,1,1]> (h, w, b) }",
    "depthwise": "(float[2,4,8,8] x) => (float[2,4,8,8] y) { h = Tanh (x) y = Conv <group=4, pads=[1,1,1,1]> (h, w) }",
    "ConvTranspose": "(float[2,4,8,8] x) => (float[2,6,10,10] y) { h = Tanh (x) y = ConvTranspose (h, w) }",
    "Gemm": "(float[16,8] x) => (float[16,24] y) { h = Tanh (x) y = Gemm <alpha=0.5, transB=1> (h, w, b) }",
    "MatMul": "(float[4,16,8] x) => (float[4,16,24] y) { h = Tanh (x) y = MatMul (h, w) }",
    "both": "(float[4,16,16] x) => (float[4,16,16] y) { h = Tanh (x) s = Sin (x) y = MatMul (h, s) }",
    "right": "(float[4,16,16] x) => (float[4,16,16] y) { s = Sin (x) y = MatMul (w, s) }",
}
WEIGHTS: dict[str, tuple[tuple[int, ...], ...]] = {
    "Conv": ((6, 4, 3, 3), (6,)),
    "depthwise": ((4, 1, 3, 3),),
    "ConvTranspose": ((4, 6, 3, 3),),
    "Gemm": ((24, 8), (24,)),
    "MatMul": ((8, 24),),
    "both": (),
    "right": ((16, 16),),
}


def model_of(name: str) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    model = onnx.parser.parse_model(HEAD + MODELS[name])
    rng = np.random.default_rng(0)
    for letter, shape in zip("wb", WEIGHTS[name], strict=False):
        array = rng.normal(size=shape).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, letter))
    sizes = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    return model, {"x": rng.normal(size=sizes).astype(np.float32)}


def run(name: str) -> Truth:
    model, feeds = model_of(name)
    return OnnxOracle(load_onnx(model), RECORDS).run(feeds)


@pytest.mark.parametrize("name", MODELS)
def test_products_are_as_noisy_as_if_evaluated_anew(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[bool] = []

    def spied(*arguments: Any) -> Any:
        found = original(*arguments)
        used.append(found is not None)
        return found

    original = evaluate.product_differences
    monkeypatch.setattr(evaluate, "product_differences", spied)
    truth, quick = run(name)
    assert used[-1]
    monkeypatch.setattr(evaluate, "product_differences", lambda *_: None)
    monkeypatch.setattr(evaluate, "narrow_sizes", lambda *_: None)
    same, anew = run(name)
    np.testing.assert_array_equal(truth["y"], same["y"])
    sizes = [np.sqrt(np.mean([(one["y"] - truth["y"]) ** 2 for one in runs])) for runs in (quick, anew)]
    assert 0.9 < sizes[0] / sizes[1] < 1.1
    assert not np.array_equal(quick[0]["y"], quick[1]["y"])


def test_what_is_not_finite_is_evaluated_anew() -> None:
    model, feeds = model_of("Gemm")
    feeds["x"][0, 0] = np.nan
    truth, noisy = OnnxOracle(load_onnx(model), RECORDS).run(feeds)
    for one in noisy:
        np.testing.assert_array_equal(np.isnan(one["y"]), np.isnan(truth["y"]))
    assert np.isnan(truth["y"]).sum() == 24


def test_more_runs_are_made_in_one_pass_or_several(monkeypatch: pytest.MonkeyPatch) -> None:
    model, feeds = model_of("Conv")
    oracle = OnnxOracle(load_onnx(model), RECORDS)
    oracle.run(feeds)
    one_pass = oracle.more(feeds)
    oracle.exact.peak_bytes = 1 << 40
    several = oracle.more(feeds)
    assert len(one_pass) == len(several) == 9
    assert len({one["y"].tobytes() for one in [*one_pass, *several]}) == 18


def test_a_difference_is_what_is_left_of_two_arrays() -> None:
    exact = np.random.default_rng(0).normal(size=(300, 300))
    noisy = exact + 1e-9 * np.arange(300)
    away = RoundingNoise(0).difference(exact, noisy, 0.0)
    np.testing.assert_allclose(away, noisy - exact, rtol=1e-6, atol=1e-20)
    moved = RoundingNoise(0).moved(exact, away, np.ones_like(exact), 0.0)
    np.testing.assert_allclose(moved, noisy, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", [(3, 2), (9, 9)])
def test_pools_by_position_are_pools_of_windows(kernel: tuple[int, int]) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 12, 11))
    x[0, 0, 3, 3] = np.nan
    windows = windows_of(x, 0, kernel, [1, 1], [1, 1], [(0, 0)] * 2, False)
    np.testing.assert_array_equal(max_pool(x, kernel_shape=kernel), windows.max(axis=(4, 5)))
    np.testing.assert_allclose(average_pool(x, kernel_shape=kernel), windows.mean(axis=(4, 5)), rtol=1e-12)
