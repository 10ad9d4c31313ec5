"""`Net` as an ONNX graph, in the words that exporters use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from bench.layers import Net, Weights

__all__ = ["OnnxNet", "QuantizedOnnxNet", "onnx_model"]

OPSET = 17


class Value(NamedTuple):
    """A value of the graph, with its dims after the batch."""

    name: str
    dims: tuple[int, ...]


class OnnxNet:
    """Channel first; the batch is open."""

    def __init__(self) -> None:
        self.weights = Weights()
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        name = f"{kind.lower()}_{len(self.nodes)}"
        names = [name, *(f"{name}_{i}" for i in range(1, outputs))]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=name, **attributes))
        return name

    def constant(self, array: np.ndarray) -> str:
        name = f"weight_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def channels(self, x: Value) -> int:
        return x.dims[0]

    def _input(self, *dims: int) -> Value:
        self.inputs.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", *dims]))
        return Value("x", dims)

    def picture(self, channels: int, height: int, width: int) -> Value:
        return self._input(channels, height, width)

    def vectors(self, steps: int, features: int) -> Value:
        return self._input(steps, features)

    def conv(
        self,
        x: Value,
        out: int,
        kernel: int,
        stride: int = 1,
        pad: int = 0,
        *,
        depthwise: bool = False,
        bias: bool = True,
    ) -> Value:
        channels, height, width = x.dims
        groups = channels if depthwise else 1
        each = channels // groups
        w = self.weights.kernel(out, each, kernel, kernel, fan_in=each * kernel * kernel)
        parameters = [self._kernel(w), *([self.constant(self.weights.vector(out))] if bias else [])]
        places = [(size + 2 * pad - kernel) // stride + 1 for size in (height, width)]
        made = self.op(
            "Conv",
            self._activation(x.name),
            *parameters,
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=[pad] * 4,
            group=groups,
        )
        return Value(made, (out, *places))

    def _kernel(self, array: np.ndarray) -> str:
        return self.constant(array)

    def _activation(self, name: str) -> str:
        return name

    def norm(self, x: Value) -> Value:
        parts = [self.weights.vector(x.dims[0], around) for around in (1.0, 0.0, 0.0, 1.0)]
        return Value(self.op("BatchNormalization", x.name, *map(self.constant, parts), epsilon=1e-5), x.dims)

    def relu(self, x: Value) -> Value:
        return Value(self.op("Relu", x.name), x.dims)

    def relu6(self, x: Value) -> Value:
        low, high = (self.constant(np.array(v, np.float32)) for v in (0, 6))
        return Value(self.op("Clip", x.name, low, high), x.dims)

    def _pool(self, kind: str, x: Value, kernel: int, stride: int, pad: int) -> Value:
        channels, *sizes = x.dims
        places = [(size + 2 * pad - kernel) // stride + 1 for size in sizes]
        made = self.op(kind, x.name, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)
        return Value(made, (channels, *places))

    def max_pool(self, x: Value, kernel: int, stride: int, pad: int = 0) -> Value:
        return self._pool("MaxPool", x, kernel, stride, pad)

    def average_pool(self, x: Value, kernel: int, stride: int) -> Value:
        return self._pool("AveragePool", x, kernel, stride, 0)

    def global_average(self, x: Value) -> Value:
        made = self.op("Flatten", self.op("GlobalAveragePool", x.name), axis=1)
        return Value(made, x.dims[:1])

    def flatten(self, x: Value) -> Value:
        """Channel last, as Keras flattens, so that the dense layer behind has the same weights."""
        moved = self.op("Transpose", x.name, perm=[0, 2, 3, 1])
        return Value(self.op("Flatten", moved, axis=1), (int(np.prod(x.dims)),))

    def add(self, a: Value, b: Value) -> Value:
        return Value(self.op("Add", a.name, b.name), a.dims)

    def concat(self, parts: Sequence[Value]) -> Value:
        made = self.op("Concat", *(part.name for part in parts), axis=1)
        return Value(made, (sum(part.dims[0] for part in parts), *parts[0].dims[1:]))

    def dense(self, x: Value, out: int) -> Value:
        features = x.dims[-1]
        w, b = self.weights.kernel(features, out, fan_in=features), self.weights.vector(out)
        dims = (*x.dims[:-1], out)
        if len(x.dims) == 1:
            return Value(self.op("Gemm", x.name, self.constant(w.T), self.constant(b), transB=1), dims)
        return Value(self.op("Add", self.op("MatMul", x.name, self.constant(w)), self.constant(b)), dims)

    def softmax(self, x: Value) -> Value:
        return Value(self.op("Softmax", x.name, axis=-1), x.dims)

    def layer_norm(self, x: Value) -> Value:
        parts = [self.weights.vector(x.dims[-1], around) for around in (1.0, 0.0)]
        return Value(self.op("LayerNormalization", x.name, *map(self.constant, parts), axis=-1, epsilon=1e-5), x.dims)

    def gelu(self, x: Value) -> Value:
        half, one, root = (self.constant(np.array(v, np.float32)) for v in (0.5, 1, np.sqrt(2)))
        inner = self.op("Add", self.op("Erf", self.op("Div", x.name, root)), one)
        return Value(self.op("Mul", self.op("Mul", x.name, inner), half), x.dims)

    def attention(self, x: Value, heads: int) -> Value:
        steps, width = x.dims
        each = width // heads
        shape = self.constant(np.array([-1, steps, heads, each], np.int64))
        query, key, value = (self.op("Reshape", self.dense(x, width).name, shape) for _ in range(3))
        scale = self.constant(np.array(1 / np.sqrt(each), np.float32))
        query = self.op("Transpose", self.op("Mul", query, scale), perm=[0, 2, 1, 3])
        key, value = self.op("Transpose", key, perm=[0, 2, 3, 1]), self.op("Transpose", value, perm=[0, 2, 1, 3])
        scores = self.op("Softmax", self.op("MatMul", query, key), axis=-1)
        joined = self.op("Transpose", self.op("MatMul", scores, value), perm=[0, 2, 1, 3])
        back = self.op("Reshape", joined, self.constant(np.array([-1, steps, width], np.int64)))
        return self.dense(Value(back, (steps, width)), width)

    def _recurrent(self, kind: str, x: Value, units: int, gates: int, order: Sequence[int], **attributes: int) -> Value:
        """Weights are drawn in Keras's order of gates."""
        steps, features = x.dims
        w = self.weights.kernel(features, gates, units, fan_in=features)
        r = self.weights.kernel(units, gates, units, fan_in=units * 4)
        b = self.weights.vector(gates * units).reshape(gates, units)
        rows = [part[:, order].reshape(part.shape[0], -1).T[None] for part in (w, r)]
        bias = np.concatenate([b[order].ravel(), np.zeros(gates * units, np.float32)])[None]
        moved = self.op("Transpose", x.name, perm=[1, 0, 2])
        made = self.op(kind, moved, *map(self.constant, (*rows, bias)), hidden_size=units, **attributes)
        squeezed = self.op("Squeeze", made, self.constant(np.array([1], np.int64)))
        return Value(self.op("Transpose", squeezed, perm=[1, 0, 2]), (steps, units))

    def lstm(self, x: Value, units: int) -> Value:
        return self._recurrent("LSTM", x, units, 4, [0, 3, 1, 2])

    def gru(self, x: Value, units: int) -> Value:
        return self._recurrent("GRU", x, units, 3, [0, 1, 2], linear_before_reset=1)


class QuantizedOnnxNet(OnnxNet):
    """Convolutions as a quantizer leaves them: quantized and dequantized activations, int8 weights per channel."""

    def _kernel(self, array: np.ndarray) -> str:
        scale = (np.abs(array).max(axis=(1, 2, 3)) / 127).astype(np.float32)
        whole = np.round(array / scale[:, None, None, None]).astype(np.int8)
        zeros = np.zeros(len(scale), np.int8)
        return self.op("DequantizeLinear", *map(self.constant, (whole, scale, zeros)), axis=0)

    def _activation(self, name: str) -> str:
        scale, zero = self.constant(np.array(0.05, np.float32)), self.constant(np.array(128, np.uint8))
        return self.op("DequantizeLinear", self.op("QuantizeLinear", name, scale, zero), scale, zero)


def onnx_model(architecture: Callable[[Net], Any], net: OnnxNet | None = None) -> onnx.ModelProto:
    """The architecture as a model with one output."""
    net = net or OnnxNet()
    made = architecture(net)
    net.nodes.append(helper.make_node("Identity", [made.name], ["y"], name="y"))
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", *made.dims])
    graph = helper.make_graph(net.nodes, "bench", net.inputs, [output], net.initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
