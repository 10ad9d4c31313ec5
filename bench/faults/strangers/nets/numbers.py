"""Arithmetic: integers, bits, float64, float16, rounding, logic, indices, transforms."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto

from bench.faults.strangers.nets.sketch import Sketch, net

__all__ = ["NETS"]


def _integers(s: Sketch) -> onnx.ModelProto:
    a, b = s.input("a", ["N", 4], TensorProto.INT64), s.input("b", ["N", 4], TensorProto.INT64)
    divisor = s("Add", s("Abs", b), s.constant(np.int64(3)))
    quotient, rest = s("Div", a, divisor), s("Mod", a, divisor)
    remainder = s("Mod", a, s.constant(np.array([7, -7, 5, -5], np.int64)), fmod=1)
    mixed = s("Sub", s("Mul", quotient, s.constant(np.int64(1000003))), s("Max", rest, remainder))
    narrow = s("Cast", mixed, to=TensorProto.INT8)
    total = s("ReduceSum", mixed, s.integers(1), keepdims=1)
    return s.finish(mixed, narrow, s("CumSum", rest, s.constant(np.int64(1)), reverse=1), s("Sign", total))


def _bits(s: Sketch) -> onnx.ModelProto:
    a, b = s.input("a", ["N", 5], TensorProto.UINT8), s.input("b", ["N", 5], TensorProto.UINT8)
    both, either = s("BitwiseAnd", a, b), s("BitwiseXor", a, s("BitwiseNot", b))
    shifted = s("BitShift", either, s.constant(np.array([1, 2, 3, 1, 2], np.uint8)), direction="RIGHT")
    packed = s("BitwiseOr", shifted, s("BitShift", both, s.constant(np.array(1, np.uint8)), direction="LEFT"))
    return s.finish(packed, s("Cast", packed, to=TensorProto.INT64))


def _statistics(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 6, 6], TensorProto.DOUBLE)
    mean = s("ReduceMean", x, s.integers(2), keepdims=1)
    variance = s("Div", s("ReduceSumSquare", s("Sub", x, mean), s.integers(2), keepdims=1), s.number(5.0))
    z = s("Div", s("Sub", x, mean), s("Sqrt", s("Add", variance, s.number(1e-6))))
    spread = s("ReduceLogSumExp", s("Mul", z, s.number(2.0)), s.integers(1), keepdims=0)
    running = s(
        "CumSum",
        s(
            "Gemm",
            s("ReduceL1", z, s.integers(2), keepdims=0),
            s.weight(6, 6),
            s.weight(6),
            alpha=0.7,
            beta=1.3,
            transB=1,
        ),
        s.constant(np.int64(1)),
        exclusive=1,
    )
    return s.finish(spread, running, s("ReduceProd", z, s.integers(2), keepdims=0))


def _half(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 12], TensorProto.FLOAT16)
    y = s("Relu", s("Add", s("MatMul", x, s.weight(12, 16)), s.weight(16)))
    y = s("Sigmoid", s("Gemm", y, s.weight(8, 16), s.weight(8), transB=1))
    return s.finish(s("Cast", s("Mul", y, s.number(3.0)), to=TensorProto.FLOAT), y)


def _logic(s: Sketch) -> onnx.ModelProto:
    a, b = s.input("a", ["N", 6]), s.input("b", ["N", 6])
    grid = [s("Round", s("Mul", value, s.number(2.0))) for value in (a, b)]
    less, greater = s("Less", *grid), s("GreaterOrEqual", grid[0], s.number(1.0))
    either = s("Or", less, s("And", greater, s("Not", s("Equal", *grid))))
    picked = s("Where", s("Xor", either, s("LessOrEqual", a, b)), a, s("Neg", b))
    smallest = s("Min", picked, a, s.number(1.5))
    return s.finish(smallest, s("Mean", a, b, picked), s("Cast", either, to=TensorProto.INT32))


def _rounding(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 8])
    steps = s("Mul", x, s.number(3.5))
    floor, near, ceil = (
        s("Floor", steps),
        s("Round", s("Div", s("Floor", s("Mul", x, s.number(4.0))), s.number(2.0))),
        s("Ceil", steps),
    )
    rest = s("Mod", steps, s.number(1.25), fmod=1)
    whole = s("Cast", steps, to=TensorProto.INT32)
    byte = s("Cast", s("Mul", whole, s.constant(np.int32(37))), to=TensorProto.UINT8)
    return s.finish(s("Sum", floor, near, ceil), rest, whole, byte, s("Sign", near))


def _moved(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 4, 6])
    first, second, third = s("Split", x, s.integers(2, 2, 2), axis=2, outputs=3)
    joined = s("Concat", third, first, second, axis=2)
    backwards = s("Slice", joined, s.integers(-1, 0), s.integers(-7, 4), s.integers(2, 1), s.integers(-2, 2))
    tiled = s("Tile", backwards, s.integers(1, 2, 1))
    turned = s("Transpose", tiled, perm=[0, 2, 1])
    wide = s("Reshape", turned, s.integers(0, -1, 2))
    square = s("Trilu", s("MatMul", x, s("Transpose", x, perm=[0, 2, 1])), s.constant(np.int64(1)), upper=1)
    return s.finish(
        wide,
        s("Flatten", square, axis=1),
        s("Expand", s("ReduceMin", x, s.integers(1), keepdims=1), s.integers(1, 3, 6)),
    )


def _scattered(s: Sketch) -> onnx.ModelProto:
    x, updates = s.input("x", [5, 4]), s.input("updates", [2, 4])
    rows = s.constant(np.array([[1], [3]], np.int64))
    a = s("ScatterND", x, rows, updates, reduction="add")
    b = s(
        "ScatterElements",
        a,
        s.constant(np.array([[0, 2, 1, 3], [1, 1, 0, 2]], np.int64)),
        updates,
        axis=0,
        reduction="max",
    )
    c = s("GatherND", b, s.constant(np.array([[0, 1], [4, 2], [2, 2]], np.int64)))
    d = s("GatherElements", b, s.constant(np.array([[0, 1, 2, 3], [3, 2, 0, 0]], np.int64)), axis=1)
    kept = s("Compress", b, s.constant(np.array([True, False, True, True, False])), axis=0)
    return s.finish(c, d, kept, s("Gather", b, s.integers(2, 0, 3), axis=0))


def _ranked(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 9])
    coarse = s("Round", s("Mul", x, s.number(2.0)))
    values, places = s("TopK", x, s.integers(3), axis=1, largest=0, sorted=1, outputs=2)
    low, last = s("ArgMin", coarse, axis=1, keepdims=0, select_last_index=1), s("ArgMax", coarse, axis=1, keepdims=1)
    hot = s("OneHot", low, s.constant(np.int64(9)), s.constant(np.array([-1, 2], np.float32)), axis=-1)
    hard = s("Hardmax", x, axis=1)
    return s.finish(values, places, last, s("Mul", s("Add", hot, hard), x))


def _curves(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 5])
    soft = s("Mish", s("Celu", x, alpha=1.4))
    bent = s("Elu", s("Shrink", x, lambd=0.3, bias=0.1), alpha=0.8)
    hard = s("HardSigmoid", s("Selu", x), alpha=0.3, beta=0.4)
    cut = s("ThresholdedRelu", s("PRelu", x, s.weight(5)), alpha=0.4)
    gates = s("Softplus", s("HardSwish", x))
    return s.finish(s("Sum", soft, bent, hard), cut, s("Gelu", gates, approximate="tanh"), s("Erf", s("Softsign", x)))


def _waves(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 7])
    angle = s("Atan", s("Mul", x, s.weight(7)))
    y = s("Add", s("Sin", s("Mul", angle, s.number(3.0))), s("Cos", x))
    z = s("Asinh", s("Sinh", s("Tan", s("Div", angle, s.number(1.7)))))
    return s.finish(y, s("Pow", s("Abs", z), s.number(1.5)), s("Reciprocal", s("Exp", angle)))


def _spectrum(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", 32, 1])
    window = s("HannWindow", s.constant(np.int64(16)), periodic=1)
    frames = s("STFT", x, s.constant(np.int64(8)), window, s.constant(np.int64(16)), onesided=1)
    power = s("ReduceSumSquare", frames, s.integers(3), keepdims=0)
    mel = s(
        "MelWeightMatrix",
        *(s.constant(np.int64(n)) for n in (6, 16, 8000)),
        s.constant(np.float32(0)),
        s.constant(np.float32(4000)),
    )
    features = s("Log", s("Add", s("MatMul", power, mel), s.number(1e-2)))
    whole = s("DFT", x, "", s.constant(np.int64(1)))
    return s.finish(features, whole)


def _sums(s: Sketch) -> onnx.ModelProto:
    a, b = s.input("a", ["N", 4, 4]), s.input("b", ["N", 4, 4])
    y = s("Einsum", a, b, equation="nij,nkj->nik")
    y = s("LpNormalization", s("Sub", y, a), axis=2, p=2)
    z = s("MeanVarianceNormalization", s("Unsqueeze", s("MatMul", a, b), s.integers(1)), axes=[0, 2, 3])
    return s.finish(y, s("ReduceL2", z, s.integers(1, 3), keepdims=0), s("ReduceLogSum", s("Abs", b), s.integers(2)))


def _losses(s: Sketch) -> onnx.ModelProto:
    x, labels = s.input("x", ["N", 5]), s.input("labels", ["N"], TensorProto.INT64)
    loss, shares = s("SoftmaxCrossEntropyLoss", x, labels, s.positive(5), reduction="mean", ignore_index=2, outputs=2)
    other = s("NegativeLogLikelihoodLoss", s("LogSoftmax", x, axis=1), labels, reduction="none")
    return s.finish(loss, shares, other)


def _shapes(s: Sketch) -> onnx.ModelProto:
    x = s.input("x", ["N", "T", 4])
    count = s("Squeeze", s("Shape", x, start=1, end=2))
    ramp = s("Cast", s("Range", s.constant(np.int64(0)), count, s.constant(np.int64(1))), to=TensorProto.FLOAT)
    weights = s("Exp", s("Mul", ramp, s.number(-0.3)))
    mixed = s("Mul", x, s("Unsqueeze", weights, s.integers(0, 2)))
    flat = s("Reshape", mixed, s("Concat", s("Shape", x, end=1), s.integers(-1), axis=0))
    ones = s("ConstantOfShape", s("Shape", flat), value=onnx.helper.make_tensor("", TensorProto.FLOAT, [1], [0.5]))
    eye = s("EyeLike", flat, k=1)
    return s.finish(s("Sub", s("Add", flat, ones), eye), s("ReduceMax", mixed, s.integers(1), keepdims=0))


def _tails(s: Sketch) -> onnx.ModelProto:
    """Small results of Gelu and erf, where approximations show."""
    x = s.input("x", ["N", 6])
    low = s("Clip", x, s.number(-4.0), s.number(-0.1))
    exact, near = s("Gelu", low), s("Gelu", s("Mul", low, s.weight(6, shift=1)), approximate="tanh")
    tail = s("Sub", s.number(1.0), s("Erf", s("Clip", s("Abs", x), s.number(1.0), s.number(2.5))))
    return s.finish(exact, near, s("Mul", tail, s.number(3.0)))


def _offsets(s: Sketch) -> onnx.ModelProto:
    """Weights that differ little from a large number, which is subtracted again."""
    x = s.input("x", ["N", 6])
    y = s("Add", s("MatMul", x, s.weight(6, 5, scale=0.2, shift=20.0)), s.weight(5, scale=0.2, shift=10.0))
    z = s("Sub", y, s("ReduceMean", y, s.integers(1), keepdims=1))
    return s.finish(s("Tanh", s("Gemm", z, s.weight(5, 4), s.weight(4))))


def _clock(s: Sketch) -> onnx.ModelProto:
    """Seconds since 1970 in float64, of which the fraction matters."""
    x = s.input("x", ["N", 4], TensorProto.DOUBLE)
    now = s("Add", s("Mul", x, s.number(0.25)), s.number(1.7e9))
    since = s("Sub", now, s("Floor", s("Div", now, s.number(60.0))))
    day = s("Mod", now, s.number(60.0), fmod=1)
    return s.finish(s("Sin", s("Mul", day, s.number(0.1))), s("ReduceMax", since, s.integers(1), keepdims=0))


_WHOLE = {"a": (-(2.0**40), 2.0**40), "b": (-(2.0**20), 2.0**20)}
NETS = (
    net("integers", _integers, bounds=_WHOLE),
    net("bits", _bits, bounds={"a": (0, 255), "b": (0, 255)}),
    net("statistics", _statistics, dtype=np.float64),
    net("half", _half, dtype=np.float16),
    net("logic", _logic),
    net("rounding", _rounding),
    net("moved", _moved),
    net("scattered", _scattered),
    net("ranked", _ranked),
    net("curves", _curves),
    net("waves", _waves),
    net("spectrum", _spectrum),
    net("sums", _sums),
    net("tails", _tails),
    net("offsets", _offsets),
    net("clock", _clock, dtype=np.float64),
    net("losses", _losses, bounds={"labels": (0, 4)}),
    net("shapes", _shapes),
)
