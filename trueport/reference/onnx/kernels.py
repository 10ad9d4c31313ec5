"""Operators that are computed here and not by ONNX's reference, which is too slow on images, rounds, or is wrong.

Each takes the schema's inputs by position and its attributes by name.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.ir.gathering import gather_elements
from trueport.reference.onnx.classic_ml import CLASSIC_ML
from trueport.reference.onnx.microsoft.kernels import MICROSOFT
from trueport.reference.onnx.recurrent import gru, lstm, rnn
from trueport.reference.onnx.resize import resize
from trueport.reference.onnx.sampling import deform_conv, grid_sample
from trueport.reference.onnx.signal import stft
from trueport.reference.onnx.special import erf, gelu
from trueport.reference.onnx.windows import average_pool, conv, conv_transpose, max_pool

__all__ = ["KERNELS", "Kernel", "kernel_of"]

Kernel = Callable[..., Any]
Array = Any


def _gemm(A: Array, B: Array, C: Array | None, *, alpha: float, beta: float, transA: int, transB: int) -> Array:
    product = alpha * ((A.T if transA else A) @ (B.T if transB else B))
    return product if C is None else product + beta * C


def _matmul(A: Array, B: Array) -> Array:
    return np.matmul(A, B)


def _blocked(scale: Array, x: Array, axis: int, block_size: int) -> Array:
    """A scale or zero point spread over the data: one number, one per entry of an axis, or one per block."""
    if scale.ndim == 0 or (scale.size == 1 and scale.ndim <= 1):
        return scale.reshape(())
    if scale.ndim == 1:
        shape = [1] * x.ndim
        shape[axis] = -1
        return scale.reshape(shape)
    spread = np.repeat(scale, block_size, axis=axis)
    return np.take(spread, range(x.shape[axis]), axis=axis)


def _dequantize(x: Array, x_scale: Array, x_zero_point: Array | None, *, axis: int, block_size: int, **_: Any) -> Array:
    zero = 0 if x_zero_point is None else _blocked(x_zero_point.astype(np.float64), x, axis, block_size)
    return (x.astype(np.float64) - zero) * _blocked(x_scale.astype(np.float64), x, axis, block_size)


def _quantize(
    x: Array, y_scale: Array, y_zero_point: Array | None, *, axis: int, block_size: int, output_dtype: int, **_: Any
) -> Array | None:
    named = ir.DataType(output_dtype).numpy() if output_dtype else np.dtype(np.uint8)
    target = np.dtype(named) if y_zero_point is None else y_zero_point.dtype
    if target.name not in _LIMITS:
        return None  # floats of eight bits and less: the reference rounds them to the specification
    low, high = _LIMITS[target.name]
    scale = _blocked(y_scale.astype(np.float64), x, axis, block_size)
    zero = 0 if y_zero_point is None else _blocked(y_zero_point.astype(np.float64), x, axis, block_size)
    return np.clip(np.rint(x / scale) + zero, low, high).astype(target)


_LIMITS: Mapping[str, tuple[int, int]] = {
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-32768, 32767),
    "uint16": (0, 65535),
    "int4": (-8, 7),
    "uint4": (0, 15),
}


def _dynamic_quantize(x: Array) -> tuple[Array, Array, Array]:
    low, high = min(0.0, float(x.min(initial=0))), max(0.0, float(x.max(initial=0)))
    scale = (high - low) / 255 or 1.0
    zero = np.uint8(np.clip(np.rint(-low / scale), 0, 255))
    return np.clip(np.rint(x / scale) + float(zero), 0, 255).astype(np.uint8), np.asarray(scale), np.asarray(zero)


def _relu(X: Array) -> Array:
    return np.maximum(X, 0)


def _global_average(X: Array) -> Array:
    return X.mean(axis=tuple(range(2, X.ndim)), keepdims=True)


def _batch_norm(
    X: Array,
    scale: Array,
    B: Array,
    input_mean: Array,
    input_var: Array,
    *,
    epsilon: float,
    training_mode: int,
    **_: Any,
) -> Array | None:
    if training_mode:
        return None
    shape = (1, -1, *[1] * (X.ndim - 2)) if X.ndim > 1 else (1,)
    s, b, m, v = (part.reshape(shape) for part in (scale, B, input_mean, input_var))
    made = X - m
    made *= s / np.sqrt(v + epsilon)
    made += b
    return made


def _layer_norm(X: Array, Scale: Array, B: Array | None, *, axis: int, epsilon: float, stash_type: int) -> Array:
    axes = tuple(range(axis % X.ndim, X.ndim))
    centred = X - X.mean(axis=axes, keepdims=True)
    made = centred / np.sqrt((centred**2).mean(axis=axes, keepdims=True) + epsilon) * Scale
    return made if B is None else made + B


def _instance_norm(input: Array, scale: Array, B: Array, *, epsilon: float) -> Array:
    axes = tuple(range(2, input.ndim))
    shape = (1, -1, *[1] * len(axes))
    centred = input - input.mean(axis=axes, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(axis=axes, keepdims=True) + epsilon)
    return normal * scale.reshape(shape) + B.reshape(shape)


def _group_norm(X: Array, scale: Array, bias: Array, *, epsilon: float, num_groups: int, stash_type: int) -> Array:
    grouped = X.reshape(X.shape[0], num_groups, -1)
    centred = grouped - grouped.mean(axis=-1, keepdims=True)
    normal = (centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon)).reshape(X.shape)
    shape = (1, -1, *[1] * (X.ndim - 2))
    return normal * scale.reshape(shape) + bias.reshape(shape)


def _mean_variance(X: Array, *, axes: list[int] | None) -> Array:
    over = tuple(axes or (0, 2, 3))
    centred = X - X.mean(axis=over, keepdims=True)
    return centred / (np.sqrt((centred**2).mean(axis=over, keepdims=True)) + 1e-9)


def _first_max_pool(X: Array, **attributes: Any) -> Array:
    return max_pool(X, **attributes)


def _gather_elements(data: Array, indices: Array, *, axis: int) -> Array:
    return gather_elements(data, indices, axis)


def _global_max(X: Array) -> Array:
    return np.max(X, axis=tuple(range(2, X.ndim)), keepdims=True) if X.size else None


def _global_lp(X: Array, *, p: int) -> Array:
    return np.sum(np.abs(X) ** p, axis=tuple(range(2, X.ndim)), keepdims=True) ** (1 / p)


def _lp_norm(input: Array, *, axis: int, p: int) -> Array:
    size = np.sum(np.abs(input) ** p, axis=axis, keepdims=True) ** (1 / p)
    return np.where(size == 0, 0, input / size)


def _local_response(X: Array, *, alpha: float, beta: float, bias: float, size: int) -> Array:
    """Sums over channels, as the operator's text says."""
    before, squares = (size - 1) // 2, X**2
    padded = np.pad(squares, [(0, 0), (before, size - 1 - before), *[(0, 0)] * (X.ndim - 2)])
    sums = sum(padded[:, step : step + X.shape[1]] for step in range(size))
    return X / (bias + alpha / size * sums) ** beta


