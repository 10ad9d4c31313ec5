"""Discrete Fourier transforms, as products with the matrix of the transform.

ONNX Runtime's DFT is an FFT for lengths that are powers of two only; for others its float32 results are off by hundreds
of ulps, and it takes longer than the product. Where a length is not known ahead, the matrix is made while the model
runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from trueport.fidelity import accumulation
from trueport.formulas.linear.matrices import transposed
from trueport.frontends.torch.registry import maps_torch
from trueport.frontends.torch.shared.complex_pairs import joined, parts
from trueport.frontends.torch.translate.recording import TorchTranslation, recorded
from trueport.ir.dtypes import numpy_dtype

__all__: list[str] = []

_D = ir.DataType
Value = ir.Value
Length = int | Value
_BY_ROOT, _BY_ALL = 1, 2


@maps_torch("aten::_fft_r2c", error=accumulation())
@recorded
def fft_r2c(t: TorchTranslation, x: Value, dim: Sequence[int], normalization: int, onesided: bool) -> Value:
    axes = [axis % t.rank(x) for axis in dim]
    lengths = [_length(t, x, axis) for axis in axes]
    last = axes[-1]
    cosine, sine = _matrix(t, x, lengths[-1], half="columns" if onesided else "")
    real, imaginary = _along(t, x, cosine, last), t.op.Neg(_along(t, x, sine, last))
    for axis in reversed(axes[:-1]):
        real, imaginary = _turned(t, real, imaginary, axis, forward=True)
    return joined(t, *_scaled(t, real, imaginary, lengths, normalization))


@maps_torch("aten::_fft_c2c", error=accumulation(), complex_operands=True)
@recorded
def fft_c2c(t: TorchTranslation, x: Value, dim: Sequence[int], normalization: int, forward: bool) -> Value:
    real, imaginary = parts(t, x)
    axes = [axis % t.rank(real) for axis in dim]
    lengths = [_length(t, real, axis) for axis in axes]
    for axis in axes:
        real, imaginary = _turned(t, real, imaginary, axis, forward=forward)
    return joined(t, *_scaled(t, real, imaginary, lengths, normalization))


@maps_torch("aten::_fft_c2r", error=accumulation(), complex_operands=True)
@recorded
def fft_c2r(t: TorchTranslation, x: Value, dim: Sequence[int], normalization: int, last_dim_size: Length) -> Value:
    real, imaginary = parts(t, x)
    axes = [axis % t.rank(real) for axis in dim]
    lengths = [*(_length(t, real, axis) for axis in axes[:-1]), last_dim_size]
    for axis in axes[:-1]:
        real, imaginary = _turned(t, real, imaginary, axis, forward=False)
    cosine, sine = _matrix(t, real, last_dim_size, half="rows")
    made = t.op.Sub(_along(t, real, cosine, axes[-1]), _along(t, imaginary, sine, axes[-1]))
    return _scaled(t, made, made, lengths, normalization)[0]


def _turned(t: TorchTranslation, real: Value, imaginary: Value, axis: int, *, forward: bool) -> tuple[Value, Value]:
    """The transform along one axis: by exp(-iφ) forward, by exp(iφ) back."""
    cosine, sine = _matrix(t, real, _length(t, real, axis))
    across = [_along(t, part, wave, axis) for part in (real, imaginary) for wave in (cosine, sine)]
    if forward:
        return t.op.Add(across[0], across[3]), t.op.Sub(across[2], across[1])
    return t.op.Sub(across[0], across[3]), t.op.Add(across[2], across[1])


def _length(t: TorchTranslation, x: Value, axis: int) -> Length:
    known = t.dims(x)[axis]
    if known is not None:
        return known
    return t.op.Squeeze(t.op.Shape(x, start=axis, end=axis + 1), [0])


def _along(t: TorchTranslation, x: Value, matrix: Value, axis: int) -> Value:
    """The product along an axis."""
    rank = t.rank(x)
    order = [*(a for a in range(rank) if a != axis), axis]
    made = t.op.MatMul(transposed(t, x, order), matrix)
    return transposed(t, made, [int(place) for place in np.argsort(order)])


def _matrix(t: TorchTranslation, like: Value, length: Length, half: str = "") -> tuple[Value, Value]:
    """Cosines and sines of all products of a row's and a column's number, over the length.

    ``half``: of the columns, those up to the middle; of the rows those, counted twice where a mirror is left out.
    """
    if not isinstance(length, int):
        return _made_while_running(t, like, length, half)
    turns = np.outer(np.arange(length), np.arange(length)) % length * (2 * np.pi / length)
    weights = np.ones((length, 1))
    if half == "columns":
        turns = turns[:, : length // 2 + 1]
    elif half == "rows":
        turns, weights = turns[: length // 2 + 1], _doubled(length)
    kind = numpy_dtype(t.dtype(like))
    cosine, sine = ((wave(turns) * weights).astype(kind) for wave in (np.cos, np.sin))
    return t.op.const(cosine), t.op.const(sine)


def _doubled(length: int) -> np.ndarray:
    weights = np.full((length // 2 + 1, 1), 2.0)
    weights[0] = 1
    if length % 2 == 0:
        weights[-1] = 1
    return weights


def _made_while_running(t: TorchTranslation, like: Value, length: Value, half: str) -> tuple[Value, Value]:
    """In doubles, from whole numbers below the length: no digit is lost however long it is."""
    numbers = t.op.Range(0, length, 1)
    middle = t.op.Add(t.op.Div(length, 2), 1)
    few = t.op.Range(0, middle, 1)
    rows = t.op.Unsqueeze(few if half == "rows" else numbers, [1])
    columns = t.op.Unsqueeze(few if half == "columns" else numbers, [0])
    span = t.op.Cast(length, to=_D.DOUBLE)
    turn = t.op.Cast(t.op.Mod(t.op.Mul(rows, columns), length), to=_D.DOUBLE)
    angle = t.op.Div(t.op.Mul(turn, t.op.like(2 * np.pi, turn)), span)
    waves = [t.op.Cos(angle), t.op.Sin(angle)]
    if half == "rows":
        alone = t.op.Or(t.op.Equal(rows, 0), t.op.Equal(t.op.Mul(rows, 2), length))
        weights = t.op.Where(alone, t.op.like(1, turn), t.op.like(2, turn))
        waves = [t.op.Mul(wave, weights) for wave in waves]
    cosine, sine = (t.cast(wave, t.dtype(like)) for wave in waves)
    return cosine, sine


def _scaled(
    t: TorchTranslation, real: Value, imaginary: Value, lengths: Sequence[Length], normalization: int
) -> tuple[Value, Value]:
    if normalization not in (_BY_ROOT, _BY_ALL):
        return real, imaginary
    if all(isinstance(length, int) for length in lengths):
        count = float(np.prod(np.array(lengths, np.float64)))
        factor = t.op.like(1 / (count if normalization == _BY_ALL else np.sqrt(count)), real)
    else:
        sizes = [t.op.const(np.float64(s)) if isinstance(s, int) else t.op.Cast(s, to=_D.DOUBLE) for s in lengths]
        total = sizes[0]
        for size in sizes[1:]:
            total = t.op.Mul(total, size)
        wide = total if normalization == _BY_ALL else t.op.Sqrt(total)
        factor = t.cast(t.op.Reciprocal(wide), t.dtype(real))
    return t.op.Mul(real, factor), t.op.Mul(imaginary, factor)


@maps_torch("aten::stft", error=accumulation())
@recorded
def stft(
    t: TorchTranslation,
    x: Value,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Value | None = None,
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Value:
    """Frames by their places, weighed, and the transform of each; what is padded was padded before."""
    if align_to_window:
        raise t.fail("aligns its frames to the window", "leave align_to_window off")
    hop = hop_length or n_fft // 4
    last = t.rank(x) - 1
    length = t.op.Squeeze(t.op.Shape(x, start=last), [0])
    starts = t.op.Range(0, t.op.Sub(length, n_fft - 1), hop)
    places = t.op.Add(t.op.Unsqueeze(starts, [1]), t.op.const(np.arange(n_fft)))
    frames = t.op.Gather(x, places, axis=last)
    if window is not None:
        frames = t.op.Mul(frames, _centred(t, window, n_fft, win_length or n_fft))
    elif win_length and win_length < n_fft:
        frames = t.op.Mul(frames, _centred(t, t.op.like(np.ones(win_length), x), n_fft, win_length))
    cosine, sine = _matrix(t, x, n_fft, half="" if onesided is False else "columns")
    waves = t.op.MatMul(frames, cosine), t.op.Neg(t.op.MatMul(frames, sine))
    real, imaginary = _scaled(t, *waves, [n_fft], _BY_ROOT if normalized else 0)
    order = [*range(last), last + 1, last]
    return joined(t, transposed(t, real, order), transposed(t, imaginary, order))


def _centred(t: TorchTranslation, window: Value, n_fft: int, length: int) -> Value:
    """The window in the middle of a frame, zeros around it."""
    if length == n_fft:
        return window
    before = (n_fft - length) // 2
    return t.op.Pad(window, [before, n_fft - length - before], t.op.like(0, window))


@maps_torch("aten::fft_fftfreq", error=accumulation())
@recorded
def fftfreq(t: TorchTranslation, n: int, d: float = 1.0, *, dtype: int | None = None, **memory: object) -> Value:
    return t.op.const(np.fft.fftfreq(n, d).astype(_kind(dtype)))


@maps_torch("aten::fft_rfftfreq", error=accumulation())
@recorded
def rfftfreq(t: TorchTranslation, n: int, d: float = 1.0, *, dtype: int | None = None, **memory: object) -> Value:
    return t.op.const(np.fft.rfftfreq(n, d).astype(_kind(dtype)))


def _kind(dtype: int | None) -> np.dtype:
    return np.dtype(np.float32) if dtype is None or dtype < 0 else np.dtype(numpy_dtype(_D(dtype)))
