"""ONNX Runtime's fused products, Gelus and normalizations in NumPy, in the inputs' precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trueport.reference.onnx.special import gelu
from trueport.reference.onnx.windows import conv

__all__ = ["FUSED"]

Array = Any

_ACTIVATIONS: dict[str, Callable[..., Array]] = {
    "": lambda x: x,
    "Relu": lambda x: np.maximum(x, 0),
    "Tanh": np.tanh,
    "Sigmoid": lambda x: _sigmoid(x),
    "Softplus": lambda x: np.logaddexp(x, 0),
    "Softsign": lambda x: x / (1 + np.abs(x)),
    "LeakyRelu": lambda x, alpha=0.01: np.where(x >= 0, x, x * alpha),
    "ThresholdedRelu": lambda x, alpha=1.0: np.where(x > alpha, x, 0),
    "Elu": lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))),
    "Clip": lambda x, low=-math.inf, high=math.inf: np.clip(x, low, high),
    "HardSigmoid": lambda x, alpha=0.2, beta=0.5: np.clip(x * alpha + beta, 0, 1),
    "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
}
"""By name; parameters in the order in which the runtime lists them."""


def _sigmoid(x: Array) -> Array:
    return np.exp(-np.logaddexp(0, -x))


def _fused_conv(
    X: Array,
    W: Array,
    B: Array | None = None,
    Z: Array | None = None,
    *,
    activation: str = "",
    activation_params: Sequence[float] = (),
    **attributes: Any,
) -> Array:
    made = conv(X, W, B, **attributes)
    return _ACTIVATIONS[activation](made if Z is None else made + Z, *activation_params)


def _fused_gemm(
    A: Array,
    B: Array,
    C: Array | None = None,
    *,
    activation: str = "",
    activation_alpha: float | None = None,
    activation_beta: float | None = None,
    activation_gamma: float | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Array:
    product = alpha * ((A.T if transA else A) @ (B.T if transB else B))
    given = (activation_alpha, activation_beta, activation_gamma)
    made = product if C is None else product + beta * C
    return _ACTIVATIONS[activation](made, *(value for value in given if value is not None))


def _fused_product(
    A: Array,
    B: Array,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    transBatchA: int = 0,
    transBatchB: int = 0,
) -> Array:
    """A transposed batch stands after the rows: ``[M, batch…, K]``. A vector is never transposed."""
    a, b = (np.moveaxis(x, 0, -2) if moved else x for x, moved in ((A, transBatchA), (B, transBatchB)))
    a, b = (x.swapaxes(-1, -2) if moved and x.ndim > 1 else x for x, moved in ((a, transA), (b, transB)))
    return alpha * np.matmul(a, b)


def _bits_product(
    A: Array,
    B: Array,
    scales: Array,
    zero_points: Array | None = None,
    g_idx: Array | None = None,
    bias: Array | None = None,
    *,
    K: int,
    N: int,
    block_size: int,
    accuracy_level: int = 0,
    bits: int = 4,
    weight_prepacked: int = 0,
) -> Array:
    """Multiply by weights ``[N, K]`` of a few bits each, packed into bytes, quantized in blocks along K."""
    if weight_prepacked:
        raise NotImplementedError("weights in the order of a GPU kernel")
    blocks = -(-K // block_size)
    codes = _unpacked(B, bits).reshape(N, blocks * block_size)[:, :K]
    group = np.arange(K) // block_size if g_idx is None else g_idx
    if zero_points is None:
        zeros = np.full((N, blocks), 2.0 ** (bits - 1))
    elif zero_points.dtype != np.uint8:
        zeros = zero_points.reshape(N, blocks)
    else:
        zeros = _unpacked(zero_points.reshape(N, -1), bits)[:, :blocks].astype(np.float64)
    weights = (codes.astype(np.float64) - zeros[:, group]) * scales.reshape(N, blocks)[:, group]
    made = np.matmul(A, weights.T)
    return made if bias is None else made + bias


def _unpacked(x: Array, bits: int) -> Array:
    """Return each byte's parts along the last axis, the lowest first."""
    parts = [(x >> at) & (2**bits - 1) for at in range(0, 8, bits)]
    return np.stack(parts, -1).reshape(*x.shape[:-1], x.shape[-1] * len(parts))


