"""What changed in operators of networks: old nodes, chosen so that the naive reading gives another result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
from onnx import TensorProto

from tests.passes.old_row import N, Row, row
from tests.passes.run_models import run_ort

__all__ = ["network_rows"]


def network_rows() -> Iterator[Row]:
    """All rows."""
    yield from _normalization()
    yield from _resizing()
    yield from _pooling()
    yield from _recurrent()
    yield from _control()
    yield from _random()
    yield from _classic_ml()


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
    half = {"coordinate_transformation_mode": "tf_half_pixel_for_nn"}
    for rounding in ("floor", "round_prefer_floor", "ceil", "round_prefer_ceil"):
        for scales in ((1, 1, 2, 3), (1, 1, 0.7, 0.8)):
            how = {"nearest_mode": rounding, **half}
            yield row("Resize", 11, N(1, 2, 5, 4), empty, _scales(*scales), constants=(1,), **how)
        yield row("Resize", 11, N(1, 2, 5, 4), empty, empty, np.array([1, 2, 4, 9]), constants=(1, 2, 3), **how)
    for mode in ("linear", "cubic"):
        yield row("Resize", 11, N(1, 2, 5, 4), empty, _scales(1, 1, 2, 0.5), constants=(1,), mode=mode, **half)
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


def _scan_body() -> onnx.GraphProto:
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
