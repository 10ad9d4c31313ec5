"""What changed in operators on tensors: old nodes, chosen so that the naive reading gives another result."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.passes.old_row import N, Row, row

__all__ = ["tensor_rows"]

INPLACE = {
    "Abs": np.abs,
    "Ceil": np.ceil,
    "Exp": np.exp,
    "Floor": np.floor,
    "Neg": np.negative,
    "Reciprocal": np.reciprocal,
    "Relu": lambda x: np.maximum(x, 0),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Tanh": np.tanh,
    "Elu": lambda x: np.where(x < 0, np.expm1(x), x),
    "LeakyRelu": lambda x: np.where(x < 0, np.float32(0.01) * x, x),
    "HardSigmoid": lambda x: np.clip(np.float32(0.2) * x + np.float32(0.5), 0, 1),
    # The defaults of version 1 had fewer digits.
    "Selu": lambda x: np.float32(1.0507) * np.where(x < 0, np.float32(1.6732) * np.expm1(x), x),
}
BINARY = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}
LOGIC = {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}
COMPARE = {"Equal": np.equal, "Greater": np.greater, "Less": np.less}
REDUCTIONS = "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare"


def tensor_rows() -> Iterator[Row]:
    """All rows."""
    yield from _elementwise()
    yield from _broadcasting()
    yield from _shapes()
    yield from _splits()
    yield from _reductions()
    yield from _indexing()
    yield from _on_trial()


def _elementwise() -> Iterator[Row]:
    for op, function in INPLACE.items():
        yield row(op, 1, N(3, 4), consumed_inputs=[0], want=function)
    yield row("Log", 1, N(5, low=0.1), consumed_inputs=[0], want=np.log)
    yield row("Sqrt", 1, N(5, low=0.1), consumed_inputs=[0], want=np.sqrt)
    for op, function in {"Max": np.maximum, "Min": np.minimum, "Sum": np.add}.items():
        yield row(op, 1, N(2, 3), -N(2, 3), consumed_inputs=[0, 0], want=function)
    yield row("Mean", 1, N(2, 3), N(2, 3) * 3, want=lambda a, b: (a + b) / 2)
    extremes = np.array([np.inf, -np.inf, np.nan, 3, -3], np.float32)
    largest = np.finfo(np.float32).max
    for version in (1, 6):
        yield row("Clip", version, N(3, 4), min=-0.5, max=0.75, want=lambda x: np.clip(x, -0.5, 0.75))
        yield row("Clip", version, N(3, 4), max=0.75, want=lambda x: np.minimum(x, 0.75))
        yield row("Clip", version, extremes, want=lambda x: np.clip(x, -largest, largest))
        yield row("PRelu", version, N(2, 3, 4), N(3), want=lambda x, s: np.where(x < 0, s[:, None] * x, x))
        yield row("PRelu", version, N(2, 3, 4), N(1), want=lambda x, s: np.where(x < 0, s * x, x))
    yield row("Clip", 6, N(3).astype(np.float64), min=-0.5, max=0.5, want=lambda x: np.clip(x, -0.5, 0.5))
    yield row("Cast", 1, N(3) * 9, to="INT32", want=lambda x: x.astype(np.int32))
    yield row("Cast", 1, np.array([0, 1, 3], np.int32), to="BOOL", want=lambda x: x.astype(bool))
    yield row("Erf", 9, np.array([0, 1, -9, 9], np.int32), want=lambda x: np.array([0, 0, -1, 1], np.int32))
    for version in (1, 6):
        yield row("Dropout", version, N(3, 4), is_test=1, ratio=0.3, want=lambda x: x)
        yield row("Dropout", version, N(3, 4), outputs=2, random=True, want=lambda x: (x, x))
    yield row("Dropout", 7, N(3, 4), outputs=2, want=lambda x: (x, np.ones_like(x)))
    yield row("Dropout", 10, N(3, 4), outputs=2, want=lambda x: (x, np.ones(x.shape, bool)))


def _broadcasting() -> Iterator[Row]:
    for op, function in BINARY.items():
        for version in (1, 6):
            yield row(op, version, N(2, 3), N(2, 3) + 3, want=function)
            yield row(op, version, N(2, 3, 4), N(3, 4) + 3, broadcast=1, want=function)
            yield row(
                op, version, N(2, 3, 4), N(3) + 3, broadcast=1, axis=1, want=lambda a, b, f=function: f(a, b[:, None])
            )
            yield row(
                op, version, N(2, 3, 3), N(2, 3), broadcast=1, axis=0, want=lambda a, b, f=function: f(a, b[..., None])
            )
            yield row(op, version, N(2, 3, 4), N(4), broadcast=1, axis=-1, want=function)
            yield row(op, version, N(2, 3), N(), broadcast=1, want=function)
    for op, function in {**LOGIC, **COMPARE}.items():
        a, b = (N(3, 2, 3).round(), N(3).round()) if op in COMPARE else (N(3, 2, 3) > 0, N(3) > 0)
        if op == "Equal":
            a, b = a.astype(np.int32), b.astype(np.int32)
        yield row(op, 1, a, b, broadcast=1, axis=0, want=lambda a, b, f=function: f(a, b[:, None, None]))
        yield row(op, 1, a, b, broadcast=1, want=function)
    yield row("Pow", 1, N(3, 2, 3, low=0.5), N(3), broadcast=1, axis=0, want=lambda a, b: a ** b[:, None, None])
    for version in (1, 6):
        gemm = {"alpha": 0.5, "beta": 2.0, "transB": 1}
        yield row(
            "Gemm", version, N(2, 3), N(4, 3), N(4), broadcast=1, want=lambda a, b, c: 0.5 * a @ b.T + 2 * c, **gemm
        )


def _shapes() -> Iterator[Row]:
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        for version in (1, 11):
            for axis in (0, 1, 2):
                yield row(op, version, N(2, 3, 4), axis=axis)
            yield row(op, version, N(2, 3, 4))
        yield row(op, 11, N(2, 3, 4), axis=-2)
        yield row(op, 11, N(2, 0, 4), axis=1)
    yield row("Reshape", 1, N(2, 3, 4), shape=[0, -1, 2], want=lambda x: x.reshape(2, 6, 2))
    yield row("Concat", 1, N(2, 3), N(2, 2), want=lambda a, b: np.concatenate([a, b], 1))
    yield row("Concat", 1, N(2, 3), N(4, 3), axis=0, want=lambda a, b: np.concatenate([a, b], 0))
    yield row(
        "Pad",
        1,
        N(2, 3),
        paddings=[1, 0, 0, 2],
        value=0.5,
        want=lambda x: np.pad(x, [(1, 0), (0, 2)], constant_values=0.5),
    )
    yield row("Pad", 2, N(2, 3), pads=[1, 0, 0, 2], value=0.5)
    yield row("Pad", 2, N(2, 3).astype(np.float64), pads=[1, 0, -1, 2], value=0.1)
    yield row("Pad", 2, N(3, 4), pads=[1, 0, 0, 2], mode="reflect")
    yield row("Pad", 2, N(3, 4), pads=[1, 0, 0, 2], mode="edge")
    yield row("Pad", 11, N(3, 4), np.array([1, 0, 0, 2]), np.float32(7))
    yield row("Pad", 13, N(3, 4), np.array([1, 0, 0, 2]), mode="reflect")
    yield row("Slice", 1, N(4, 5, 2), starts=[1, -3], ends=[9, -1])
    yield row("Slice", 1, N(4, 5), starts=[1], ends=[2**31 - 1], axes=[1])
    yield row("Slice", 10, N(4, 5), np.array([3]), np.array([0]), np.array([1]), np.array([-2]))
    for axes in ([0], [0, 2]):
        for version in (1, 11):
            yield row("Squeeze", version, N(1, 3, 1), axes=axes)
            yield row("Unsqueeze", version, N(3, 2), axes=axes)
    yield row("Squeeze", 11, N(1, 3, 1), axes=[-1])
    yield row("Squeeze", 11, N(1, 3, 1))
    yield row("Unsqueeze", 11, N(3, 2), axes=[-1, 0])
    yield row("Tile", 1, N(2, 3), np.float32(3), np.float32(1), want=lambda x, tiles, axis: np.concatenate([x] * 3, 1))
    yield row("DepthToSpace", 1, N(1, 8, 2, 3), blocksize=2)
    yield row("DFT", 17, N(2, 5, 1))
    yield row("DFT", 17, N(2, 5, 4, 2), axis=2, inverse=1)
    yield row("DFT", 17, N(2, 5, 1), np.array(7), axis=1, onesided=1)


def _splits() -> Iterator[Row]:
    yield row("Split", 1, N(4, 2), outputs=2, want=lambda x: np.split(x, 2))
    yield row("Split", 1, N(2, 5), outputs=2, axis=1, split=[2, 3], want=lambda x: np.split(x, [2], 1))
    yield row(
        "Split", 1, N(2, 5), np.array([2, 3], np.float32), outputs=2, axis=1, want=lambda x, s: np.split(x, [2], 1)
    )
    for version in (2, 11):
        yield row("Split", version, N(2, 6), outputs=3, axis=1)
        yield row("Split", version, N(5, 2), outputs=2, split=[1, 4])
    yield row("Split", 11, N(2, 6), outputs=3, axis=-1)
    yield row("Split", 13, N(2, 6), outputs=3, axis=1)
    yield row("Split", 13, N(5, 2), np.array([1, 4]), outputs=2)


def _reductions() -> Iterator[Row]:
    for name in REDUCTIONS.split():
        op = f"Reduce{name}"
        for version in (1, 11) if name == "Sum" else (1, 11, 12, 13) if name in ("Max", "Min") else (1, 11, 13):
            yield row(op, version, N(2, 3, 4, low=0.5))
            yield row(op, version, N(2, 3, 4, low=0.5), axes=[0, 2], keepdims=0)
            if version > 1:
                yield row(op, version, N(2, 3, 4, low=0.5), axes=[-1])
    numbers = np.array([[5, 7, 900], [1, 1, 0]], np.int32)
    yield row("ReduceLogSum", 18, numbers, np.array([1]), want=lambda x, a: np.array([[6], [0]], np.int32))
    yield row("ReduceLogSumExp", 18, numbers[1:], np.array([1]), want=lambda x, a: np.array([[1]], np.int32))


def _indexing() -> Iterator[Row]:
    yield row("TopK", 1, N(3, 5), k=2, outputs=2)
    yield row("TopK", 1, N(5, 3), k=4, axis=0, outputs=2)
    yield row("TopK", 10, N(3, 5), np.array([2]), outputs=2)
    yield row("Scatter", 9, N(3, 3), np.array([[1, 0, 2], [0, 2, 1]]), N(2, 3))
    yield row("Scatter", 9, N(1, 5), np.array([[1, 3]]), N(1, 2), axis=1)
    off_on = np.array([0.5, 2], np.float32)
    spread = np.array([[0.5, 0.5, 0.5], [2, 0.5, 0.5], [0.5, 0.5, 0.5], [0.5, 0.5, 2]], np.float32)
    # ONNX Runtime counts negative indices from the back at version 9 too; its text makes them out of range.
    yield row("OneHot", 9, np.array([-1, 0, 3, 2]), np.array(3), off_on, want=lambda *_: spread)
    yield row(
        "OneHot", 9, np.array([-1, 0, 3, 2], np.float32), np.array([3.0], np.float32), off_on, want=lambda *_: spread
    )
    yield row("OneHot", 9, np.array(-2), np.array(3), off_on, want=lambda *_: spread[0])
    yield row("OneHot", 9, np.array([[1, 2]]), np.array(3), off_on, axis=1)


def _on_trial() -> Iterator[Row]:
    """Operators before their first schema; ONNX Runtime still runs most."""
    image = N(1, 2, 4, 5)
    for op in ("Affine", "ParametricSoftplus", "ScaledTanh"):
        yield row(op, 0, image, alpha=2.0, beta=0.5)
    yield row("Scale", 0, image, scale=2.0)
    yield row("ImageScaler", 0, image, scale=2.0, bias=[1.0, -1.0])
    yield row("Crop", 0, image, border=[1, 0, 2, 1])
    yield row("Crop", 0, image, border=[1, 0, 2, 1], scale=[2, 3])
    yield row("ThresholdedRelu", 0, image, alpha=0.5)
    for across in (0, 1):
        yield row("MeanVarianceNormalization", 0, image, across_channels=across)
        yield row("MeanVarianceNormalization", 0, image, across_channels=across, normalize_variance=0)
    yield row("DynamicSlice", 0, image, np.array([0, 1]), np.array([1, 2]), want=lambda x, *_: x[:1, 1:2])
    yield row("DynamicSlice", 0, image, np.array([1]), np.array([-1]), np.array([3]), want=lambda x, *_: x[..., 1:-1])
    filled = np.full((2, 3), 1.5, np.float32)
    yield row("ConstantFill", 0, shape=[2, 3], value=1.5, want=lambda: filled)
    yield row("ConstantFill", 0, np.array([2, 3]), input_as_shape=1, value=1.5, want=lambda x: filled)
    yield row("ConstantFill", 0, N(2), extra_shape=[3], value=1.5, want=lambda x: filled)
    yield row("GivenTensorFill", 0, shape=[2, 1], values=[1.0, 2.0], want=lambda: np.array([[1], [2]], np.float32))