def _fast_gelu(X: Array, bias: Array | None = None) -> Array:
    x = X if bias is None else X + bias
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _layer(x: Array, scale: Array, bias: Array | None, epsilon: float, axes: tuple[int, ...]) -> tuple[Array, ...]:
    mean = x.mean(axis=axes, keepdims=True)
    centred = x - mean
    inverse = 1 / np.sqrt((centred**2).mean(axis=axes, keepdims=True) + epsilon)
    made = centred * inverse * scale
    return made if bias is None else made + bias, mean, inverse


def _layer_normalization(
    X: Array, Scale: Array, B: Array | None = None, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> tuple[Array, ...]:
    return _layer(X, Scale, B, epsilon, tuple(range(axis % X.ndim, X.ndim)))


def _simplified_layer_normalization(
    X: Array, scale: Array, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> tuple[Array, Array]:
    axes = tuple(range(axis % X.ndim, X.ndim))
    inverse = 1 / np.sqrt((X * X).mean(axis=axes, keepdims=True) + epsilon)
    return X * inverse * scale, inverse


def _skip_layer_normalization(
    input: Array,
    skip: Array,
    gamma: Array,
    beta: Array | None = None,
    bias: Array | None = None,
    *,
    epsilon: float = 1e-12,
) -> tuple[Array, ...]:
    total = input + skip if bias is None else input + skip + bias
    return *_layer(total, gamma, beta, epsilon, (-1,)), total


def _skip_simplified_layer_normalization(
    input: Array, skip: Array, gamma: Array, bias: Array | None = None, *, epsilon: float = 1e-12
) -> tuple[Array, ...]:
    total = input + skip if bias is None else input + skip + bias
    made, inverse = _simplified_layer_normalization(total, gamma, epsilon=epsilon)
    return made, np.zeros_like(inverse), inverse, total


def _embed_layer_normalization(
    input_ids: Array,
    segment_ids: Array | None,
    word_embedding: Array,
    position_embedding: Array,
    segment_embedding: Array | None,
    gamma: Array,
    beta: Array,
    mask: Array | None = None,
    position_ids: Array | None = None,
    *,
    epsilon: float = 1e-12,
    mask_index_type: int | None = None,
) -> tuple[Array, ...]:
    positions = np.arange(input_ids.shape[1])[None] if position_ids is None else position_ids
    total = word_embedding[input_ids] + position_embedding[positions]
    if segment_embedding is not None:
        total = total + segment_embedding[segment_ids]
    if mask is None or mask_index_type == 0:
        lengths = np.zeros(len(input_ids), np.int32)
    else:
        lengths = np.sum(mask, axis=1, dtype=np.int32)
    return _layer(total, gamma, beta, epsilon, (-1,))[0], lengths, total


FUSED: dict[str, Callable[..., Any]] = {
    "BiasGelu": lambda A, B: gelu(A + B),
    "EmbedLayerNormalization": _embed_layer_normalization,
    "FastGelu": _fast_gelu,
    "FusedConv": _fused_conv,
    "FusedGemm": _fused_gemm,
    "FusedMatMul": _fused_product,
    "Gelu": gelu,
    "LayerNormalization": _layer_normalization,
    "MatMulNBits": _bits_product,
    "QuickGelu": lambda X, *, alpha=1.702: X * _sigmoid(X * alpha),
    "SimplifiedLayerNormalization": _simplified_layer_normalization,
    "SkipLayerNormalization": _skip_layer_normalization,
    "SkipSimplifiedLayerNormalization": _skip_simplified_layer_normalization,
    "TransposeMatMul": _fused_product,
}