def _max_roi_pool(X: Array, rois: Array, *, pooled_shape: list[int], spatial_scale: float) -> Array:
    """Regions are given by rounded corners, both included; a part without pixels is 0."""
    made = np.zeros((len(rois), X.shape[1], *pooled_shape), X.dtype)
    for number, (image, *corners) in enumerate(rois):
        left, top, right, bottom = (int(np.floor(c * spatial_scale + 0.5)) for c in corners)
        bounds = [
            [_part(start, max(end - start + 1, 1), index, count, length) for index in range(count)]
            for start, end, count, length in zip((top, left), (bottom, right), pooled_shape, X.shape[2:], strict=True)
        ]
        for (i, rows), (j, columns) in itertools.product(*map(enumerate, bounds)):
            pixels = X[int(image), :, rows, columns]
            if pixels.size:
                made[number, :, i, j] = pixels.max(axis=(1, 2))
    return made


def _part(start: int, size: int, index: int, count: int, length: int) -> slice:
    first, last = math.floor(index * size / count) + start, math.ceil((index + 1) * size / count) + start
    return slice(min(max(first, 0), length), min(max(last, 0), length))


def _multinomial(input: Array, *, dtype: int, sample_size: int, seed: float | None) -> Array:
    """Draw classes by their unnormalized log-probabilities."""
    chances = np.cumsum(np.exp(input - input.max(axis=1, keepdims=True)), axis=1)
    drawn = np.random.default_rng(None if seed is None else int(seed)).random((len(input), sample_size))
    found = (drawn[..., None] * chances[:, None, -1:] >= chances[:, None]).sum(axis=-1)
    return found.astype(ir.DataType(dtype).numpy())


