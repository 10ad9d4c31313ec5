"""Whole models as ONNX Runtime's own tools write them: quantized, optimized, and both.

Operators on integers must give the same integers. A model in QDQ form is float arithmetic between roundings, where
another order of a sum may fall on the other side of a half: there a step of the last quantization is allowed.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

from tests.grid.harness import run_ort
from trueport.backend import prepare

pytestmark = pytest.mark.filterwarnings("ignore")

CNN = """<ir_version: 8, opset_import: ["" : 17]>
cnn (float[N,3,16,16] x) => (float[N,10] y) {
  c1 = Conv <pads=[1,1,1,1]> (x, w1, b1)
  r1 = Relu (c1)
  c2 = Conv <pads=[1,1,1,1], group=8> (r1, w2, b2)
  s2 = Sigmoid (c2)
  a2 = Add (s2, r1)
  l2 = LeakyRelu <alpha=0.1> (a2)
  p2 = AveragePool <kernel_shape=[2,2], strides=[2,2]> (l2)
  c3 = Conv <strides=[2,2], pads=[1,1,1,1]> (p2, w3, b3)
  m3 = Mul (c3, c3)
  k = Concat <axis=1> (c3, m3)
  mp = MaxPool <kernel_shape=[2,2], strides=[1,1]> (k)
  g = GlobalAveragePool (mp)
  fl = Flatten (g)
  z = Gemm <transB=1> (fl, w4, b4)
  y = Softmax <axis=-1> (z)
}"""
CNN_WEIGHTS = {
    "w1": (8, 3, 3, 3),
    "b1": (8,),
    "w2": (8, 1, 3, 3),
    "b2": (8,),
    "w3": (12, 8, 3, 3),
    "b3": (12,),
    "w4": (10, 24),
    "b4": (10,),
}
# Opset 14: the runtime fuses into LayerNormalization, which ONNX has from opset 17 on.
FEED_FORWARD = """<ir_version: 7, opset_import: ["" : 14]>
block (float[N,6,16] x) => (float[N,6,16] y) {
  f1 = MatMul (x, w1)
  f2 = Add (f1, b1)
  g1 = Div (f2, root)
  g2 = Erf (g1)
  g3 = Add (g2, one)
  g4 = Mul (f2, g3)
  g5 = Mul (g4, half)
  h1 = MatMul (g5, w2)
  h2 = Add (h1, b2)
  r = Add (h2, x)
  m = ReduceMean <axes=[-1]> (r)
  d = Sub (r, m)
  p = Pow (d, two)
  v = ReduceMean <axes=[-1]> (p)
  e = Add (v, tiny)
  s = Sqrt (e)
  n = Div (d, s)
  t = Mul (n, gamma)
  y = Add (t, beta)
}"""
FEED_FORWARD_WEIGHTS = {"w1": (16, 32), "b1": (32,), "w2": (32, 16), "b2": (16,), "gamma": (16,), "beta": (16,)}
NUMBERS = {"root": 2**0.5, "one": 1.0, "half": 0.5, "two": 2.0, "tiny": 1e-5}


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * 0.5).astype(np.float32)


def built(text: str, weights: dict[str, tuple[int, ...]], numbers: dict[str, float]) -> onnx.ModelProto:
    model = onnx.parser.parse_model(text)
    arrays = {name: floats(*shape, seed=seed) for seed, (name, shape) in enumerate(weights.items())}
    arrays |= {name: np.array(value, np.float32) for name, value in numbers.items()}
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    return model


MODELS = {
    "cnn": (built(CNN, CNN_WEIGHTS, {}), (2, 3, 16, 16)),
    "feed forward": (built(FEED_FORWARD, FEED_FORWARD_WEIGHTS, NUMBERS), (2, 6, 16)),
}


class Samples(CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, shape: tuple[int, ...]) -> None:
        self._samples = iter([{"x": floats(*shape, seed=seed)} for seed in range(50, 54)])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._samples, None)


@pytest.fixture(autouse=True)
def quiet() -> Any:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def optimized(model: onnx.ModelProto, level: str, folder: Path) -> onnx.ModelProto:
    """What the runtime's graph optimizer makes of a model."""
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, f"ORT_ENABLE_{level}")
    options.log_severity_level = 4
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return onnx.load(folder / "optimized.onnx")


def operators(model: onnx.ModelProto) -> set[str]:
    return {node.op_type for node in model.graph.node}


def check(model: onnx.ModelProto, shape: tuple[int, ...], atol: float = 0.0, rtol: float = 0.0) -> None:
    converted = prepare(model)
    for seed, batch in ((90, shape[0]), (91, 1)):
        feeds = {"x": floats(batch, *shape[1:], seed=seed)}
        np.testing.assert_allclose(converted.run(feeds)[0], run_ort(model, feeds)[0], rtol=rtol, atol=atol)


TYPES = [(QuantType.QUInt8, QuantType.QInt8), (QuantType.QInt8, QuantType.QInt8), (QuantType.QUInt8, QuantType.QUInt8)]


def static(name: str, folder: Path, form: QuantFormat, types: tuple[QuantType, QuantType]) -> onnx.ModelProto:
    model, shape = MODELS[name]
    onnx.save(model, folder / "model.onnx")
    quantize_static(
        folder / "model.onnx",
        folder / "quantized.onnx",
        Samples(shape),
        quant_format=form,
        per_channel=True,
        activation_type=types[0],
        weight_type=types[1],
    )
    return onnx.load(folder / "quantized.onnx")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("types", TYPES, ids=lambda types: "".join(t.name for t in types))
def test_quantized_operators(name: str, types: tuple[QuantType, QuantType], tmp_path: Path) -> None:
    model = static(name, tmp_path, QuantFormat.QOperator, types)
    exact = name == "cnn"  # The other one has float operators between the quantized ones.
    check(model, MODELS[name][1], atol=0.0 if exact else 2e-2)
    check(optimized(model, "ALL", tmp_path), MODELS[name][1], atol=0.0 if exact else 2e-2)


def test_quantize_and_dequantize(tmp_path: Path) -> None:
    model = static("cnn", tmp_path, QuantFormat.QDQ, TYPES[0])
    check(model, MODELS["cnn"][1], atol=2 / 255)
    fused = optimized(model, "EXTENDED", tmp_path)
    assert {"QLinearConv", "QLinearAdd", "QLinearAveragePool", "QLinearSigmoid", "QGemm"} <= operators(fused)
    check(fused, MODELS["cnn"][1])
    check(optimized(model, "ALL", tmp_path), MODELS["cnn"][1])


@pytest.mark.parametrize("name", MODELS)
def test_dynamically_quantized(name: str, tmp_path: Path) -> None:
    model, shape = MODELS[name]
    onnx.save(model, tmp_path / "model.onnx")
    quantize_dynamic(tmp_path / "model.onnx", tmp_path / "quantized.onnx", per_channel=True)
    quantized = onnx.load(tmp_path / "quantized.onnx")
    check(quantized, shape, rtol=1e-5, atol=1e-5)
    check(optimized(quantized, "EXTENDED", tmp_path), shape, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_optimized(name: str, tmp_path: Path) -> None:
    model, shape = MODELS[name]
    fused = optimized(model, "EXTENDED", tmp_path)
    assert any(node.domain == "com.microsoft" for node in fused.graph.node)
    check(fused, shape, rtol=1e-5, atol=1e-5)
