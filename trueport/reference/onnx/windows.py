"""Convolutions and poolings in NumPy over any number of axes, in the precision of their inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

__all__ = ["average_pool", "conv", "conv_transpose", "max_pool", "pads_of", "windows_of"]

Ints = Sequence[int] | None
_COLUMN_BYTES = 1 << 25
"""What is copied of the windows of a convolution at a time."""
_MANY_POSITIONS = 64
_CACHED_ELEMENTS = 1 << 15
"""Elements that stay in a processor's cache."""


def pads_of(
    sizes: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    auto_pad: str,
    pads: Ints,
) -> list[tuple[int, int]]:
    """Before and after each spatial axis."""
    if auto_pad in ("", "NOTSET"):
        flat = list(pads or [0] * (2 * len(sizes)))
        return list(zip(flat[: len(sizes)], flat[len(sizes) :], strict=True))
    if auto_pad == "VALID":
        return [(0, 0)] * len(sizes)
    found = []
    for size, k, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        total = max(0, (math.ceil(size / stride) - 1) * stride + (k - 1) * dilation + 1 - size)
        small, large = total // 2, total - total // 2
        found.append((small, large) if auto_pad == "SAME_UPPER" else (large, small))
    return found


def _windows(x: np.ndarray, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> np.ndarray:
    """``[N, C, out..., kernel...]``."""
    axes = tuple(range(2, x.ndim))
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    view = sliding_window_view(x, spans, axis=axes)
    steps = [
        slice(None),
        slice(None),
        *(slice(None, None, s) for s in strides),
        *(slice(None, None, d) for d in dilations),
    ]
    return view[tuple(steps)]


def conv(
    X: np.ndarray,
    W: np.ndarray,
    B: np.ndarray | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Ints = None,
    group: int = 1,
    kernel_shape: Ints = None,
    pads: Ints = None,
    strides: Ints = None,
) -> np.ndarray:
    """ONNX's Conv."""
    rank = X.ndim - 2
    kernel = list(W.shape[2:])
    steps, gaps = list(strides or [1] * rank), list(dilations or [1] * rank)
    around = pads_of(X.shape[2:], kernel, steps, gaps, auto_pad, pads)
    padded = np.pad(X, [(0, 0), (0, 0), *around]) if any(map(any, around)) else X
    sizes = [(n - (k - 1) * d - 1) // s + 1 for n, k, d, s in zip(padded.shape[2:], kernel, gaps, steps, strict=True)]
    summed = np.empty((X.shape[0], W.shape[0], *sizes), np.result_type(X, W))
    bytes_per_row = max(1, math.prod(padded.shape[1:2] + W.shape[2:]) * math.prod(sizes[1:]) * summed.itemsize)
    rows = max(1, _COLUMN_BYTES // bytes_per_row)
    for image in range(X.shape[0]):
        for start in range(0, sizes[0], rows):
            part = slice(start, min(start + rows, sizes[0]))
            windows = [part, *(slice(size) for size in sizes[1:])]
            taken = [_Steps(*along) for along in zip(windows, steps, gaps, strict=True)]
            summed[image, :, part] = _summed_windows(padded[image], W, taken, group)
    return summed if B is None else summed + B.reshape(1, -1, *[1] * rank)


class _Steps(NamedTuple):
    """Windows along one axis: which of them, how far apart, and how far apart the elements of one are."""

    windows: slice
    stride: int
    dilation: int

    def at(self, position: int) -> slice:
        """Return the elements that stand at one position of these windows."""
        first = self.windows.start or 0
        begin = first * self.stride + position * self.dilation
        return slice(begin, begin + (self.windows.stop - first - 1) * self.stride + 1, self.stride)


def _summed_windows(image: np.ndarray, W: np.ndarray, taken: Sequence[_Steps], group: int) -> np.ndarray:
    """Return the sums ``[M, out...]`` over some windows of one image ``[C, in...]``."""
    sizes = [s.windows.stop - (s.windows.start or 0) for s in taken]
    outputs, per_group = W.shape[0], W.shape[1]
    positions = list(np.ndindex(*W.shape[2:]))
    if per_group == 1 and outputs == group:
        return _filtered_channels(image, W[:, 0], taken, sizes)
    shifted = (image[(slice(None), *(s.at(p) for s, p in zip(taken, at, strict=True)))] for at in positions)
    columns = next(shifted) if len(positions) == 1 else np.stack(list(shifted), axis=1)
    grouped = columns.reshape(group, per_group * len(positions), -1)
    weights = W.reshape(group, outputs // group, -1)
    return np.asarray(np.matmul(weights, grouped).reshape(outputs, *sizes))


def _filtered_channels(image: np.ndarray, W: np.ndarray, taken: Sequence[_Steps], sizes: Sequence[int]) -> np.ndarray:
    """Return the sums with one filter per channel, ``W[C, kernel...]``: products element by element, no matrices."""
    total = np.zeros((len(W), *sizes), np.result_type(image, W))
    some = max(1, _CACHED_ELEMENTS // max(1, math.prod(sizes)))
    for start in range(0, len(W), some):
        channels = slice(start, start + some)
        product = np.empty_like(total[channels])
        for position in np.ndindex(*W.shape[1:]):
            weights = W[(channels, *position)].reshape(-1, *[1] * len(sizes))
            shifted = image[(channels, *(s.at(p) for s, p in zip(taken, position, strict=True)))]
            total[channels] += np.multiply(shifted, weights, out=product)
    return total


def conv_transpose(
    X: np.ndarray,
    W: np.ndarray,
    B: np.ndarray | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Ints = None,
    group: int = 1,
    kernel_shape: Ints = None,
    output_padding: Ints = None,
    output_shape: Ints = None,
    pads: Ints = None,
    strides: Ints = None,
) -> np.ndarray:
    """ONNX's ConvTranspose: every input element adds its weighted kernel to the output."""
    rank = X.ndim - 2
    steps, gaps = list(strides or [1] * rank), list(dilations or [1] * rank)
    extra = list(output_padding or [0] * rank)
    kernel = W.shape[2:]
    full = [
        (n - 1) * s + (k - 1) * d + 1 + e for n, s, k, d, e in zip(X.shape[2:], steps, kernel, gaps, extra, strict=True)
    ]
    channels = W.shape[1]
    canvas = np.zeros((X.shape[0], channels * group, *full), np.result_type(X, W))
    per_group = X.shape[1] // group
    for place in np.ndindex(*kernel):
        where = tuple(
            slice(p * d, p * d + (n - 1) * s + 1, s) for p, d, n, s in zip(place, gaps, X.shape[2:], steps, strict=True)
        )
        for g in range(group):
            part = np.tensordot(
                X[:, g * per_group : (g + 1) * per_group],
                W[g * per_group : (g + 1) * per_group][(slice(None), slice(None), *place)],
                axes=([1], [0]),
            )
            canvas[(slice(None), slice(g * channels, (g + 1) * channels), *where)] += np.moveaxis(part, -1, 1)
    around = _transposed_pads(full, X.shape[2:], steps, auto_pad, pads, output_shape)
    # A wanted shape may be larger than what the kernels reach.
    grown = np.pad(canvas, [(0, 0), (0, 0), *((max(0, -before), max(0, -after)) for before, after in around)])
    cut = tuple(
        slice(max(0, before), size - max(0, after))
        for (before, after), size in zip(around, grown.shape[2:], strict=True)
    )
    result = grown[(slice(None), slice(None), *cut)]
    return result if B is None else result + B.reshape(1, -1, *[1] * rank)


def _transposed_pads(
    full: Sequence[int], sizes: Sequence[int], strides: Sequence[int], auto_pad: str, pads: Ints, output_shape: Ints
) -> list[tuple[int, int]]:
    same = auto_pad in ("SAME_UPPER", "SAME_LOWER")
    if output_shape is None and not same:
        flat = [0] * (2 * len(full)) if auto_pad == "VALID" else list(pads or [0] * (2 * len(full)))
        return list(zip(flat[: len(full)], flat[len(full) :], strict=True))
    wanted = list(output_shape)[-len(full) :] if output_shape else [n * s for n, s in zip(sizes, strides, strict=True)]
    found = []
    for size, want in zip(full, wanted, strict=True):
        total = size - want
        small, large = total // 2, total - total // 2
        found.append((small, large) if auto_pad == "SAME_UPPER" else (large, small))
    return found


def windows_of(
    X: np.ndarray,
    fill: float,
    kernel: Sequence[int],
    steps: list[int],
    gaps: list[int],
    around: list[tuple[int, int]],
    ceil: bool,
) -> np.ndarray:
    """Return the windows of a pooling, ``[N, C, out..., kernel...]``, as a view of the padded data."""
    grown = []
    for size, k, s, d, (before, after) in zip(X.shape[2:], kernel, steps, gaps, around, strict=True):
        span = (k - 1) * d + 1
        room = size + before + after - span
        outputs = (math.ceil(room / s) if ceil else room // s) + 1
        if ceil and (outputs - 1) * s >= size + before:
            outputs -= 1  # the last window must begin inside the data or its leading pad
        grown.append((before, max(after, (outputs - 1) * s + span - size - before)))
    padded = np.pad(X, [(0, 0), (0, 0), *grown], constant_values=fill)
    view = _windows(padded, kernel, steps, gaps)
    counts = []
    for size, k, s, d, (before, after) in zip(X.shape[2:], kernel, steps, gaps, around, strict=True):
        room = size + before + after - ((k - 1) * d + 1)
        outputs = (math.ceil(room / s) if ceil else room // s) + 1
        counts.append(outputs - 1 if ceil and (outputs - 1) * s >= size + before else outputs)
    return view[(slice(None), slice(None), *(slice(count) for count in counts))]


def _reduced(function: np.ufunc, windows: np.ndarray) -> np.ndarray:
    """Reduce each window: by one pass per position in it, which reads memory in order, unless there are many."""
    rank = (windows.ndim - 2) // 2
    kernel = windows.shape[2 + rank :]
    if math.prod(kernel) > _MANY_POSITIONS or not windows.size:
        return cast(np.ndarray, function.reduce(windows, axis=tuple(range(2 + rank, windows.ndim))))
    positions = np.ndindex(*kernel)
    total = windows[(..., *next(positions))].copy()
    for position in positions:
        function(total, windows[(..., *position)], out=total)
    return total


def max_pool(
    X: np.ndarray,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Ints = None,
    pads: Ints = None,
    storage_order: int = 0,
    strides: Ints = None,
) -> np.ndarray:
    """ONNX's MaxPool, its first output."""
    rank = X.ndim - 2
    steps, gaps = list(strides or [1] * rank), list(dilations or [1] * rank)
    around = pads_of(X.shape[2:], kernel_shape, steps, gaps, auto_pad, pads)
    lowest: Any = -np.inf if X.dtype.kind == "f" else np.iinfo(X.dtype).min
    view = windows_of(X, lowest, kernel_shape, steps, gaps, around, bool(ceil_mode))
    return _reduced(np.maximum, view)


def average_pool(
    X: np.ndarray,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: Ints = None,
    pads: Ints = None,
    strides: Ints = None,
) -> np.ndarray:
    """ONNX's AveragePool: padding counts only when asked, what ceil mode adds never."""
    rank = X.ndim - 2
    steps, gaps = list(strides or [1] * rank), list(dilations or [1] * rank)
    around = pads_of(X.shape[2:], kernel_shape, steps, gaps, auto_pad, pads)
    axes = tuple(range(2 + rank, 2 + 2 * rank))
    summed = _reduced(np.add, windows_of(X, 0, kernel_shape, steps, gaps, around, bool(ceil_mode)))
    ones = np.ones((1, 1, *X.shape[2:]), X.dtype)
    if count_include_pad:
        ones = np.pad(ones, [(0, 0), (0, 0), *around], constant_values=1)
        around = [(0, 0)] * rank
    counted = windows_of(ones, 0, kernel_shape, steps, gaps, around, bool(ceil_mode)).sum(axis=axes)
    if count_include_pad:
        counted = counted[(slice(None), slice(None), *(slice(n) for n in summed.shape[2:]))]
    return cast(np.ndarray, summed / counted)
