"""The table of what changed: nodes at old versions, chosen so that the naive reading gives another result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx.helper as oh
from onnx import TensorProto

from tests.passes.old_opsets import N, Row, row
from tests.passes.run_models import run_ort

__all__ = ["rows"]

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


def rows() -> Iterator[Row]:
    yield from _elementwise()
    yield from _broadcasting()
    yield from _normalization()
    yield from _shapes()
    yield from _splits()
    yield from _reductions()
    yield from _indexing()
    yield from _resizing()
    yield from _pooling()
    yield from _recurrent()
    yield from _control()
    yield from _random()
    yield from _classic_ml()


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


def _batch_normalized(x: np.ndarray, scale, b, mean, var, epsilon: float = 1e-5) -> np.ndarray:
    over = (slice(None), *[None] * (x.ndim - 1 - scale.ndim))
    return (x - mean[over]) / np.sqrt(var[over] + np.float32(epsilon)) * scale[over] + b[over]


def _batch_trained(x: np.ndarray, scale, b, mean, var) -> tuple[np.ndarray, ...]:
    axes = (0, *range(2, x.ndim))
    own = x.mean(axes), x.var(axes)
    moved = [0.9 * old + 0.1 * new for old, new in zip((mean, var), own, strict=True)]
    return _batch_normalized(x, scale, b, *own), *(v.astype(np.float32) for v in (*moved, *own))


def _normalization() -> Iterator[Row]:
    per_channel = (N(3), N(3), N(3), N(3, low=0.5))
    per_feature = (N(3, 4), N(3, 4), N(3, 4), N(3, 4, low=0.5))
    for version in (1, 6):
        hint = {"consumed_inputs": [0, 0, 0, 1, 1]} if version == 1 else {}
        yield row("BatchNormalization", version, N(2, 3, 4), *per_channel, is_test=1, want=_batch_normalized, **hint)
        yield row(
            "BatchNormalization", version, N(2, 3, 4), *per_channel, want=lambda *a: _batch_trained(*a)[0], **hint
        )
    yield row("BatchNormalization", 6, N(2, 3, 4), *per_feature, is_test=1, spatial=0, want=_batch_normalized)
    yield row("BatchNormalization", 6, N(2, 3, 4), *per_channel, outputs=5, want=_batch_trained)
    yield row("BatchNormalization", 7, N(2, 3, 4), *per_feature, spatial=0, want=_batch_normalized)
    for version in (7, 9):
        yield row("BatchNormalization", version, N(2, 3, 4, 2), *per_channel, want=_batch_normalized)
        yield row("BatchNormalization", version, N(2, 3, 4), *per_channel, outputs=5, want=_batch_trained)
        yield row("BatchNormalization", version, N(4, 3), *per_channel, outputs=5, want=_batch_trained)
    yield row("BatchNormalization", 14, N(2, 3, 4), *per_channel, outputs=3, training_mode=1)
    yield row("InstanceNormalization", 1, N(2, 3, 4), N(3), N(3), consumed_inputs=[0], want=_instance_normalized)
    yield row("GroupNormalization", 18, N(2, 4, 3), N(2), N(2) + 1, num_groups=2, want=_group_normalized)


def _instance_normalized(x: np.ndarray, scale: np.ndarray, b: np.ndarray) -> np.ndarray:
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + np.float32(1e-5)) * scale[:, None] + b[:, None]


def _group_normalized(x: np.ndarray, scale: np.ndarray, bias: np.ndarray) -> np.ndarray:
    groups = x.reshape(2, 2, 6)
    normalized = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + 1e-5)
    return (normalized * scale[:, None] + bias[:, None]).reshape(x.shape).astype(np.float32)


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


def _scales(*numbers: float) -> np.ndarray:
    return np.array(numbers, np.float32)


def _resizing() -> Iterator[Row]:
    nearest = lambda x: x.repeat(2, 2).repeat(3, 3)  # noqa: E731
    yield row("Upsample", 1, N(1, 2, 2, 3), height_scale=2.0, width_scale=3.0, want=nearest)
    yield row(
        "Upsample", 1, N(1, 1, 1, 2), height_scale=1.0, width_scale=2.0, mode="bilinear",
        want=lambda x: np.stack([x[..., 0], (x[..., 0] + x[..., 1]) / 2, x[..., 1], x[..., 1]], -1),
    )  # fmt: skip
    for mode in ("nearest", "linear"):
        yield row("Upsample", 7, N(1, 2, 2, 3), scales=[1.0, 1.0, 2.0, 2.5], mode=mode)
        for constants in ((), (1,)):
            yield row("Upsample", 9, N(1, 2, 2, 3), _scales(1, 1, 2, 2.5), mode=mode, constants=constants)
            for scales in ((1, 1, 0.6, 0.6), (1, 1, 2, 0.6), (1, 1, 2, 3)):
                yield row("Resize", 10, N(1, 2, 5, 4), _scales(*scales), mode=mode, constants=constants)
    empty = _scales()
    for attributes in ({}, {"mode": "linear"}, {"mode": "cubic"}, {"nearest_mode": "ceil"}):
        yield row("Resize", 11, N(1, 2, 3, 4), empty, _scales(1, 1, 2, 0.5), constants=(1,), **attributes)
        yield row("Resize", 11, N(1, 2, 3, 4), empty, empty, np.array([1, 2, 5, 3]), constants=(1, 2), **attributes)
    for rounding in ("floor", "round_prefer_floor"):
        for scales in ((1, 1, 2, 3), (1, 1, 0.6, 0.75)):
            yield row(
                "Resize", 11, N(1, 2, 5, 4), empty, _scales(*scales), constants=(1,), nearest_mode=rounding,
                coordinate_transformation_mode="tf_half_pixel_for_nn",
            )  # fmt: skip
    yield row(
        "Resize", 11, N(1, 1, 4, 4), _scales(0, 0, 0.4, 0.6, 1, 1, 0.6, 0.8), empty, np.array([1, 1, 3, 3]),
        mode="linear", coordinate_transformation_mode="tf_crop_and_resize",
    )  # fmt: skip
    yield row("Resize", 13, N(1, 2, 3, 4), None, _scales(1, 1, 2, 0.5), mode="linear")
    yield row("Resize", 18, N(1, 2, 3, 4), None, _scales(2, 0.5), mode="linear", axes=[2, 3], antialias=1)
    regions = np.array([[0, 0, 3, 3], [1, 0.5, 2, 4]], np.float32)
    yield row(
        "RoiAlign", 10, N(1, 2, 5, 5), regions, np.array([0, 0]), output_height=2, output_width=2, sampling_ratio=2
    )
    for mode in ("bilinear", "nearest", "bicubic"):
        yield row("GridSample", 16, N(1, 2, 3, 4), N(1, 2, 2, 2, low=-1, high=1), mode=mode)
    yield row("MaxRoiPool", 1, N(1, 2, 5, 5), np.array([[0, 0, 0, 3, 3]], np.float32), pooled_shape=[2, 2])


def _lp_pooled(x: np.ndarray, p: float) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(np.abs(x) ** p, 2, -1)
    return (windows.sum(-1) ** (1 / p)).astype(np.float32)


def _pooling() -> Iterator[Row]:
    for p in (2.0, 3.0, 2.5):
        yield row("LpPool", 1, N(1, 2, 5), p=p, kernel_shape=[2], want=lambda x, p=p: _lp_pooled(x, p))
        yield row(
            "GlobalLpPool", 1, N(1, 2, 3, 4), p=p,
            want=lambda x, p=p: ((np.abs(x) ** p).sum((2, 3), keepdims=True) ** (1 / p)).astype(np.float32),
        )  # fmt: skip
    yield row("GlobalLpPool", 2, N(1, 2, 3, 4), p=3)
    for version in (2, 11, 18):
        yield row("LpPool", version, N(1, 2, 5, 5), p=3, kernel_shape=[2, 3], pads=[1, 0, 1, 1], strides=[2, 1])
    window = {"kernel_shape": [2, 3], "pads": [1, 0, 1, 1], "strides": [2, 1]}
    for version in (1, 7, 10, 11, 19):
        want = _as_of_7("AveragePool", **window) if version == 1 else None
        yield row("AveragePool", version, N(1, 2, 5, 5), want=want, **window)
    for version in (10, 11, 19):
        yield row("AveragePool", version, N(1, 1, 6), kernel_shape=[3], strides=[2], ceil_mode=1, count_include_pad=1)
        yield row("AveragePool", version, N(1, 1, 5), kernel_shape=[2], strides=[3], pads=[0, 1], ceil_mode=1)
    for version in (1, 8, 10, 11, 12):
        outputs = 1 if version == 1 else 2
        yield row(
            "MaxPool", version, N(1, 2, 5, 5), kernel_shape=[2, 3], pads=[1, 0, 1, 1], strides=[2, 1], outputs=outputs
        )
    for version in (10, 11, 12):
        yield row("MaxPool", version, N(1, 1, 5), kernel_shape=[2], strides=[3], pads=[0, 1], ceil_mode=1)
    for auto_pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        yield row("Conv", 1, N(1, 2, 5, 5), N(3, 2, 2, 2), auto_pad=auto_pad, strides=[2, 2])
        yield row("AveragePool", 7, N(1, 2, 5, 5), kernel_shape=[2, 2], auto_pad=auto_pad, strides=[2, 2])
    yield row("ConvTranspose", 1, N(1, 2, 3, 3), N(2, 1, 3, 3), strides=[2, 2], pads=[1, 1, 0, 0])


def _recurrent() -> Iterator[Row]:
    for op, gates, versions in (("RNN", 1, (1, 7, 14)), ("GRU", 3, (1, 3, 7, 14)), ("LSTM", 4, (1, 7, 14))):
        both = (N(2, gates * 3, 2), N(2, gates * 3, 3), N(2, gates * 6))
        one = tuple(weight[:1] for weight in both)
        outputs = 3 if op == "LSTM" else 2
        for version in versions:
            for weights, direction in ((both, {"direction": "bidirectional"}), (one, {})):
                yield row(
                    op,
                    version,
                    N(4, 2, 2),
                    *weights,
                    hidden_size=3,
                    outputs=outputs,
                    want=_as_of_7(op, outputs, hidden_size=3, **direction) if version < 7 else None,
                    **direction,
                    **({"output_sequence": 1} if version < 7 else {}),
                )


def _as_of_7(op: str, outputs: int = 1, **attributes: Any) -> Callable[..., Any]:
    """What ONNX Runtime gives for version 7: for older ones that it does not run and whose formulas are the same."""

    def run(*arrays: np.ndarray) -> list[np.ndarray]:
        names = [f"x{i}" for i in range(len(arrays))]
        node = oh.make_node(op, names, [f"y{i}" for i in range(outputs)], **attributes)
        inputs = [oh.make_tensor_value_info(n, TensorProto.FLOAT, a.shape) for n, a in zip(names, arrays, strict=True)]
        results = [oh.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, None) for i in range(outputs)]
        graph = oh.make_graph([node], "seven", inputs, results)
        model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 7)], ir_version=8)
        return run_ort(model, dict(zip(names, arrays, strict=True)))

    return run


def _scan_body():
    """state += element; gives twice the state."""
    nodes = [oh.make_node("Add", ["s", "e"], ["t"]), oh.make_node("Add", ["t", "t"], ["o"])]
    info = [oh.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("s", "e", "t", "o")]
    return oh.make_graph(nodes, "body", info[:2], info[2:])


def _scanned(lengths: np.ndarray | None, start: np.ndarray, x: np.ndarray, backwards: bool = False):
    states, outputs = [], np.zeros_like(x)
    for b in range(x.shape[0]):
        length = x.shape[1] if lengths is None else int(lengths[b])
        state = start[b]
        elements = x[b, :length][::-1] if backwards else x[b, :length]
        for t, element in enumerate(elements):
            state = state + element
            outputs[b, t] = 2 * state
        states.append(state)
    return np.stack(states), outputs


def _control() -> Iterator[Row]:
    start, x = N(3, 2), N(3, 4, 2)
    body = {"body": _scan_body(), "num_scan_inputs": 1, "outputs": 2}
    yield row("Scan", 8, None, start, x, want=_scanned, **body)
    yield row("Scan", 8, np.array([4, 1, 2]), start, x, want=_scanned, **body)
    yield row("Scan", 8, None, start, x, directions=[1], want=lambda *a: _scanned(*a, backwards=True), **body)
    yield row(
        "Scan", 8, np.array([4, 1, 2]), start, x, directions=[1], want=lambda *a: _scanned(*a, backwards=True), **body
    )


def _random() -> Iterator[Row]:
    for op in ("RandomNormal", "RandomUniform"):
        yield row(op, 1, shape=[2, 3], random=True)
        yield row(f"{op}Like", 1, N(2, 3), random=True)
    yield row("Multinomial", 7, N(2, 3), sample_size=4, random=True)


def _classic_ml() -> Iterator[Row]:
    ml = "ai.onnx.ml"
    labels = {"classes_strings": ["a", "b", "c"], "default_int64": 7, "default_string": "none"}
    words, numbers = np.array(["c", "x", "a"], object), np.array([2, 9, 0])
    yield row("LabelEncoder", 1, words, domain=ml, want=lambda x: np.array([2, 7, 0]), **labels)
    yield row("LabelEncoder", 1, numbers, domain=ml, want=lambda x: np.array(["c", "none", "a"], object), **labels)
    yield row("LabelEncoder", 2, numbers, domain=ml, keys_int64s=[2, 0], values_floats=[0.5, 1.5])
    tree = {
        "nodes_falsenodeids": [2, 0, 0],
        "nodes_featureids": [0, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_nodeids": [0, 1, 2],
        "nodes_treeids": [0, 0, 0],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_values": [0.1, 0.0, 0.0],
    }
    for version in (1, 3):
        yield row(
            "TreeEnsembleRegressor", version, N(4, 2), domain=ml, n_targets=1, target_ids=[0, 0],
            target_nodeids=[1, 2], target_treeids=[0, 0], target_weights=[0.25, 0.75], **tree,
        )  # fmt: skip
        yield row(
            "TreeEnsembleClassifier", version, N(4, 2), domain=ml, outputs=2, class_ids=[0, 2],
            class_nodeids=[1, 2], class_treeids=[0, 0], class_weights=[0.25, 0.75],
            classlabels_int64s=[3, 5, 7], **tree,
        )  # fmt: skip
