"""Sequences: recurrent cells with all their inputs, loops, scans, branches, attention, normalizations."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper

from bench.faults.strangers.nets.sketch import Sketch, net

__all__ = ["NETS"]


def _value(name: str, shape: list[int] | None, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def _lstm_full(s: Sketch) -> onnx.ModelProto:
    x, lengths = s.input("x", [6, 3, 4]), s.input("lengths", [3], TensorProto.INT32)
    states = [s.weight(1, 3, 5), s.weight(1, 3, 5)]
    y, h, c = s(
        "LSTM", x, s.weight(1, 20, 4), s.weight(1, 20, 5), s.weight(1, 40), lengths, *states, s.weight(1, 15),
        hidden_size=5, direction="reverse", clip=1.5, outputs=3,
    )  # fmt: skip
    return s.finish(
        y,
        h,
        c,
        s(
            "ReverseSequence",
            s("Squeeze", y, s.integers(1)),
            s("Cast", lengths, to=TensorProto.INT64),
            time_axis=0,
            batch_axis=1,
        ),
    )


def _gru_both(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", [5, "N", 4])
    y, h = s(
        "GRU", x, s.weight(2, 12, 4), s.weight(2, 12, 4), s.weight(2, 24),
        hidden_size=4, direction="bidirectional", activations=["Sigmoid", "Tanh", "HardSigmoid", "Softsign"], outputs=2,
    )  # fmt: skip
    joined = s("Reshape", s("Transpose", y, perm=[0, 2, 1, 3]), s.integers(5, -1, 8))
    return s.finish(s("MatMul", joined, s.weight(8, 4)), s("ReduceSum", h, s.integers(0), keepdims=0))


def _rnn_relu(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", [5, "N", 3])
    y, _ = s(
        "RNN", x, s.weight(1, 4, 3), s.weight(1, 4, 4), s.weight(1, 8), hidden_size=4, activations=["Relu"], outputs=2
    )
    return s.finish(s("Squeeze", y, s.integers(1)))


def _scan(s: Sketch) -> onnx.ModelProto:
    x, start = s.input("x", [7, 4]), s.input("start", [4])
    inner = s.inside()
    rest = inner(
        "Add", inner("Mul", "state", inner.number(0.8)), inner("Tanh", inner("MatMul", "item", inner.weight(4, 4)))
    )
    out = inner("Sub", rest, "item")
    body = inner.body([_value("state", [4]), _value("item", [4])], [_value(rest, [4]), _value(out, [4])], "step")
    last, trace = s("Scan", start, x, body=body, num_scan_inputs=1, outputs=2)
    s.declare(trace, [7, 4])
    s.declare(last, [4])
    return s.finish(s.declare(s("Relu", last), [4]), trace)


def _while(s: Sketch) -> onnx.ModelProto:
    """Halve until the sum is small; count the steps."""
    x = s.input("x", [3, 4])
    inner = s.inside()
    grown = inner("Mul", "state", inner.weight(3, 4, scale=0.1, shift=0.6))
    count = inner("Add", "count", inner.constant(np.int64(1)))
    size = inner("ReduceSum", inner("Abs", grown), inner.integers(0, 1), keepdims=0)
    go = inner("Greater", size, inner.number(1.0))
    mean = inner("ReduceMean", grown, inner.integers(0), keepdims=0)
    inputs = [
        _value("step", [], TensorProto.INT64),
        _value("go", [], TensorProto.BOOL),
        _value("state", [3, 4]),
        _value("count", [], TensorProto.INT64),
    ]
    outputs = [
        _value(go, [], TensorProto.BOOL),
        _value(grown, [3, 4]),
        _value(count, [], TensorProto.INT64),
        _value(mean, [4]),
    ]
    body = inner.body(inputs, outputs, "body")
    last, steps, trace = s(
        "Loop", s.constant(np.int64(12)), s.constant(np.array(True)), x, s.constant(np.int64(0)), body=body, outputs=3
    )
    return s.finish(
        s.declare(last, [3, 4]),
        s.declare(steps, [], TensorProto.INT64),
        s.declare(s("ReduceMax", trace, s.integers(0), keepdims=0), [4]),
    )


def _branches(s: Sketch) -> onnx.ModelProto:
    x, flag = s.input("x", ["N", 4]), s.input("flag", [], TensorProto.BOOL)
    yes, no = s.inside(), s.inside()
    a = yes("Gemm", x, yes.weight(4, 4), yes.weight(4))
    b = no("Mul", no("Sigmoid", x), no.weight(4))
    then = yes.body([], [_value(a, None)], "then")
    other = no.body([], [_value(b, None)], "else")
    y = s("If", flag, then_branch=then, else_branch=other)
    mean = s("ReduceMean", s("Tanh", y), s.integers(1), keepdims=1)
    return s.finish(s.declare(s("Sub", y, mean), ["N", 4]))


def _rotary(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 6, 8])
    normal = s("RMSNormalization", x, s.weight(8, shift=1), axis=-1, epsilon=1e-4)
    q, k, v = (s("MatMul", normal, s.weight(8, 8)) for _ in range(3))
    angles = np.arange(6)[:, None] * 10.0 ** -np.arange(2)[None]
    cos, sin = (s.constant(f(angles).astype(np.float32)) for f in (np.cos, np.sin))
    places = s(
        "Expand",
        s.constant(np.arange(6, dtype=np.int64)[None]),
        s("Concat", s("Shape", x, end=1), s.integers(6), axis=0),
    )
    q, k = (s("RotaryEmbedding", value, cos, sin, places, num_heads=2, interleaved=0) for value in (q, k))
    y = s("Attention", q, k, v, q_num_heads=2, kv_num_heads=2, is_causal=1, scale=0.6)
    return s.finish(s("Add", x, s("Swish", y, alpha=1.2)))


def _norms(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 6, 4, 4])
    y = s("GroupNormalization", x, s.weight(6, shift=1), s.weight(6), num_groups=3, epsilon=1e-3)
    z = s("LayerNormalization", y, s.weight(4, 4, shift=1), s.weight(4, 4), axis=2, epsilon=1e-2)
    w = s("BatchNormalization", z, s.positive(6), s.weight(6), s.weight(6), s.positive(6), epsilon=1e-3)
    last = s("InstanceNormalization", w, s.positive(6), s.weight(6), epsilon=1e-2)
    return s.finish(s.declare(last, ["N", 6, 4, 4]), s.declare(s("GlobalMaxPool", w), ["N", 6, 1, 1]))


def _decomposed(s: Sketch) -> onnx.ModelProto:
    """Attention and Gelu as exporters write them out."""
    x = s.input("x", ["N", "T", 8])
    mean = s("ReduceMean", x, s.integers(-1), keepdims=1)
    centered = s("Sub", x, mean)
    deviation = s(
        "Sqrt", s("Add", s("ReduceMean", s("Pow", centered, s.number(2.0)), s.integers(-1), keepdims=1), s.number(1e-5))
    )
    normal = s("Add", s("Mul", s("Div", centered, deviation), s.weight(8, shift=1)), s.weight(8))
    parts = s("Split", s("MatMul", normal, s.weight(8, 24)), axis=2, num_outputs=3, outputs=3)
    q, k, v = (s("Transpose", s("Reshape", p, s.integers(0, 0, 2, 4)), perm=[0, 2, 1, 3]) for p in parts)
    scores = s("Mul", s("MatMul", q, s("Transpose", k, perm=[0, 1, 3, 2])), s.number(0.5))
    mixed = s(
        "Reshape", s("Transpose", s("MatMul", s("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3]), s.integers(0, 0, 8)
    )
    y = s("Add", x, s("Add", s("MatMul", mixed, s.weight(8, 8)), s.weight(8)))
    half = s("Mul", y, s("Add", s("Erf", s("Div", y, s.number(1.4142135))), s.number(1.0)))
    return s.finish(s("Mul", half, s.number(0.5)))


def _parts(s: Sketch) -> onnx.ModelProto:
    x, y = s.input("x", [2, 4]), s.input("y", [2, 4])
    items = s("SequenceConstruct", x, y, s("Mul", x, y))
    joined = s("ConcatFromSequence", items, axis=0)
    second = s("SequenceAt", items, s.constant(np.int64(1)))
    return s.finish(s("MatMul", joined, s.weight(4, 3)), s("Sub", second, x))


NETS = (
    net("lstm_full", _lstm_full, bounds={"lengths": (1, 6)}),
    net("gru_both", _gru_both),
    net("rnn_relu", _rnn_relu),
    net("scan", _scan),
    net("while", _while),
    net("branches", _branches),
    net("rotary", _rotary, opset=24),
    net("norms", _norms),
    net("decomposed", _decomposed),
    net("parts", _parts),
)
