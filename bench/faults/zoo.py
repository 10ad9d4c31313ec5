"""Small models of every kind that people convert, for faults to be put into."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from trueport.ir.build import Builder
from trueport.ir.schemas import CANONICAL_OPSETS

__all__ = ["ZOO", "Net"]

OPSET = 21


class Net:
    """A model on its way: inputs, weights drawn from a seed, nodes by ``op``."""

    def __init__(self, name: str) -> None:
        self.graph = ir.Graph([], [], nodes=[], opset_imports=dict(CANONICAL_OPSETS), name=name)
        self.op = Builder(self.graph)
        self._rng = np.random.default_rng(sum(map(ord, name)))

    def input(self, name: str, shape: list[Any], dtype: ir.DataType = ir.DataType.FLOAT) -> ir.Value:
        value = ir.Value(name=self.op.fresh(name), type=ir.TensorType(dtype), shape=ir.Shape(shape))
        self.graph.inputs.append(value)
        return value

    def weight(self, *shape: int, scale: float = 0.3, shift: float = 0.0) -> ir.Value:
        array = (self._rng.normal(size=shape) * scale + shift).astype(np.float32)
        return self.op.stored(ir.tensor(array), "weight")

    def positive(self, *shape: int) -> ir.Value:
        return self.op.stored(ir.tensor((np.abs(self._rng.normal(size=shape)) + 0.05).astype(np.float32)), "variance")

    def constant(self, array: Any) -> ir.Value:
        return self.op.stored(ir.tensor(np.asarray(array)), "constant")

    def norm(self, x: ir.Value, channels: int) -> ir.Value:
        return self.op.BatchNormalization(
            x,
            self.weight(channels, shift=1),
            self.weight(channels),
            self.weight(channels),
            self.positive(channels),
            epsilon=1e-3,
        )

    def finish(self, *outputs: ir.Value) -> onnx.ModelProto:
        self.graph.outputs.extend(outputs)
        model = ir.Model(self.graph, ir_version=10)
        proto = ir.to_proto(model)
        del proto.opset_import[:]
        proto.opset_import.extend([onnx.helper.make_opsetid("", OPSET), onnx.helper.make_opsetid("ai.onnx.ml", 3)])
        return proto


def _cnn(n: Net) -> onnx.ModelProto:
    x = n.input("x", ["N", 3, 16, 16])
    y = n.op.Relu(n.op.Conv(x, n.weight(8, 3, 3, 3), n.weight(8), pads=[1, 1, 1, 1], kernel_shape=[3, 3]))
    y = n.op.MaxPool(y, kernel_shape=[2, 2], strides=[2, 2])
    y = n.op.LeakyRelu(n.op.Conv(y, n.weight(8, 8, 3, 3), n.weight(8), pads=[1, 1, 1, 1]), alpha=0.1)
    y = n.op.AveragePool(y, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    return n.finish(n.op.Softmax(n.op.Gemm(n.op.Flatten(y), n.weight(128, 10), n.weight(10)), axis=-1))


def _residual(n: Net) -> onnx.ModelProto:
    x = n.input("x", ["N", 4, 12, 12])
    y = n.op.Relu(n.norm(n.op.Conv(x, n.weight(8, 4, 3, 3), pads=[1, 1, 1, 1]), 8))
    for _ in range(2):
        z = n.op.Relu(n.norm(n.op.Conv(y, n.weight(8, 8, 3, 3), pads=[1, 1, 1, 1]), 8))
        z = n.norm(n.op.Conv(z, n.weight(8, 8, 3, 3), pads=[1, 1, 1, 1]), 8)
        y = n.op.Relu(n.op.Add(z, y))
    return n.finish(n.op.Gemm(n.op.Flatten(n.op.GlobalAveragePool(y)), n.weight(8, 5), n.weight(5)))


def _mobile(n: Net) -> onnx.ModelProto:
    x = n.input("x", ["N", 6, 10, 10])
    low, high = n.constant(np.float32(0)), n.constant(np.float32(6))
    y = n.op.Clip(n.norm(n.op.Conv(x, n.weight(12, 6, 1, 1, scale=2)), 12), low, high)
    y = n.op.Clip(n.norm(n.op.Conv(y, n.weight(12, 1, 3, 3, scale=2), pads=[1, 1, 1, 1], group=12), 12), low, high)
    y = n.op.Add(n.norm(n.op.Conv(y, n.weight(6, 12, 1, 1)), 6), x)
    squeeze = n.op.HardSigmoid(n.op.Conv(n.op.GlobalAveragePool(y), n.weight(6, 6, 1, 1)), alpha=0.1667, beta=0.5)
    return n.finish(n.op.HardSwish(n.op.Mul(y, squeeze)))


def _unet(n: Net) -> onnx.ModelProto:
    x = n.input("x", ["N", 3, 8, 8])
    a = n.op.Elu(n.op.Conv(x, n.weight(4, 3, 3, 3), n.weight(4), pads=[1, 1, 1, 1]), alpha=1.0)
    b = n.op.MaxPool(a, kernel_shape=[2, 2], strides=[2, 2])
    scales = n.constant(np.array([1, 1, 2, 2], np.float32))
    linear = n.op.Resize(b, None, scales, mode="linear", coordinate_transformation_mode="half_pixel")
    nearest = n.op.Resize(
        b, None, scales, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"
    )
    c = n.op.Concat(a, linear, nearest, axis=1)
    d = n.op.ConvTranspose(c, n.weight(12, 2, 2, 2), n.weight(2), strides=[2, 2])
    return n.finish(n.op.Sigmoid(d))


def _superresolution(n: Net) -> onnx.ModelProto:
    x = n.input("x", ["N", 1, 9, 9])
    y = n.op.PRelu(n.op.Conv(x, n.weight(8, 1, 5, 5), n.weight(8), pads=[2, 2, 2, 2]), n.weight(8, 1, 1))
    y = n.op.Tanh(n.op.Conv(y, n.weight(4, 8, 3, 3), pads=[1, 1, 1, 1]))
    z = n.op.Resize(x, None, n.constant(np.array([1, 1, 2, 2], np.float32)), mode="cubic", cubic_coeff_a=-0.75)
    return n.finish(n.op.Add(n.op.DepthToSpace(y, blocksize=2, mode="CRD"), z))


def _style(n: Net) -> onnx.ModelProto:
    x = n.input("x", ["N", 4, 8, 8])
    pads = n.constant(np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64))
    y = n.op.Conv(n.op.Pad(x, pads, mode="reflect"), n.weight(6, 4, 3, 3))
    y = n.op.InstanceNormalization(y, n.weight(6, shift=1), n.weight(6), epsilon=1e-5)
    y = n.op.Mul(y, n.op.Sigmoid(y))
    y = n.op.LayerNormalization(y, n.weight(8, shift=1), n.weight(8), axis=-1, epsilon=1e-5)
    return n.finish(n.op.Selu(y))


def _lstm(n: Net) -> onnx.ModelProto:
    x = n.input("x", [7, "N", 5])
    y, h, _ = n.op.several(3).LSTM(
        x, n.weight(2, 24, 5), n.weight(2, 24, 6), n.weight(2, 48), hidden_size=6, direction="bidirectional"
    )
    y = n.op.Gather(y, 0, axis=1)
    return n.finish(n.op.Gemm(n.op.Gather(h, 1, axis=0), n.weight(6, 4), n.weight(4)), n.op.Gather(y, -1, axis=0))


def _gru(n: Net) -> onnx.ModelProto:
    x = n.input("x", [6, "N", 4])
    y, h = n.op.several(2).GRU(
        x, n.weight(1, 15, 4), n.weight(1, 15, 5), n.weight(1, 30), hidden_size=5, linear_before_reset=1
    )
    return n.finish(n.op.Tanh(n.op.MatMul(n.op.Squeeze(h, [0]), n.weight(5, 3))), n.op.ReduceMax(y, [0, 1], keepdims=0))


def _rnn(n: Net) -> onnx.ModelProto:
    x = n.input("x", [5, "N", 4])
    _, h = n.op.several(2).RNN(x, n.weight(1, 6, 4), n.weight(1, 6, 6), n.weight(1, 12), hidden_size=6)
    return n.finish(n.op.Softsign(n.op.MatMul(n.op.Squeeze(h, [0]), n.weight(6, 6))))


def _encoder(n: Net) -> onnx.ModelProto:
    x = n.input("x", ["N", 6, 8])
    q, k, v = (n.op.MatMul(x, n.weight(8, 8)) for _ in range(3))
    scores = n.op.Div(n.op.MatMul(q, n.op.Transpose(k, perm=[0, 2, 1])), n.constant(np.float32(np.sqrt(8))))
    attended = n.op.MatMul(n.op.Softmax(scores, axis=-1), v)
    y = n.op.LayerNormalization(n.op.Add(x, attended), n.weight(8, shift=1), n.weight(8), epsilon=1e-5)
    z = n.op.MatMul(n.op.Gelu(n.op.Add(n.op.MatMul(y, n.weight(8, 16)), n.weight(16))), n.weight(16, 8))
    return n.finish(n.op.LayerNormalization(n.op.Add(y, z), n.weight(8, shift=1), n.weight(8), epsilon=1e-5))


def _masked_attention(n: Net) -> onnx.ModelProto:
    x, keep = n.input("x", ["N", 5, 8]), n.input("keep", ["N", 1, 5], ir.DataType.BOOL)
    heads = [n.op.MatMul(x, n.weight(8, 8)) for _ in range(3)]
    q, k, v = (n.op.Transpose(n.op.Reshape(h, [0, 5, 2, 4]), perm=[0, 2, 1, 3]) for h in heads)
    scores = n.op.Mul(n.op.MatMul(q, n.op.Transpose(k, perm=[0, 1, 3, 2])), n.constant(np.float32(0.5)))
    masked = n.op.Where(n.op.Unsqueeze(keep, [1]), scores, n.constant(np.float32(-1e4)))
    y = n.op.MatMul(n.op.Softmax(masked, axis=-1), v)
    return n.finish(n.op.Reshape(n.op.Transpose(y, perm=[0, 2, 1, 3]), [0, 5, 8]))


def _detection(n: Net) -> onnx.ModelProto:
    boxes, scores = n.input("boxes", [1, 12, 4]), n.input("scores", [1, 2, 12])
    low, size = n.op.several(2).Split(boxes, num_outputs=2, axis=-1)
    corners = n.op.Concat(low, n.op.Add(low, n.op.Abs(size)), axis=-1)
    probability = n.op.Sigmoid(n.op.Mul(scores, n.constant(np.float32(1.7))))
    chosen = n.op.NonMaxSuppression(
        corners,
        probability,
        n.constant(np.array([5], np.int64)),
        n.constant(np.array([0.3], np.float32)),
        n.constant(np.array([0.4], np.float32)),
    )
    return n.finish(chosen, corners, probability)


def _head(n: Net) -> onnx.ModelProto:
    x = n.input("x", ["N", 4, 6, 6])
    y = n.op.Reshape(n.op.Transpose(n.op.Conv(x, n.weight(8, 4, 1, 1), n.weight(8)), perm=[0, 2, 3, 1]), [0, 72, 4])
    values, places = n.op.several(2).TopK(n.op.ReduceMax(y, [2], keepdims=0), [5], axis=-1)
    offsets = n.op.Slice(y, [0], [2], [2])
    grid = n.op.Mul(n.op.Sub(n.op.Exp(offsets), n.constant(np.float32(1))), n.constant(np.float32(8)))
    return n.finish(values, places, grid)


def _quantized_cnn(n: Net) -> onnx.ModelProto:
    x = n.input("x", ["N", 3, 8, 8])

    def qdq(value: ir.Value, scale: float, zero: int, kind: Any = np.uint8) -> ir.Value:
        s, z = n.constant(np.float32(scale)), n.constant(np.asarray(zero, kind))
        return n.op.DequantizeLinear(n.op.QuantizeLinear(value, s, z), s, z)

    def weight(*shape: int) -> ir.Value:
        stored = n.constant(n._rng.integers(-100, 100, size=shape).astype(np.int8))
        scales = n.constant(np.linspace(0.004, 0.01, shape[0]).astype(np.float32))
        return n.op.DequantizeLinear(stored, scales, n.constant(np.zeros(shape[0], np.int8)), axis=0)

    y = n.op.Relu(n.op.Conv(qdq(x, 0.03, 120), weight(6, 3, 3, 3), n.weight(6), pads=[1, 1, 1, 1]))
    y = n.op.MaxPool(qdq(y, 0.05, 3), kernel_shape=[2, 2], strides=[2, 2])
    y = qdq(n.op.Conv(y, weight(4, 6, 1, 1), n.weight(4)), 0.06, 100)
    s, z = n.constant(np.float32(0.02)), n.constant(np.int8(-5))
    return n.finish(n.op.QuantizeLinear(n.op.GlobalAveragePool(y), s, z))


def _dynamic_quantized(n: Net) -> onnx.ModelProto:
    x = n.input("x", ["N", 12])
    q, s, z = n.op.several(3).DynamicQuantizeLinear(x)
    w = n.constant(n._rng.integers(-127, 127, size=(12, 6)).astype(np.int8))
    y = n.op.Cast(n.op.MatMulInteger(q, w, z, n.constant(np.int8(3))), to=1)
    return n.finish(n.op.Add(n.op.Mul(y, n.op.Mul(s, n.constant(np.float32(0.01)))), n.weight(6)))


def _branch(n: Net) -> onnx.ModelProto:
    x = n.input("x", [3, 4])
    w = n.weight(4, 4)
    mean = n.op.ReduceMean(x, [0, 1], keepdims=0)
    then, other = n.op.inside(), n.op.inside()
    then.graph.outputs.append(then.Relu(then.MatMul(x, w)))
    other.graph.outputs.append(other.Sub(x, w_shift(n)))
    y = n.op.If(n.op.Greater(mean, n.constant(np.float32(0))), then_branch=then.graph, else_branch=other.graph)
    y.type, y.shape = ir.TensorType(ir.DataType.FLOAT), ir.Shape([3, 4])
    return n.finish(n.op.Tanh(y))


def w_shift(n: Net) -> ir.Value:
    return n.weight(4)


def _loop(n: Net) -> onnx.ModelProto:
    x = n.input("x", [3, 4])
    w = n.weight(4, 4)
    state = ir.Value(name="state", type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape([3, 4]))
    step = ir.Value(name="step", type=ir.TensorType(ir.DataType.INT64), shape=ir.Shape([]))
    go = ir.Value(name="go", type=ir.TensorType(ir.DataType.BOOL), shape=ir.Shape([]))
    body = n.op.inside([step, go, state])
    moved = body.Tanh(body.Add(body.MatMul(state, w), x))
    body.graph.outputs.extend([body.Identity(go), moved, body.ReduceSum(moved, [1], keepdims=0)])
    last, trace = n.op.several(2).Loop(n.constant(np.int64(5)), n.constant(np.array(True)), x, body=body.graph)
    for value, shape in ((last, [3, 4]), (trace, [5, 3])):
        value.type, value.shape = ir.TensorType(ir.DataType.FLOAT), ir.Shape(shape)
    return n.finish(n.op.Sub(last, x), n.op.Mul(trace, n.constant(np.float32(0.1))))


def _trees(n: Net) -> onnx.ModelProto:
    x = n.input("x", ["N", 4])
    scaled = n.op.Scaler(x, offset=[0.1, 0.2, -0.1, 0.0], scale=[1.0, 2.0, 0.5, 1.5], domain="ai.onnx.ml")
    scaled.type, scaled.shape = ir.TensorType(ir.DataType.FLOAT), ir.Shape(["N", 4])
    # Deprecated in the newest version, which the builder would refuse; files have it all the same.
    node = ir.node(
        "TreeEnsembleRegressor",
        [scaled],
        {
            "n_targets": 1,
            "nodes_treeids": [0] * 5 + [1] * 3,
            "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
            "nodes_featureids": [0, 1, 0, 0, 0, 2, 0, 0],
            "nodes_values": [0.1, -0.3, 0.0, 0.0, 0.0, 0.05, 0.0, 0.0],
            "nodes_modes": ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"],
            "nodes_truenodeids": [1, 3, 0, 0, 0, 1, 0, 0],
            "nodes_falsenodeids": [2, 4, 0, 0, 0, 2, 0, 0],
            "target_treeids": [0, 0, 0, 1, 1],
            "target_nodeids": [2, 3, 4, 1, 2],
            "target_ids": [0] * 5,
            "target_weights": [0.5, -0.7, 0.9, 0.25, -0.25],
        },
        domain="ai.onnx.ml",
        name=n.op.fresh("TreeEnsembleRegressor"),
    )
    n.graph.append(node)
    y = node.outputs[0]
    y.name = n.op.fresh("prediction")
    y.type, y.shape = ir.TensorType(ir.DataType.FLOAT), ir.Shape(["N", 1])
    return n.finish(n.op.Sigmoid(y), scaled)


def _linear(n: Net) -> onnx.ModelProto:
    x = n.input("x", ["N", 6])
    normal = n.op.Normalizer(x, norm="L2", domain="ai.onnx.ml")
    y = n.op.LinearRegressor(
        normal, coefficients=list(np.linspace(-1, 1, 12)), intercepts=[0.1, -0.2], targets=2, domain="ai.onnx.ml"
    )
    for value, width in ((normal, 6), (y, 2)):
        value.type, value.shape = ir.TensorType(ir.DataType.FLOAT), ir.Shape(["N", width])
    return n.finish(n.op.LogSoftmax(y, axis=-1))


def _text(n: Net) -> onnx.ModelProto:
    tokens = n.input("tokens", ["N", 6], ir.DataType.INT64)
    embedded = n.op.Gather(n.weight(10, 8), tokens, axis=0)
    mask = n.op.Cast(n.op.Greater(tokens, n.constant(np.int64(0))), to=1)
    masked = n.op.Mul(embedded, n.op.Unsqueeze(mask, [2]))
    pooled = n.op.Div(
        n.op.ReduceSum(masked, [1], keepdims=0),
        n.op.Add(n.op.ReduceSum(mask, [1], keepdims=1), n.constant(np.float32(1))),
    )
    return n.finish(n.op.Softmax(n.op.Gemm(pooled, n.weight(8, 3), n.weight(3), alpha=0.9), axis=1))


def _recommender(n: Net) -> onnx.ModelProto:
    user, item = n.input("user", ["N", 6]), n.input("item", ["N", 6])
    both = n.op.Concat(user, item, n.op.Mul(user, item), n.op.Sub(user, item), axis=1)
    deep = n.op.Softplus(n.op.Gemm(both, n.weight(24, 8), n.weight(8)))
    wide = n.op.ReduceL2(n.op.Sub(user, item), [1], keepdims=1)
    return n.finish(
        n.op.Sigmoid(n.op.Add(n.op.MatMul(deep, n.weight(8, 1)), n.op.Div(wide, n.constant(np.float32(3)))))
    )


def _audio(n: Net) -> onnx.ModelProto:
    x = n.input("x", ["N", 1, 64])
    y = n.op.Conv(n.op.Slice(x, [2], [62], [2]), n.weight(6, 1, 8), n.weight(6), strides=[2], dilations=[2])
    power = n.op.Pow(y, n.constant(np.float32(2)))
    db = n.op.Log(n.op.Add(n.op.ReduceMean(power, [2], keepdims=1), n.constant(np.float32(1e-3))))
    smooth = n.op.CumSum(n.op.Squeeze(db, [2]), n.constant(np.int64(1)))
    return n.finish(n.op.Div(n.op.Sub(smooth, n.op.ReduceMin(smooth, [1], keepdims=1)), n.constant(np.float32(2))))


def _choice(n: Net) -> onnx.ModelProto:
    x = n.input("x", ["N", 7])
    best = n.op.ArgMax(x, axis=1, keepdims=0)
    hot = n.op.OneHot(best, n.constant(np.int64(7)), n.constant(np.array([0, 1], np.float32)), axis=-1)
    rounded = n.op.Round(n.op.Mul(x, n.constant(np.float32(4))))
    clipped = n.op.Clip(rounded, n.constant(np.float32(-3)), n.constant(np.float32(3)))
    return n.finish(best, n.op.MatMul(hot, n.weight(7, 3)), clipped, n.op.Cast(clipped, to=6))


_MAKERS: Mapping[str, Callable[[Net], onnx.ModelProto]] = {
    "cnn": _cnn,
    "residual": _residual,
    "mobile": _mobile,
    "unet": _unet,
    "superresolution": _superresolution,
    "style": _style,
    "lstm": _lstm,
    "gru": _gru,
    "rnn": _rnn,
    "encoder": _encoder,
    "masked_attention": _masked_attention,
    "detection": _detection,
    "head": _head,
    "quantized_cnn": _quantized_cnn,
    "dynamic_quantized": _dynamic_quantized,
    "branch": _branch,
    "loop": _loop,
    "trees": _trees,
    "linear": _linear,
    "text": _text,
    "recommender": _recommender,
    "audio": _audio,
    "choice": _choice,
}


def _made(name: str) -> Callable[[], onnx.ModelProto]:
    return lambda: _MAKERS[name](Net(name))


ZOO: Mapping[str, Callable[[], onnx.ModelProto]] = {name: _made(name) for name in _MAKERS}
"""By name; each call makes the model anew, always the same."""
