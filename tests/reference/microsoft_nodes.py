"""One small instance of every operator of ONNX Runtime's own that is read: inputs, attributes, number of outputs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tests.grid.contrib import floats, integers, scalar

__all__ = ["NODES", "Node"]


class Node(NamedTuple):
    inputs: list[Any]
    attributes: dict[str, Any]
    outputs: int = 1
    constants: tuple[int, ...] = ()
    """inputs that are initializers"""


def _node(*inputs: Any, outputs: int = 1, constants: tuple[int, ...] = (), **attributes: Any) -> Node:
    return Node(list(inputs), attributes, outputs, constants)


U8, I8 = np.uint8, np.int8
_S, _Z = scalar(0.02), scalar(100, U8)
_T, _Y = scalar(0.05), scalar(99, U8)
_X = integers((2, 3, 6, 5), U8)
_ONE = [np.full(1, 0.01, np.float32), np.full(1, 128, U8)]
_ANGLES = [np.cos(floats(8, 4)), np.sin(floats(8, 4))]
_QKV = [floats(2, 3, 8, seed=seed) for seed in range(3)]

NODES: dict[str, Node] = {
    "Attention": _node(floats(2, 3, 4), floats(4, 24), floats(24), num_heads=2),
    "BiasGelu": _node(floats(3, 4), floats(4)),
    "CDist": _node(floats(5, 8), floats(4, 8, seed=1), metric="euclidean"),
    "DequantizeLinear": _node(integers((3, 4), I8), _S, scalar(3, I8)),
    "DynamicQuantizeLSTM": _node(
        floats(5, 1, 3),
        integers((1, 3, 16), U8),
        integers((1, 4, 16), U8, 1),
        *[None] * 5,
        *_ONE,
        *_ONE,
        outputs=3,
        hidden_size=4,
    ),
    "DynamicQuantizeMatMul": _node(floats(3, 8), integers((8, 5), U8), _S, _Z, floats(5)),
    "EmbedLayerNormalization": _node(
        np.array([[1, 2, 0]], np.int32),
        None,
        floats(4, 8),
        floats(3, 8, seed=1),
        None,
        floats(8),
        floats(8),
        outputs=2,
        constants=(2, 3, 5, 6),
    ),
    "ExpandDims": _node(floats(3, 4), scalar(1, np.int32)),
    "FastGelu": _node(floats(3, 4), floats(4)),
    "FusedConv": _node(floats(1, 3, 6, 5), floats(4, 3, 3, 3, seed=1), floats(4), activation="Relu"),
    "FusedGemm": _node(floats(3, 4), floats(4, 5, seed=1), floats(5), activation="Tanh"),
    "FusedMatMul": _node(floats(2, 5, 3), floats(2, 5, 4, seed=1), transA=1, alpha=0.5),
    "GatherND": _node(floats(3, 4, 5), np.array([[0, 1], [2, 3]])),
    "Gelu": _node(floats(3, 4)),
    "GridSample": _node(floats(1, 2, 5, 6), floats(1, 3, 4, 2, seed=1), mode="bicubic", padding_mode="border"),
    "GroupQueryAttention": _node(
        floats(1, 3, 16),
        *[floats(1, 3, 8, seed=seed) for seed in (1, 2)],
        None,
        None,
        np.array([2], np.int32),
        scalar(3, np.int32),
        outputs=3,
        num_heads=2,
        kv_num_heads=1,
    ),
    "Inverse": _node(floats(2, 3, 3) + 4 * np.eye(3, dtype=np.float32)),
    "MatMulInteger16": _node(integers((3, 40), np.int16), integers((40, 5), np.int16)),
    "MatMulIntegerToFloat": _node(integers((3, 8), U8), integers((8, 5), I8), _S, _T, _Z, scalar(3, I8), floats(5)),
    "MatMulNBits": _node(floats(3, 32), integers((2, 2, 8), U8), np.abs(floats(4)), K=32, N=2, block_size=16, bits=4),
    "MultiHeadAttention": _node(*_QKV, num_heads=2),
    "NhwcMaxPool": _node(integers((1, 6, 5, 3), U8), kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1]),
    "Pad": _node(floats(3, 4), np.array([1, 0, 0, 2]), scalar(7)),
    "QAttention": _node(
        integers((1, 3, 4), U8), integers((4, 24), I8), floats(24), _S, _T, None, _Z, scalar(3, I8), num_heads=2
    ),
    "QGemm": _node(integers((4, 8), U8), _S, _Z, integers((8, 6), I8), _T, scalar(3, I8), None, scalar(2.5), _Y),
    "QLinearAdd": _node(integers((3, 4), U8), _S, _Z, integers((4,), U8, 1), _T, _Y, scalar(0.06), _Z),
    "QLinearAveragePool": _node(_X, _S, _Z, _T, _Y, kernel_shape=[3, 2], ceil_mode=1, strides=[2, 2]),
    "QLinearConcat": _node(_T, _Y, integers((3, 4), U8), _S, _Z, integers((2, 4), U8, 1), _T, _Z, axis=0),
    "QLinearConv": _node(_X, _S, _Z, integers((4, 3, 3, 3), I8), _T, scalar(0, I8), scalar(0.9), _Y),
    "QLinearGlobalAveragePool": _node(_X, _S, _Z, _T, _Y),
    "QLinearLeakyRelu": _node(_X, _S, _Z, _T, _Y, alpha=0.2),
    "QLinearMul": _node(integers((3, 4), U8), _S, _Z, integers((4,), U8, 1), _T, _Y, scalar(0.06), _Z),
    "QLinearSigmoid": _node(_X, _S, _Z, scalar(1 / 256), scalar(0, U8)),
    "QLinearSoftmax": _node(_X, _S, _Z, scalar(1 / 256), scalar(0, U8), opset=13, axis=-1),
    "QLinearWhere": _node(floats(3, 4) > 0, integers((3, 4), U8), _S, _Z, integers((3, 4), U8, 1), _T, _Y, _T, _Z),
    "QuantizeLinear": _node(floats(3, 4), _S, scalar(3, I8)),
    "QuickGelu": _node(floats(3, 4)),
    "Range": _node(scalar(1), scalar(9), scalar(0.5)),
    "RotaryEmbedding": _node(floats(1, 3, 16), np.arange(3)[None], *_ANGLES),
    "SimplifiedLayerNormalization": _node(floats(3, 8), floats(8, seed=1)),
    "LayerNormalization": _node(floats(3, 8), floats(8, seed=1), floats(8, seed=2)),
    "SkipLayerNormalization": _node(floats(2, 3, 8), floats(2, 3, 8, seed=1), floats(8), floats(8), floats(8)),
    "SkipSimplifiedLayerNormalization": _node(floats(2, 3, 8), floats(2, 3, 8, seed=1), floats(8), floats(8)),
    "TransposeMatMul": _node(floats(5, 3), floats(5, 4, seed=1), transA=1),
    "Trilu": _node(floats(3, 4), scalar(1, np.int64), upper=0),
    "Unique": _node(np.array([2, 1, 1, 3, 4, 3], np.float32), outputs=3),
}
