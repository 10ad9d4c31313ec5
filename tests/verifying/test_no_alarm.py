"""One operator on many numbers, rightly converted: none of them looks like a fault.

Of a hundred thousand results some cancel to almost nothing, some lie in a tail, some happen to be rounded well: what
rounding may do to each of them must be known, or a faithful target is called wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import trueport
from trueport.fidelity import Verdict
from trueport.runtimes.onnxruntime import OnnxRuntimeModel

RNG = np.random.default_rng(5)
HEAD = '<ir_version: 10, opset_import: ["" : %d, "ai.onnx.ml" : 3]> '


def normal(*shape: int, scale: float = 1.0, shift: float = 0.0) -> np.ndarray:
    return (RNG.normal(size=shape) * scale + shift).astype(np.float32)


def positive(*shape: int) -> np.ndarray:
    return np.abs(normal(*shape)) + np.float32(0.2)


def within(low: float, high: float, *shape: int) -> np.ndarray:
    return RNG.uniform(low, high, size=shape).astype(np.float32)


IMAGE = normal(4, 16, 40, 40)
ROWS = normal(400, 256)
SHORT = normal(4000, 4)
STEPS = normal(20, 32, 16)
LARGER = np.array([4, 16, 97, 83])
SMALLER = np.array([4, 16, 17, 13])
AXIS = np.array([1])
CASES: dict[str, tuple[str, dict[str, np.ndarray], dict[str, np.ndarray]]] = {
    # name: the call, what is fed, what is stored
    "batch": (
        "BatchNormalization(x, s, b, m, v)",
        {"x": IMAGE},
        {"s": normal(16), "b": normal(16), "m": normal(16), "v": positive(16)},
    ),
    "instance": ("InstanceNormalization(x, s, b)", {"x": IMAGE}, {"s": normal(16), "b": normal(16)}),
    "layer": ("LayerNormalization(x, s, b)", {"x": ROWS}, {"s": normal(256), "b": normal(256)}),
    "layer, off centre": ("LayerNormalization(x, s, b)", {"x": ROWS + 10}, {"s": normal(256), "b": normal(256)}),
    "group": ("GroupNormalization <num_groups = 4> (x, s, b)", {"x": IMAGE}, {"s": normal(16), "b": normal(16)}),
    "root mean square": ("RMSNormalization(x, s)", {"x": ROWS}, {"s": normal(256)}),
    "mean and variance": ("MeanVarianceNormalization <axes = [0,2,3]> (x)", {"x": IMAGE}, {}),
    "local response": ("LRN <size = 5> (x)", {"x": IMAGE}, {}),
    "norm": ("LpNormalization(x)", {"x": ROWS}, {}),
    "convolution": ("Conv(x, w, b)", {"x": IMAGE}, {"w": normal(8, 16, 3, 3), "b": normal(8)}),
    "transposed": (
        "ConvTranspose <strides = [2,2]> (x, w, b)",
        {"x": IMAGE},
        {"w": normal(16, 8, 3, 3), "b": normal(8)},
    ),
    "dense": ("Gemm(x, w, b)", {"x": ROWS}, {"w": normal(256, 128), "b": normal(128)}),
    "pool": ("AveragePool <kernel_shape = [3,3]> (x)", {"x": IMAGE}, {}),
    "linear, larger": ('Resize <mode = "linear"> (x, , , n)', {"x": IMAGE}, {"n": LARGER}),
    "cubic, larger": ('Resize <mode = "cubic"> (x, , , n)', {"x": IMAGE}, {"n": LARGER}),
    "linear, smaller": ('Resize <mode = "linear", antialias = 1> (x, , , n)', {"x": IMAGE}, {"n": SMALLER}),
    "sampled": ("GridSample(x, g)", {"x": normal(1, 2, 20, 20), "g": within(-1, 1, 1, 40, 40, 2)}, {}),
    "grid": ("AffineGrid(x, n)", {"x": normal(40, 2, 3)}, {"n": np.array([40, 3, 40, 40])}),
    "softmax": ("Softmax(x)", {"x": 10 * ROWS}, {}),
    "log softmax": ("LogSoftmax(x)", {"x": 10 * ROWS}, {}),
    "softplus": ("Softplus(x)", {"x": 10 * ROWS}, {}),
    "gelu": ("Gelu(x)", {"x": 3 * ROWS}, {}),
    "gelu by tanh": ('Gelu <approximate = "tanh"> (x)', {"x": 3 * ROWS}, {}),
    "mish": ("Mish(x)", {"x": 5 * ROWS}, {}),
    "elu": ("Elu(x)", {"x": 3 * ROWS}, {}),
    "selu": ("Selu(x)", {"x": 3 * ROWS}, {}),
    "hard swish": ("HardSwish(x)", {"x": 3 * ROWS}, {}),
    "sigmoid": ("Sigmoid(x)", {"x": 20 * ROWS}, {}),
    "tanh": ("Tanh(x)", {"x": 5 * ROWS}, {}),
    "erf": ("Erf(x)", {"x": 5 * ROWS}, {}),
    "sine": ("Sin(x)", {"x": 50 * ROWS}, {}),
    "logarithm": ("Log(x)", {"x": np.abs(ROWS)}, {}),
    "power": ("Pow(x, p)", {"x": np.abs(ROWS)}, {"p": np.array(2.7, np.float32)}),
    "running sum": ("CumSum(x, a)", {"x": ROWS}, {"a": np.array(1)}),
    "sum": ("ReduceSum(x, a)", {"x": ROWS}, {"a": AXIS}),
    "sum of exponentials": ("ReduceLogSumExp(x, a)", {"x": SHORT - 1.5}, {"a": AXIS}),
    "LSTM": (
        "LSTM <hidden_size = 32> (x, w, r, b)",
        {"x": STEPS},
        {"w": normal(1, 128, 16, scale=0.3), "r": normal(1, 128, 32, scale=0.3), "b": normal(1, 256, scale=0.3)},
    ),
    "GRU": (
        "GRU <hidden_size = 32> (x, w, r, b)",
        {"x": STEPS},
        {"w": normal(1, 96, 16, scale=0.3), "r": normal(1, 96, 32, scale=0.3), "b": normal(1, 192, scale=0.3)},
    ),
    "RNN": (
        "RNN <hidden_size = 32> (x, w, r, b)",
        {"x": STEPS},
        {"w": normal(1, 32, 16, scale=0.3), "r": normal(1, 32, 32, scale=0.3), "b": normal(1, 64, scale=0.3)},
    ),
    "transform": ("DFT(x, , a)", {"x": normal(20, 64, 2)}, {"a": np.array(1)}),
    "determinant": ("Det(x)", {"x": normal(4000, 4, 4)}, {}),
    "attention": ("Attention(q, k, v)", {name: normal(2, 4, 50, 16) for name in "qkv"}, {}),
    "regression": (
        "ai.onnx.ml.LinearRegressor <coefficients = [0.1, 0.2, -0.3, 0.4], intercepts = [0.3]> (x)",
        {"x": SHORT},
        {},
    ),
    "mean of three": ("Mean(q, k, v)", {name: normal(400, 256) for name in "qkv"}, {}),
}


def source_of(call: str, fed: dict[str, Any], stored: dict[str, Any]) -> onnx.ModelProto:
    ports = ", ".join(f"float[{','.join(map(str, array.shape))}] {name}" for name, array in fed.items())
    opset = 23 if call.startswith(("RMS", "Attention")) else 21
    made = onnx.parser.parse_model(HEAD % opset + f"alone ({ports}) => (float y) {{ y = {call} }}")
    made.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in stored.items())
    made.graph.output[0].type.tensor_type.ClearField("shape")
    return made


@pytest.mark.parametrize("target", ["tensorflow", "onnxruntime"])
@pytest.mark.parametrize("name", CASES)
def test_many_numbers_of_an_onnx_operator(name: str, target: str) -> None:
    call, fed, stored = CASES[name]
    source = source_of(call, fed, stored)
    made: Any = OnnxRuntimeModel(source)
    if target == "tensorflow":
        made = trueport.convert(source, to="tensorflow", verify=False).built.run()
    found = trueport.verify(source, made, data=[fed])
    assert found.verdict == Verdict.FAITHFUL, str(found)
    assert found.oracle.startswith("float64")
