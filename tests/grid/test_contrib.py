"""ONNX Runtime's own operators, against ONNX Runtime: integers equal, floats within the declared bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.grid.contrib import check_contrib, floats, integers, scalar
from trueport.fidelity import ErrorBound

EIGHT_BITS = [np.uint8, np.int8]


def every(dtype: Any) -> np.ndarray:
    info = np.iinfo(dtype)
    return np.arange(info.min, info.max + 1).astype(dtype)


def parameters(seed: int, dtype: Any) -> list[np.ndarray]:
    """A scale and a zero point."""
    rng = np.random.default_rng(seed)
    info = np.iinfo(dtype)
    return [scalar(rng.uniform(0.002, 0.1)), scalar(rng.integers(info.min, info.max + 1), dtype)]


@pytest.mark.parametrize("dtype", EIGHT_BITS)
@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("seed", [1, 4])
def test_binary_for_every_pair(op: str, dtype: Any, seed: int) -> None:
    a, b = (x.ravel() for x in np.meshgrid(every(dtype), every(dtype)))
    qa, qb, qc = (parameters(3 * seed + i, dtype) for i in range(3))
    sets = [[x, *qa, y, *qb, *qc] for x, y in ((a, b), (a[:0], b[:0]))]
    check_contrib(op, *sets)
    check_contrib(op, sets[0], constants=[1, 2, 4, 5, 6, 7])


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_binary_broadcasts_and_halves(op: str) -> None:
    a, b = integers((2, 3, 4), np.uint8), integers((4,), np.uint8, 1)
    half, one, zero = scalar(0.5), scalar(1), scalar(3, np.uint8)
    check_contrib(op, [a, half, zero, b.reshape(1, 1, 4), half, zero, one, zero])


@pytest.mark.parametrize("dtype", EIGHT_BITS)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("constants", [[], [1, 2, 3, 4]], ids=["fed", "constant"])
@pytest.mark.parametrize("op", ["QLinearSigmoid", "QLinearLeakyRelu"])
def test_unary_for_every_value(op: str, dtype: Any, seed: int, constants: list[int]) -> None:
    inputs = [every(dtype), *parameters(seed, dtype), *parameters(seed + 9, dtype)]
    check_contrib(op, inputs, constants=constants, alpha=0.2 if op == "QLinearLeakyRelu" else None)


@pytest.mark.parametrize("dtype", EIGHT_BITS)
@pytest.mark.parametrize(("opset", "axis"), [(13, -1), (13, 1), (12, 1)])
def test_softmax(dtype: Any, opset: int, axis: int) -> None:
    x = integers((3, 7, 20), dtype)
    info = np.iinfo(dtype)
    out = [scalar(1 / 256), scalar(info.min, dtype)]
    check_contrib("QLinearSoftmax", [x, *parameters(1, dtype), *out], opset=opset, axis=axis)


@pytest.mark.parametrize("dtype", EIGHT_BITS)
def test_concat_and_where(dtype: Any) -> None:
    (qa, qb, qc), x = ([parameters(i, dtype) for i in (1, 2, 3)]), every(dtype)
    check_contrib("QLinearConcat", [*qc, x, *qa, x[::-1].copy(), *qb], axis=0)
    condition = np.random.default_rng(0).integers(0, 2, 256).astype(bool)
    check_contrib("QLinearWhere", [condition, x, *qa, x[::-1].copy(), *qb, *qc])


@pytest.mark.parametrize("dtype", EIGHT_BITS)
@pytest.mark.parametrize("channels_last", [0, 1])
def test_global_average_pool(dtype: Any, channels_last: int) -> None:
    q = [*parameters(1, dtype), *parameters(2, dtype)]
    sets = [[integers(shape, dtype), *q] for shape in ((2, 3, 5, 7), (1, 4, 6, 6))]
    check_contrib("QLinearGlobalAveragePool", *sets, channels_last=channels_last)


@pytest.mark.parametrize("dtype", EIGHT_BITS)
@pytest.mark.parametrize(
    "window",
    [
        {"kernel_shape": [3, 3]},
        {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [1, 0, 0, 1]},
        {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 1, 1, 1], "count_include_pad": 1},
        {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
        {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER", "channels_last": 1},
    ],
)
def test_average_pool(dtype: Any, window: dict[str, Any]) -> None:
    q = [*parameters(1, dtype), *parameters(2, dtype)]
    check_contrib("QLinearAveragePool", *([integers(s, dtype), *q] for s in ((2, 8, 7, 6), (1, 9, 5, 4))), **window)


def test_average_pool_of_ties() -> None:
    same = [scalar(0.1), scalar(5, np.uint8)]
    check_contrib("QLinearAveragePool", [integers((1, 2, 32, 32), np.uint8), *same, *same], kernel_shape=[2, 2])


@pytest.mark.parametrize("dtype", EIGHT_BITS)
def test_nhwc_max_pool(dtype: Any) -> None:
    check_contrib(
        "NhwcMaxPool", [integers((2, 7, 6, 3), dtype)], kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1]
    )


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16])
def test_quantize_and_dequantize(dtype: Any) -> None:
    scale, zero = parameters(1, dtype)
    x = floats(5, 200) * 3
    check_contrib("QuantizeLinear", [x, scale, zero])
    check_contrib("DequantizeLinear", [integers((4, 5), dtype), scale, zero])
    scales, zeros = np.array([0.1, 0.02, 0.5, 3, 1e-3], np.float32), integers((5,), dtype)
    check_contrib("QuantizeLinear", [x, scales, zeros], axis=0, constants=[1, 2])
    check_contrib("DequantizeLinear", [integers((4, 5), dtype), scales, zeros], axis=1)


@pytest.mark.parametrize(("a", "b"), [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
@pytest.mark.parametrize("per_column", [False, True])
def test_products_to_float(a: Any, b: Any, per_column: bool) -> None:
    x, w = integers((2, 4, 16), a), integers((16, 5), b)
    scale = np.linspace(0.01, 0.03, 5).astype(np.float32) if per_column else scalar(0.02)
    zero = integers((5,), b, 3) if per_column else scalar(3, b)
    inputs = [x, w, scalar(0.1), scale, scalar(7, a), zero, floats(5)]
    check_contrib("MatMulIntegerToFloat", inputs, [integers((1, 3, 16), a), *inputs[1:]])
    check_contrib("MatMulIntegerToFloat", [*inputs[:4], None, None, None], constants=[1, 3])
    if a == np.uint8:
        check_contrib("DynamicQuantizeMatMul", [floats(2, 4, 16), w, scale, zero, floats(5)], constants=[1, 2, 3])
        check_contrib("DynamicQuantizeMatMul", [floats(4, 16), w, scale, None, None])


def test_16_bit_product() -> None:
    check_contrib("MatMulInteger16", [integers((3, 40), np.int16), integers((40, 5), np.int16)])


@pytest.mark.parametrize(("a", "b"), [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
@pytest.mark.parametrize("quantized", [False, True])
@pytest.mark.parametrize("turned", [0, 1])
def test_qgemm(a: Any, b: Any, quantized: bool, turned: int) -> None:
    x, w = integers((4, 300), a), integers((300, 6), b)
    x, w = (x.T.copy(), w.T.copy()) if turned else (x, w)
    scales, zeros = np.linspace(1e-3, 3e-3, 6).astype(np.float32), integers((6,), b)
    c = np.arange(-3, 3).astype(np.int32) * 1000
    y = [scalar(0.07), scalar(3, a)] if quantized else [None, None]
    inputs = [x, scalar(0.02), scalar(9, a), w, scales, zeros, c, *y]
    check_contrib("QGemm", inputs, transA=turned, transB=turned, alpha=1.5)
    check_contrib("QGemm", inputs, transA=turned, transB=turned, constants=[3, 4, 5, 6])


@pytest.mark.parametrize("channels_last", [0, 1])
@pytest.mark.parametrize("constants", [[], [3, 4, 5]], ids=["fed", "constant"])
def test_qlinear_conv_of_either_layout(channels_last: int, constants: list[int]) -> None:
    x, w = integers((2, 6, 7, 8), np.uint8), integers((4, 8 if channels_last else 6, 3, 3), np.int8)
    scales = np.linspace(1e-3, 3e-3, 4).astype(np.float32)
    inputs = [x, scalar(0.02), scalar(9, np.uint8), w, scales, np.zeros(4, np.int8), scalar(0.3), scalar(99, np.uint8)]
    bias = np.arange(4).astype(np.int32) * 500
    check_contrib("QLinearConv", [*inputs, bias], constants=constants, channels_last=channels_last, pads=[1, 1, 1, 1])


@pytest.mark.parametrize(
    ("activation", "params"),
    [
        ("Relu", []),
        ("Tanh", []),
        ("Sigmoid", []),
        ("LeakyRelu", [0.1]),
        ("Clip", [-0.5, 0.7]),
        ("HardSigmoid", [0.2, 0.5]),
    ],
)
def test_fused_conv(activation: str, params: list[float]) -> None:
    inputs = [floats(2, 3, 8, 7), floats(4, 3, 3, 3, seed=1), floats(4, seed=2)]
    attributes = {"activation": activation, "activation_params": params or None, "pads": [1, 1, 1, 1]}
    check_contrib("FusedConv", [*inputs, None], constants=[1, 2], terms=27, **attributes)
    check_contrib("FusedConv", [*inputs, floats(2, 4, 8, 7, seed=3)], terms=27, **attributes)


@pytest.mark.parametrize(
    ("activation", "params"),
    [
        ("Relu", {}),
        ("Tanh", {}),
        ("Sigmoid", {}),
        ("LeakyRelu", {"activation_alpha": 0.1}),
        ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4}),
        ("Elu", {"activation_alpha": 0.5}),
        ("Softplus", {}),
        ("Softsign", {}),
        ("ThresholdedRelu", {"activation_alpha": 0.5}),
    ],
)
def test_fused_gemm(activation: str, params: dict[str, float]) -> None:
    inputs = [floats(5, 6), floats(4, 6, seed=1), floats(4, seed=2)]
    check_contrib("FusedGemm", inputs, activation=activation, transB=1, alpha=0.7, terms=6, **params)


@pytest.mark.parametrize("op", ["FusedMatMul", "TransposeMatMul"])
@pytest.mark.parametrize(("a", "b", "turned"), [((2, 5, 3), (2, 5, 4), (1, 0)), ((2, 3, 5), (4, 5), (0, 1))])
def test_fused_mat_mul(op: str, a: tuple[int, ...], b: tuple[int, ...], turned: tuple[int, int]) -> None:
    check_contrib(op, [floats(*a), floats(*b, seed=1)], transA=turned[0], transB=turned[1], alpha=0.125, terms=5)


def test_fused_mat_mul_of_moved_batches() -> None:
    a, b = floats(3, 2, 4, 5), floats(5, 2, 4, 6, seed=1)
    check_contrib("FusedMatMul", [a, b], transBatchA=1, transBatchB=1, terms=5)
    check_contrib("FusedMatMul", [floats(5), floats(5, 6, seed=1)], transA=1, terms=5)


def test_gelus() -> None:
    x = np.concatenate([np.linspace(-12, 12, 200), [0.0, -0.0, 1e-6, -60, 60]]).astype(np.float32).reshape(5, 41)
    check_contrib("Gelu", [x])
    check_contrib("BiasGelu", [x, floats(41)])
    check_contrib("FastGelu", [x, floats(41)])
    check_contrib("FastGelu", [x, None])
    check_contrib("QuickGelu", [x])
    check_contrib("QuickGelu", [x], alpha=1.0)


@pytest.mark.parametrize("biased", [False, True])
def test_skip_layer_normalization(biased: bool) -> None:
    x, skip, gamma, beta = floats(2, 3, 8), floats(2, 3, 8, seed=1), floats(8, seed=2), floats(8, seed=3)
    bias = floats(8, seed=4) if biased else None
    check_contrib("SkipLayerNormalization", [x, skip, gamma, beta, bias], epsilon=1e-5, terms=8)
    check_contrib("SkipLayerNormalization", [x, skip[:1], gamma, None, bias], epsilon=1e-5, terms=8)
    check_contrib("SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], epsilon=1e-5, terms=8)


@pytest.mark.parametrize("axis", [-1, 1, 0])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_simplified_layer_normalization(axis: int, dtype: Any) -> None:
    sets = [[floats(n, 3, 8).astype(dtype), floats(*(n, 3, 8)[axis:], seed=1).astype(dtype)] for n in (2, 5)]
    check_contrib("SimplifiedLayerNormalization", *sets, domain="", axis=axis, epsilon=1e-5, terms=24)


def test_layer_normalization_before_it_was_onnx_s() -> None:
    sets = [[floats(n, 3, 8), floats(8, seed=1), floats(8, seed=2)] for n in (2, 5)]
    check_contrib("LayerNormalization", *sets, domain="", onnx_opset=16, axis=-1, epsilon=1e-5, terms=8)


def test_skip_sum_is_an_output() -> None:
    inputs = [floats(2, 3, 8), floats(2, 3, 8, seed=1), floats(8, seed=2), floats(8, seed=3), floats(8, seed=4)]
    check_contrib("SkipLayerNormalization", inputs, outputs=["y", "", "", "s"], epsilon=1e-5, terms=8)
    check_contrib("SkipSimplifiedLayerNormalization", [*inputs[:3], inputs[4]], outputs=["y", "", "", "s"], terms=8)


@pytest.mark.parametrize("segments", [False, True])
def test_embed_layer_normalization(segments: bool) -> None:
    rng = np.random.default_rng(0)
    ids, kinds = rng.integers(0, 9, (2, 5)).astype(np.int32), rng.integers(0, 2, (2, 5)).astype(np.int32)
    word, position, segment = floats(9, 8), floats(6, 8, seed=1), floats(2, 8, seed=2)
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    some = [kinds, word, position, segment] if segments else [None, word, position, None]
    tables = [2, 3, 4] if segments else [2, 3]
    rest = {"constants": [*tables, 5, 6], "terms": 8}
    check_contrib("EmbedLayerNormalization", [ids, *some, floats(8), floats(8), mask], outputs=2, **rest)
    check_contrib("EmbedLayerNormalization", [ids, *some, floats(8), floats(8), None], outputs=["y", "m", "s"], **rest)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("dtype", EIGHT_BITS)
@pytest.mark.parametrize("full", [False, True])
def test_dynamic_quantize_lstm(direction: str, dtype: Any, full: bool) -> None:
    n, wide, hidden, batch = 2 if direction == "bidirectional" else 1, 5, 4, 2
    w, r = integers((n, wide, 4 * hidden), dtype), integers((n, hidden, 4 * hidden), dtype, 1)
    scale = np.full((n, 4 * hidden), 0.01, np.float32) if full else np.full(n, 0.01, np.float32)
    zero = np.full(scale.shape, 0 if dtype is np.int8 else 128, dtype)
    more: list[Any] = [floats(n, 8 * hidden), None, None, None, None]
    if full:
        lengths, states = np.array([6, 4], np.int32), [floats(n, batch, hidden, seed=i) for i in (3, 4)]
        more = [floats(n, 8 * hidden), lengths, *states, floats(n, 3 * hidden, seed=5)]
    inputs = [floats(6, batch, wide), w, r, *more, scale, zero, scale, zero]
    constants = [i for i in (1, 2, 3, 8, 9, 10, 11) if inputs[i] is not None]
    # A step of a state, times the weights of a gate: 0.01 · 128 / 255 for each of the four, far from always.
    check_contrib(
        "DynamicQuantizeLSTM",
        inputs,
        outputs=3,
        constants=constants,
        direction=direction,
        hidden_size=hidden,
        bound=ErrorBound(0.02 / np.finfo(np.float32).eps, 1e-9),
    )


def test_kin_of_onnx_operators() -> None:
    x = floats(3, 4, 5)
    check_contrib("Trilu", [x, scalar(1, np.int64)], upper=0)
    check_contrib("Trilu", [x, None])
    check_contrib("GatherND", [x, np.array([[0, 1], [2, 3]], np.int64)])
    check_contrib("ExpandDims", [x, np.array([1], np.int32)], constants=[1])
    check_contrib("ExpandDims", [x, scalar(-1, np.int32)], constants=[1])
    for mode in ("constant", "reflect", "edge"):
        check_contrib("Pad", [x, np.array([1, 0, 2, 0, 1, 1], np.int64), scalar(7)], constants=[1], mode=mode)
    check_contrib("Unique", [np.array([2, 1, 1, 3, 4, 3], np.float32)], outputs=3)
    check_contrib("Range", [scalar(1), scalar(9), scalar(0.5)])
    check_contrib("Range", [scalar(1, np.int64), scalar(9, np.int64), None])


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sample(mode: str, padding: str) -> None:
    grid = np.random.default_rng(1).uniform(-1.2, 1.2, (2, 3, 4, 2)).astype(np.float32)
    check_contrib("GridSample", [floats(2, 3, 5, 6), grid], mode=mode, padding_mode=padding, terms=16)


def test_inverse_and_distances() -> None:
    check_contrib("Inverse", [floats(2, 3, 3) + 4 * np.eye(3, dtype=np.float32)], terms=9)
    for metric in ("euclidean", "sqeuclidean"):
        check_contrib("CDist", [floats(5, 8), floats(4, 8, seed=1)], metric=metric, terms=24)
