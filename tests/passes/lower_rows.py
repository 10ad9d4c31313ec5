"""Calls at the canonical opset that use what an older version lacks or writes otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["REFUSED", "ROWS", "Row"]


@dataclass(frozen=True)
class Row:
    """One call of one operator on arrays; constants are initializers, other inputs are fed with open dims."""

    call: str
    inputs: tuple[Any, ...]
    constants: tuple[int, ...] = ()
    outputs: int = 1
    domain: str = ""
    want: Callable[..., Any] | None = None
    """where ONNX's evaluator has no answer, or a wrong one"""
    closed: bool = False
    """lengths are known"""
    before: int = 29
    """the opset from which on nothing is lowered, and ONNX Runtime does not take the attribute"""

    @property
    def op(self) -> str:
        return self.call.split("<")[0].split("(")[0].split(".")[-1]


def _f(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _i(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def _n(number: int) -> np.ndarray:
    return np.array(number, np.int64)


_X = _f(2, 3, 4)
_INTS = np.array([-128, -1, 0, 1, 5, 127], np.int8)
_LONG = np.array([2**63 - 1, -(2**63), -1, 0, 12345678901234567, 3], np.int64)
_UPDATES = (_f(5), _i(1, 1, 4)[:, None], _f(3, seed=1))
_RNN = (_f(3, 4, 2), _f(1, 5, 2, seed=1), _f(1, 5, 5, seed=2))


def _bits(array: np.ndarray, amount: np.ndarray, left: bool) -> np.ndarray:
    width = array.dtype.itemsize * 8
    sane = np.clip(amount, 0, width - 1)
    inside = (amount >= 0) & (amount < width)
    shifted = np.left_shift(array, sane) if left else np.right_shift(array, sane)
    outside = np.zeros_like(array) if left else np.where(array < 0, -1, 0).astype(array.dtype)
    return np.where(inside, shifted, outside)


def _wrapped(data: np.ndarray, pads: np.ndarray) -> np.ndarray:
    return np.pad(data, [(int(pads[0]), int(pads[2])), (int(pads[1]), int(pads[3]))], mode="wrap")


_REDUCTIONS = "L1 L2 LogSum LogSumExp Max Mean Min Prod SumSquare".split()  # noqa: SIM905

ROWS: tuple[Row, ...] = (
    *(Row(f"Reduce{name}(a, b)", (np.abs(_X) + 1, _i(0, -1)), (1,)) for name in _REDUCTIONS),
    *(Row(f"Reduce{name}<keepdims=0>(a)", (np.abs(_X) + 1,)) for name in _REDUCTIONS),
    *(Row(f"Reduce{name}<noop_with_empty_axes=1>(a)", (np.abs(_X) + 1,)) for name in _REDUCTIONS),
    Row("ReduceMax(a, b)", (np.array([[True, False], [False, False]]), _i(1)), (1,)),
    Row("Split<num_outputs=2, axis=2>(a)", (_X,), outputs=2),
    Row("Split<num_outputs=3, axis=2>(a)", (_X[..., :3],), outputs=3, closed=True),
    Row("Split<num_outputs=2, axis=0>(a)", (_f(5),), outputs=2),
    Row("Split<num_outputs=2, axis=0>(a)", (_f(5),), outputs=2, closed=True),
    Row("Shape<start=1>(a)", (_X,)),
    Row("Shape<start=-3, end=-1>(a)", (_X,)),
    Row("Reshape<allowzero=1>(a, b)", (_f(0, 3), _i(3, 0)), (1,)),
    Row("Reshape<allowzero=1>(a, b)", (_f(0, 3), _i(5, 0, 2))),
    Row("Reshape<allowzero=1>(a, b)", (_f(2, 3), _i(3, -1))),
    Row("Trilu(a)", (_X,)),
    Row("Trilu<upper=0>(a, b)", (_X, _n(-1))),
    Row("Trilu(a, b)", (_f(4, 3).astype(np.float16), _n(1)), (1,)),
    Row("Cast<to=6, saturate=0>(a)", (_X,), before=19),
    Row('Cast<to=6, round_mode="down">(a)', (_X,), before=24),
    Row("Pad(a, b, , c)", (_f(2, 3), _i(1, 2), _i(-1)), (1, 2)),
    Row("Pad(a, b, , c)", (_f(2, 3), _i(1, 2), _i(-1)), (2,)),
    Row('Pad<mode="wrap">(a, b)', (_f(2, 3), _i(1, 0, 3, 2)), (1,), want=_wrapped),
    Row('Pad<mode="wrap">(a, b)', (_f(2, 3), _i(1, 0, 3, 2)), want=_wrapped),
    *(
        Row(
            f'BitShift<direction="{way}">(a, b)',
            (numbers, amounts),
            want=lambda a, b, way=way: _bits(a, b, way == "LEFT"),
        )
        for way in ("LEFT", "RIGHT")
        for numbers, amounts in (
            (np.array([1, 255, 128, 7], np.uint8), np.array([1, 9, 7, 200], np.uint8)),
            (_INTS, np.array([1, 3, 8, -1, 7, 100], np.int8)),
            (_LONG, np.array([1, 3, 63, 64, -5, 7], np.int64)),
        )
    ),
    *(Row(f"Bitwise{name}(a, b)", (_INTS, _INTS[::-1].copy())) for name in ("And", "Or", "Xor")),
    *(Row(f"Bitwise{name}(a, b)", (_LONG, _LONG[:1])) for name in ("And", "Or", "Xor")),
    Row("BitwiseNot(a)", (_LONG,)),
    Row("BitwiseNot(a)", (_LONG.astype(np.uint16),)),
    Row("BitCast<to=12>(a)", (_INTS.astype(np.int32),), want=lambda a: a.view(np.uint32)),
    Row(
        "Mod(a, b)",
        (np.array([5.5, -5.5, 5.5, -5.5, 0, -0.0, 3, np.inf, 1]), np.array([3, 3, -3, -3, 2, -2, np.inf, 2, 0])),
    ),
    Row("Mod(a, b)", (_INTS, np.array([3, -3, 7, -7, 2, 5], np.int8))),
    *(Row(f"CumProd<{how}>(a, b)", (_X, _n(1)), (1,)) for how in ("exclusive=0", "exclusive=1", "reverse=1")),
    Row("BatchNormalization(a, b, c, d, e)", (_X, *(np.abs(_f(3, seed=k)) for k in range(4)))),
    Row(
        "BatchNormalization<training_mode=1>(a, b, c, d, e)",
        (_X, *(np.abs(_f(3, seed=k)) for k in range(4))),
        outputs=3,
    ),
    *(
        Row(
            f"{op}<hidden_size=5, layout=1>(a, b, c)",
            (_RNN[0], *(np.tile(w, (1, gates, 1)) for w in _RNN[1:])),
            before=14,
            outputs=2,
        )
        for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4))
    ),
    Row('Resize<axes=[3, 2], mode="linear">(a, , b)', (_f(1, 1, 3, 4), np.array([2, 3], np.float32)), (1,)),
    Row('Resize<axes=[2, 3], mode="nearest">(a, , , b)', (_f(1, 1, 3, 4), _i(6, 2)), (1,)),
    Row('Resize<axes=[2, 3], mode="linear", antialias=1>(a, , , b)', (_f(1, 1, 3, 4), _i(6, 8)), (1,), closed=True),
    Row('GridSample<mode="linear">(a, b)', (_f(1, 1, 3, 4), np.tanh(_f(1, 2, 2, 2)))),
    Row('GridSample<mode="cubic">(a, b)', (_f(1, 1, 3, 4), np.tanh(_f(1, 2, 2, 2)))),
    Row(
        'RoiAlign<output_height=2, output_width=2, coordinate_transformation_mode="output_half_pixel">(a, b, c)',
        (_f(1, 1, 6, 6), np.array([[0, 0, 4, 4]], np.float32), _i(0)),
    ),
    *(Row(f'ScatterND<reduction="{how}">(a, b, c)', _UPDATES) for how in ("none", "add", "mul", "min", "max")),
    *(Row(f'ScatterND<reduction="{how}">(a, b, c)', (_f(5), _i(3, 1)[:, None], _f(2)), (1,)) for how in ("add", "max")),
    *(
        Row(f'ScatterElements<axis=1, reduction="{how}">(a, b, c)', (_f(2, 3), np.array([[0, 0], [2, 1]]), _f(2, 2)))
        for how in ("none", "add", "mul", "min", "max")
    ),
    *(Row(f"DFT<{how}>(a, , b)", (_f(2, 8, 3, 1), _n(1)), (1,), closed=True) for how in ("inverse=0", "onesided=1")),
    *(
        Row(f"DFT<{how}>(a, b, c)", (_f(2, 5, 2), _n(7), _n(-2)), (1, 2), closed=True)
        for how in ("inverse=0", "inverse=1")
    ),
    Row(
        "DFT<inverse=1, onesided=1>(a, b)",
        (_f(2, 5, 2), _n(8)),
        (1,),
        closed=True,
        want=lambda a, _: np.fft.irfft(a[..., 0] + 1j * a[..., 1], 8, axis=-1).astype(np.float32)[..., None],
    ),
    Row("STFT(a, b, c)", (_f(2, 32, 1), _n(4), np.hanning(8).astype(np.float32)), (1, 2), closed=True),
    Row("TensorScatter(a, b, c)", (_f(2, 1, 4, 3), _f(2, 1, 2, 3, seed=1), _i(1, 2))),
    Row('TensorScatter<mode="circular">(a, b, c)', (_f(2, 1, 4, 3), _f(2, 1, 2, 3, seed=1), _i(1, 3))),
    Row("QuantizeLinear<output_dtype=3>(a, b)", (_X, np.float32(0.1))),
    Row("QuantizeLinear<precision=1>(a, b, c)", (_X, np.float32(0.1), np.uint8(3))),
    Row("QuantizeLinear(a, b, c)", (_X, np.float32(1e-4), np.int16(7))),
    Row(
        "QuantizeLinear<axis=1, block_size=2>(a, b, c)", (_f(2, 4), np.abs(_f(2, 2, seed=1)), np.zeros((2, 2), np.int8))
    ),
    Row("QuantizeLinear(a, b, c)", (_X.astype(np.float16), np.float16(0.013), np.int8(3))),
    Row("DequantizeLinear<output_dtype=1>(a, b)", (_INTS, np.float32(0.1))),
    Row("DequantizeLinear(a, b, c)", (_LONG.astype(np.int16), np.float32(0.1), np.int16(-3))),
    Row("DequantizeLinear<axis=1, block_size=2>(a, b)", (_INTS.reshape(1, 6), np.float32([[0.1, 0.2, 0.3]]))),
    Row(
        "MaxPool<kernel_shape=[1], strides=[2], ceil_mode=1>(a)", (_f(1, 1, 2),), closed=True, want=lambda a: a[..., :1]
    ),
    Row("AveragePool<kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1>(a)", (_f(1, 1, 6, 6),)),
    Row("OptionalHasElement(a)", (_X,), want=lambda a: np.array(True)),
    Row("OptionalGetElement(a)", (_X,), want=lambda a: a),
    Row("Gelu(a)", (_X,)),
    Row("HardSwish(a)", (_X,)),
    Row("Mish(a)", (_X,)),
    Row("Swish(a)", (_X,)),
    Row("LayerNormalization(a, b, c)", (_X, _f(4), _f(4, seed=1)), closed=True),
    Row("RMSNormalization(a, b)", (_X, _f(4)), closed=True),
    Row("GroupNormalization<num_groups=2>(a, b, c)", (_f(2, 4, 3), _f(4), _f(4, seed=1)), closed=True),
    Row("CastLike(a, b)", (_X, _n(1))),
    Row("Add(a, b)", (_INTS, _INTS)),
    Row("Range(a, b, c)", (np.float16(1), np.float16(6), np.float16(0.5))),
    Row("SpaceToDepth<blocksize=2>(a)", (_f(1, 1, 4, 4),)),
    Row(
        "ai.onnx.ml.LabelEncoder<keys_tensor = int32[2] {3, 5}, values_tensor = int32[2] {30, 50}, "
        "default_tensor = int32[1] {-7}>(a)",
        (np.array([5, 4, 3], np.int32),),
        domain="ai.onnx.ml",
        want=lambda a: np.array([50, -7, 30], np.int32),
    ),
)

