"""Quantization and integer products, to the last bit."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

from tests.grid.harness import check, edge_values, make_model, run_ort
from trueport.backend import prepare

BYTES = [np.uint8, np.int8]
NARROW = [ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2]
FLOAT8 = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz]
FEW_BITS = [*FLOAT8, ml_dtypes.float4_e2m1fn, ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn]


def scalar(value: float, dtype: Any = np.float32) -> np.ndarray:
    return np.array(value).astype(dtype)


def integers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    info = ml_dtypes.iinfo(dtype)
    return np.random.default_rng(seed).integers(int(info.min), int(info.max) + 1, shape).astype(dtype)


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def ties(scale: float) -> np.ndarray:
    """Halves of the scale, and values next to them."""
    half = (np.arange(-600, 600) / 2 * scale).astype(np.float32)
    return np.concatenate([half, np.nextafter(half, np.float32(np.inf)), edge_values(np.float32)])


@pytest.mark.parametrize("dtype", [*BYTES, np.uint16, np.int16])
@pytest.mark.parametrize("scale", [0.25, 0.1, 3.7, 1e-6])
@pytest.mark.parametrize("constants", [[], [1, 2]], ids=["fed", "constant"])
def test_quantize_per_tensor(dtype: Any, scale: float, constants: list[int]) -> None:
    inputs = [ties(scale), scalar(scale), scalar(5, dtype)]
    check("QuantizeLinear", inputs, [np.zeros(0, np.float32), *inputs[1:]], constants=constants)


@pytest.mark.parametrize("dtype", NARROW)
def test_quantize_to_few_bits(dtype: Any) -> None:
    # The reference evaluator casts to int32 before it saturates: no infinities, no NaN. ONNX Runtime's Python
    # interface takes and gives no such types.
    x = np.linspace(-3, 3, 400).astype(np.float32).reshape(4, 100)
    check("QuantizeLinear", [x, scalar(0.25), scalar(1, dtype)], versus="reference")
    scales = np.array([0.1, 0.2, 0.5, 1], np.float32)
    check("QuantizeLinear", [x, scales, np.array([0, 1, 0, 1], dtype)], axis=0, versus="reference", constants=[1, 2])


@pytest.mark.parametrize("dtype", FEW_BITS)
@pytest.mark.parametrize("saturate", [0, 1])
def test_quantize_to_small_floats(dtype: Any, saturate: int) -> None:
    x = np.concatenate([np.linspace(-1e3, 1e3, 501), np.linspace(-2, 2, 401)]).astype(np.float32)
    check("QuantizeLinear", [x, scalar(0.5), scalar(0, dtype)], saturate=saturate, versus="reference", opset=28)


def test_quantize_without_zero_point() -> None:
    check("QuantizeLinear", [ties(0.25), scalar(0.25), None])
    check("QuantizeLinear", [ties(0.25), scalar(0.25), None], output_dtype=int(onnx.TensorProto.INT16))


@pytest.mark.parametrize("dtype", [*BYTES, np.int16])
@pytest.mark.parametrize(("axis", "block"), [(0, 0), (1, 0), (-1, 0), (1, 3), (-1, 4), (0, 2)])
@pytest.mark.parametrize("constants", [[], [1, 2]], ids=["fed", "constant"])
def test_axis_and_blocks(dtype: Any, axis: int, block: int, constants: list[int]) -> None:
    shape = (4, 6, 8)
    parameters = (shape[axis],) if not block else tuple(n if i != axis % 3 else n // block for i, n in enumerate(shape))
    scales = np.random.default_rng(1).uniform(0.01, 0.2, parameters).astype(np.float32)
    common = {"axis": axis, "block_size": block, "constants": constants}
    check("QuantizeLinear", [floats(*shape), scales, integers(parameters, dtype, 2)], **common)
    check("DequantizeLinear", [integers(shape, dtype), scales, integers(parameters, dtype, 2)], **common)


def test_scalars_and_empty_data() -> None:
    scale, zero = np.array([0.5], np.float32), np.array([3], np.uint8)
    check("QuantizeLinear", [scalar(2.25), scalar(0.5), scalar(3, np.uint8)])
    check("QuantizeLinear", [scalar(2.25), scale, zero], versus="reference")
    check("DequantizeLinear", [scalar(7, np.uint8), scale, zero], versus="reference")
    check("QuantizeLinear", [np.zeros((0, 3), np.float32), np.ones(3, np.float32), np.zeros(3, np.int8)])
    check("MatMulInteger", [np.zeros((0, 3), np.uint8), np.ones((3, 2), np.uint8)])


def test_last_block_is_shorter() -> None:
    x, scales = floats(2, 7), np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], np.float32)
    zeros = np.array([[1, 2, 3], [4, 5, 6]], np.int8)
    check("QuantizeLinear", [x, scales, zeros], axis=1, block_size=3, versus="reference")
    check("DequantizeLinear", [integers((2, 7), np.int8), scales, zeros], axis=1, block_size=3, versus="reference")


@pytest.mark.parametrize("half", [np.float16, ml_dtypes.bfloat16])
def test_division_is_rounded_in_the_type_of_the_scale(half: Any) -> None:
    # ONNX Runtime divides in float32; ONNX says that y_scale's type is the precision, unless precision says more.
    x = np.linspace(-20, 20, 999).astype(half)
    check("QuantizeLinear", [x, scalar(0.3, half), scalar(3, np.int8)], versus="reference")
    wide = {"precision": int(onnx.TensorProto.FLOAT)}
    check("QuantizeLinear", [x, scalar(0.3, half), scalar(3, np.int8)], versus="reference", **wide)


def test_scale_of_powers_of_two() -> None:
    scales = np.array([1, 0.25, 8], ml_dtypes.float8_e8m0fnu)
    x = floats(2, 3, 4) * 30
    check("QuantizeLinear", [x, scales, np.zeros(3, np.int8)], versus="reference", opset=28)
    types = {"versus": "reference", "opset": 28, "output_dtype": int(onnx.TensorProto.FLOAT)}
    check("DequantizeLinear", [integers((2, 3, 4), np.int8), scales, None], **types)


@pytest.mark.parametrize("dtype", [*BYTES, np.uint16, np.int16, np.int32])
@pytest.mark.parametrize("scale_type", [np.float32, np.float16])
def test_dequantize(dtype: Any, scale_type: Any) -> None:
    zero = None if dtype is np.int32 else scalar(3, dtype)
    inputs = [edge_values(dtype), scalar(0.1, scale_type), zero]
    check("DequantizeLinear", inputs)
    check("DequantizeLinear", inputs, constants=[1] if zero is None else [1, 2])


@pytest.mark.parametrize("dtype", [*NARROW, *FEW_BITS])
@pytest.mark.parametrize("out", [onnx.TensorProto.FLOAT, onnx.TensorProto.BFLOAT16, onnx.TensorProto.FLOAT16])
def test_dequantize_few_bits(dtype: Any, out: int) -> None:
    x = np.arange(-2, 4).astype(dtype)
    common = {"versus": "reference", "opset": 28, "output_dtype": int(out)}
    check("DequantizeLinear", [x, scalar(0.3), scalar(1, dtype) if dtype in NARROW else None], **common)


@pytest.mark.parametrize(
    "x",
    [floats(40), np.abs(floats(40)), -np.abs(floats(40)), np.zeros(5, np.float32), floats(4, 3, 2) * 1e-3],
    ids=["both", "positive", "negative", "zeros", "small"],
)
def test_dynamic_quantize(x: np.ndarray) -> None:
    check("DynamicQuantizeLinear", [x], outputs=3)


def test_dynamic_quantize_of_many_ranges() -> None:
    check("DynamicQuantizeLinear", *([floats(50, seed=seed) * (seed + 1)] for seed in range(200)), outputs=3)


PAIRS = [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8), (np.int8, np.uint8)]


@pytest.mark.parametrize(("a", "b"), PAIRS)
@pytest.mark.parametrize("constants", [[], [1, 3]], ids=["fed", "constant"])
def test_matmul_integer(a: Any, b: Any, constants: list[int]) -> None:
    w, zeros = integers((24, 5), b), scalar(7, b)
    sets = [[integers(shape, a), w, scalar(9, a), zeros] for shape in ((3, 24), (1, 24))]
    check("MatMulInteger", *sets, constants=constants)
    check("MatMulInteger", [integers((2, 3, 4, 24), a), w, scalar(9, a), zeros])
    check("MatMulInteger", [sets[0][0], w, None, None])


def test_matmul_integer_per_row_and_column() -> None:
    a, b = integers((3, 4), np.uint8), integers((4, 5), np.int8)
    column = integers((3, 1), np.uint8, 1)
    check("MatMulInteger", [a, b, column, integers((5,), np.int8, 2)], versus="reference")
    check("MatMulInteger", [a, b, scalar(3, np.uint8), integers((5,), np.int8, 2)])


@pytest.mark.parametrize("depth", [300, 5000, 70000])
def test_long_sums_are_exact_and_wrap(depth: int) -> None:
    a, b = np.full((1, depth), 255, np.uint8), np.full((depth, 2), 255, np.uint8)
    a[0, :7], b[:9, 1] = 254, 3
    check("MatMulInteger", [a, b, None, None])
    check("MatMulInteger", [a, b, None, None], constants=[1])


@pytest.mark.parametrize(("a", "b"), PAIRS[:3])
@pytest.mark.parametrize("constants", [[], [1, 2, 3, 4, 5, 6, 7]], ids=["fed", "constant"])
def test_qlinear_matmul(a: Any, b: Any, constants: list[int]) -> None:
    x, w, zero = integers((2, 6, 32), a), integers((32, 9), b), scalar(11, a)
    inputs = [x, scalar(0.013), zero, w, scalar(0.021), scalar(2, b), scalar(0.37), scalar(100, a)]
    check("QLinearMatMul", inputs, [integers((1, 3, 32), a), *inputs[1:]], constants=constants)
    halves = [x, scalar(0.5), zero, w, scalar(0.25), scalar(2, b), scalar(256), scalar(100, a)]
    check("QLinearMatMul", halves, constants=constants)


def test_qlinear_matmul_per_row() -> None:
    a, b = integers((3, 32), np.int8), integers((32, 4), np.uint8)
    scales, zeros = np.array([[0.01], [0.02], [0.03]], np.float32), np.array([[1], [-2], [3]], np.int8)
    out = [scalar(0.5), scalar(8, np.int8)]
    check("QLinearMatMul", [a, scales, zeros, b, scalar(0.02), scalar(99, np.uint8), *out], versus="reference")


def test_qlinear_matmul_per_column() -> None:
    x, w = integers((6, 32), np.uint8), integers((32, 4), np.int8)
    scales = np.array([0.01, 0.02, 0.03, 0.04], np.float32)
    inputs = [x, scalar(0.013), scalar(3, np.uint8), w, scales, np.zeros(4, np.int8), scalar(0.5), scalar(9, np.uint8)]
    check("QLinearMatMul", inputs)
    check("QLinearMatMul", inputs, constants=[3, 4, 5])


@pytest.mark.parametrize("dtype", FLOAT8)
def test_qlinear_matmul_of_small_floats(dtype: Any) -> None:
    # No runtime has it: powers of two, whose products and sums are exact, and the scales applied by hand.
    a, b = (2.0 ** np.random.default_rng(seed).integers(-2, 3, shape) for seed, shape in ((1, (3, 4)), (2, (4, 2))))
    one, zero = scalar(1), scalar(0, dtype)
    arrays = [a.astype(dtype), scalar(0.5), zero, b.astype(dtype), one, zero, scalar(2), zero]
    model = make_model("QLinearMatMul", [arrays])
    (got,) = prepare(model).run({f"x{i}": array for i, array in enumerate(arrays)})
    np.testing.assert_array_equal(got.astype(np.float32), (a @ b / 4).astype(dtype).astype(np.float32))


WINDOWS: list[dict[str, Any]] = [
    {},
    {"pads": [1, 2, 0, 1]},
    {"strides": [2, 1], "pads": [1, 1, 1, 1]},
    {"dilations": [2, 2], "pads": [2, 2, 2, 2]},
    {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
    {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("group", [1, 2, 4])
def test_conv_integer(window: dict[str, Any], group: int) -> None:
    w = integers((8, 4 // group, 3, 3), np.uint8)
    zeros = [scalar(5, np.uint8), scalar(7, np.uint8)]
    sets = [[integers(shape, np.uint8), w, *zeros] for shape in ((2, 4, 9, 8), (1, 4, 7, 7))]
    check("ConvInteger", *sets, group=group, **window)
    check("ConvInteger", *sets, group=group, constants=[1, 3], **window)


@pytest.mark.parametrize(("x_type", "w_type"), [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("group", [1, 4])
def test_qlinear_conv(x_type: Any, w_type: Any, rank: int, group: int) -> None:
    w = integers((8, 4 // group, *[3] * rank), w_type)
    scales = np.linspace(0.002, 0.02, 8).astype(np.float32)
    zeros = np.zeros(8, w_type) if w_type is np.int8 else np.full(8, 120, w_type)
    bias = np.arange(-4, 4).astype(np.int32) * 777
    x, out = integers((2, 4, *[7] * rank), x_type), [scalar(0.9), scalar(77, x_type)]
    common = {"group": group, "pads": [1] * 2 * rank}
    inputs = [x, scalar(0.02), scalar(30, x_type), w, scales, zeros, *out, bias]
    check("QLinearConv", inputs, constants=range(1, 9), **common)
    check("QLinearConv", inputs, constants=[3], **common)
    ties = [x, scalar(0.5), scalar(30, x_type), w, scalar(0.5), scalar(zeros[0], w_type), scalar(128), out[1], None]
    check("QLinearConv", ties, constants=[3], **common)


def test_qlinear_conv_between_layers_of_the_same_layout() -> None:
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        layers (uint8[N,4,9,9] x, float s, uint8 z, uint8[6,4,3,3] w, uint8[2,6,1,1] v) => (uint8[N,2,H,W] y)
        { a = QLinearConv <pads=[1,1,1,1]> (x, s, z, w, s, z, s, z)
          b = MaxPool <kernel_shape=[2,2]> (a)
          y = QLinearConv (b, s, z, v, s, z, s, z) }""")
    feeds = {
        "x": integers((2, 4, 9, 9), np.uint8),
        "s": scalar(0.05),
        "z": scalar(120, np.uint8),
        "w": integers((6, 4, 3, 3), np.uint8, 1),
        "v": integers((2, 6, 1, 1), np.uint8, 2),
    }
    np.testing.assert_array_equal(prepare(model).run(feeds)[0], run_ort(model, feeds)[0])
