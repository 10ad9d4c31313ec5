"""Fourier transforms: the axis was an attribute before 20, and before 17 there was none but a product of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx_ir import Value

from trueport.passes.lower.adapt import ABSENT, Downgrade, downgrades

__all__: list[str] = []

_LARGEST = 1 << 24
"""Elements of a matrix that is stored in the model."""


@downgrades("DFT", 20, 17)
def dft_20_to_17(
    op: Downgrade, input: Value, dft_length: Value | None, axis: Value | None, *, inverse: int, onesided: int
) -> Any:
    """Before 20 the axis is an attribute that counts from the front, and half a spectrum has no inverse."""
    rank = op.rank(input)
    along = -2 if axis is None else int(op.need(axis, "axis"))
    if inverse and onesided:
        return _by_matrix(op, input, dft_length, along % rank, inverse, onesided)
    return op.again(input, dft_length, axis=along % rank, inverse=inverse, onesided=onesided)


@downgrades("DFT", 17, ABSENT)
def dft_17_to_none(
    op: Downgrade, input: Value, dft_length: Value | None, *, axis: int, inverse: int, onesided: int
) -> Any:
    """A product with the transform's matrix."""
    return _by_matrix(op, input, dft_length, axis % op.rank(input), inverse, onesided)


def _by_matrix(op: Downgrade, x: Value, dft_length: Value | None, axis: int, inverse: int, onesided: int) -> Any:
    rank = op.rank(x)
    count, parts = op.dim(x, axis), op.dim(x, -1)
    if count is None or parts is None:
        raise op.fail("the length of the signal must be known")
    length = 2 * (count - 1) if inverse and onesided else count
    if dft_length is not None:
        length = int(op.need(dft_length, "dft_length"))
    kept = length // 2 + 1 if onesided and not inverse else length
    if count * kept * (2 if inverse and onesided else 2 * parts) > _LARGEST:
        raise op.fail(f"a transform of {count} elements to {length} is too long to be written as a matrix")
    matrix = _inverse_of_half(count, length) if inverse and onesided else _matrix(count, parts, length, inverse)
    if onesided and not inverse:
        matrix = matrix[:, :, :kept]
    # The axis to the end, before the parts; both are one axis for the product.
    perm = [*(place for place in range(rank - 1) if place != axis), axis, rank - 1]
    rows = op.Transpose(x, perm=perm)
    flat = op.Reshape(rows, [*[0] * (rank - 2), count * parts])
    assert x.dtype is not None
    made = op.MatMul(flat, matrix.reshape(count * parts, -1).astype(x.dtype.numpy()))
    apart = op.Reshape(made, [*[0] * (rank - 2), matrix.shape[2], matrix.shape[3]])
    return op.Transpose(apart, perm=[perm.index(place) for place in range(rank)])


def _matrix(count: int, parts: int, length: int, inverse: int) -> np.ndarray:
    """By element, its part, frequency, its part: elements beyond the length count for nothing."""
    turns = np.outer(np.arange(count), np.arange(length)) % length / length
    wave = np.exp((2j if inverse else -2j) * np.pi * turns) / (length if inverse else 1)
    wave[length:] = 0
    of_real, of_imaginary = np.stack([wave.real, wave.imag], -1), np.stack([-wave.imag, wave.real], -1)
    return np.stack([of_real, of_imaginary][:parts], 1)


def _inverse_of_half(count: int, length: int) -> np.ndarray:
    """All frequencies but the first and, of an even length, the middle one stand for two."""
    places = np.arange(count)
    twice = np.where((places == 0) | (2 * places == length), 1, 2) * (places <= length // 2)
    turns = np.outer(places, np.arange(length)) % length / length * 2 * np.pi
    weights = twice[:, None] / length
    return np.stack([np.cos(turns) * weights, -np.sin(turns) * weights], 1)[..., None]


@downgrades("STFT", 17, ABSENT)
def stft_17_to_none(
    op: Downgrade,
    signal: Value,
    frame_step: Value,
    window: Value | None,
    frame_length: Value | None,
    *,
    onesided: int,
) -> Any:
    """A convolution whose filters are the waves under the window."""
    shape = op.known(window)
    if op.dim(signal, -1) != 1 or (window is not None and shape is None):
        raise op.fail("the signal must be real and the window a constant")
    length = len(shape) if shape is not None else int(op.need(frame_length, "frame_length"))
    waves = _matrix(length, 1, length, 0)[:, 0]
    waves = waves[:, : length // 2 + 1] if onesided else waves
    frequencies = waves.shape[1]
    if shape is not None:
        waves = waves * shape.astype(np.float64)[:, None, None]
    assert signal.dtype is not None
    filters = waves.transpose(1, 2, 0).reshape(2 * frequencies, 1, length).astype(signal.dtype.numpy())
    step = int(op.need(frame_step, "frame_step"))
    made = op.Conv(op.Transpose(signal, perm=[0, 2, 1]), filters, strides=[step], kernel_shape=[length])
    apart = op.Reshape(made, [0, frequencies, 2, -1])
    return op.Transpose(apart, perm=[0, 3, 1, 2])