_ALL = np.array(["a", "b"], object)
REFUSED: tuple[tuple[Row, int, str], ...] = (
    (Row("StringConcat(a, a)", (_ALL,)), 19, "opset 20 or newer"),
    (Row("Equal(a, a)", (_ALL,)), 18, "opset 19 or newer"),
    (Row("GridSample(a, b)", (_f(1, 1, 3, 4), _f(1, 2, 2, 2))), 15, "opset 16 or newer"),
    (Row("GridSample(a, b)", (_f(1, 1, 3, 4, 2), _f(1, 2, 2, 2, 3))), 19, "rank 4"),
    (Row("BitCast<to=6>(a)", (_X,)), 25, "opset 26 or newer"),
    (Row("ReduceMax(a, b)", (_X, _i(1))), 17, "axes must be a constant"),
    (
        Row('Resize<mode="linear", antialias=1>(a, , b)', (_f(1, 1, 4, 4), np.float32([1, 1, 0.5, 0.5])), (1,)),
        17,
        "antialias",
    ),
    (Row('ScatterND<reduction="add">(a, b, a)', (_ALL, _i(0)[:, None]), (1,)), 15, "would take its place"),
    (Row("DFT(a)", (_f(2, 8, 1),)), 16, "length"),
    (Row("AveragePool<kernel_shape=[2], dilations=[2]>(a)", (_f(1, 1, 6),)), 18, "opset 19 or newer"),
)
"""a call, an opset at which it has no form, and what the refusal says"""