def _gelu(X: Array, *, approximate: str) -> Array:
    if approximate == "none":
        return gelu(X)
    return 0.5 * X * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3)))


def _bit_cast(node: ir.Node) -> Kernel:
    """The bits are those of the declared type, to which the widened number is brought back."""
    declared = node.inputs[0].dtype if node.inputs[0] is not None else None
    target = np.dtype(ir.DataType(node.attributes["to"].as_int()).numpy())

    def kernel(input: Array, *, to: int) -> Array:
        narrow = input if declared is None else input.astype(declared.numpy())
        return narrow.view(target)

    return kernel


def _lp_pool(X: Array, *, ceil_mode: int, kernel_shape: list[int], p: int, **attributes: Any) -> Array | None:
    """A sum over windows is a convolution with ones."""
    if ceil_mode:
        return None
    ones, channels = np.ones((X.shape[1], 1, *kernel_shape)), X.shape[1]
    return conv(np.abs(X) ** p, ones, group=channels, kernel_shape=kernel_shape, **attributes) ** (1 / p)


KERNELS: Mapping[str, Kernel] = MappingProxyType(
    {
        "AveragePool": average_pool,
        "BatchNormalization": _batch_norm,
        "Conv": conv,
        "ConvTranspose": conv_transpose,
        "DeformConv": deform_conv,
        "DequantizeLinear": _dequantize,
        "DynamicQuantizeLinear": _dynamic_quantize,
        "GatherElements": _gather_elements,
        "Erf": erf,
        "Gelu": _gelu,
        "Gemm": _gemm,
        "GlobalAveragePool": _global_average,
        "GlobalLpPool": _global_lp,
        "GlobalMaxPool": _global_max,
        "GRU": gru,
        "GridSample": grid_sample,
        "GroupNormalization": _group_norm,
        "InstanceNormalization": _instance_norm,
        "LayerNormalization": _layer_norm,
        "LRN": _local_response,
        "LSTM": lstm,
        "LpNormalization": _lp_norm,
        "LpPool": _lp_pool,
        "MatMul": _matmul,
        "MaxPool": _first_max_pool,
        "MaxRoiPool": _max_roi_pool,
        "MeanVarianceNormalization": _mean_variance,
        "Multinomial": _multinomial,
        "QuantizeLinear": _quantize,
        "RNN": rnn,
        "Relu": _relu,
        "Resize": resize,
        "STFT": stft,
    }
)
"""By operator of ONNX's own domain; one that returns None leaves the case to the reference."""

_BY_DOMAIN: Mapping[str, Mapping[str, Kernel]] = {"": KERNELS, "ai.onnx.ml": CLASSIC_ML, "com.microsoft": MICROSOFT}


def kernel_of(node: ir.Node) -> Kernel | None:
    """Return this package's kernel for a node; None if ONNX's reference evaluates it."""
    if not node.domain and node.op_type == "BitCast":
        return _bit_cast(node)
    return _BY_DOMAIN.get(node.domain, {}).get(node.op_type)
