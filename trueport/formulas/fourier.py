"""Discrete Fourier transforms along one axis: as a product with the matrix of the transform, or as ONNX's DFT.

ONNX Runtime's DFT is an FFT for lengths that are powers of two only. For others its float32 result is off by
hundreds of ulps (2000 at length 1000, against float64), and it takes twenty times as long as the product with the
matrix; a length that is not known ahead is therefore transformed in float64.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx_ir as ir

from trueport.formulas.pairs import Pair, by_part, is_real
from trueport.formulas.writer import Writer
from trueport.ir.dtypes import numpy_dtype

__all__ = ["Length", "real_signal", "real_spectrum", "resized", "spectrum"]

Length = int | ir.Value
"""A length that is known, or one that is computed (a scalar of int64)."""

_SMALL = 512
"""Up to this length the product with the matrix is the faster one, powers of two included."""
_LARGE = 2048
"""Up to this length the matrix may be stored."""


def spectrum(t: Writer, z: Pair, axis: int, length: Length | None = None, *, inverse: bool = False) -> Pair:
    """The transform of complex numbers along an axis (counted from the last, -1), cut or padded to the length."""
    if length is not None:
        z = by_part(lambda part: resized(t, part, axis, length), z)
    known = t.dims(z.real)[axis]
    if _has_matrix(known):
        assert known is not None
        return _product(t, z, axis, known, inverse)
    if inverse and not _is_power(known):
        # The kernel scales the inverse in float32; the forward transform of the parts swapped needs none.
        swapped = _transformed(t, Pair(z.imag, z.real), axis)
        scale = t.op.Cast(_size(t, z.real, axis), to=t.dtype(z.real))
        return Pair(t.op.Div(swapped.imag, scale), t.op.Div(swapped.real, scale))
    return _transformed(t, z, axis, inverse=inverse)


def real_spectrum(t: Writer, x: ir.Value, length: Length) -> Pair:
    """The first half of the spectrum of real numbers, along the last axis."""
    if not isinstance(length, int) or not _has_matrix(length):
        halves = _dft(t, t.op.Unsqueeze(x, [-1]), -1, length, onesided=1)
        return _parts(t, halves)
    x = _cut(t, x, length)
    rows = min(length, t.dims(x)[-1] or length)
    x = x if t.dims(x)[-1] is not None else resized(t, x, -1, length)

    def bins(wave: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        return wave(_turns(length))[:rows, : length // 2 + 1]

    return Pair(
        t.op.MatMul(x, _matrix(t, x, ("rfft", rows, length, 0), lambda: bins(np.cos))),
        t.op.MatMul(x, _matrix(t, x, ("rfft", rows, length, 1), lambda: -bins(_sine))),
    )


def real_signal(t: Writer, z: Pair, length: Length) -> ir.Value:
    """The real numbers of which this is the first half of the spectrum, along the last axis."""
    if not isinstance(length, int) or not (_has_matrix(length) or _is_power(length)):
        return spectrum(t, _completed(t, z, length), -1, inverse=True).real
    if not _has_matrix(length):
        return t.op.Squeeze(_dft(t, _stacked(t, z), -1, length, inverse=1, onesided=1), [-1])
    z = by_part(lambda part: resized(t, part, -1, length // 2 + 1), z)

    def waves(wave: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        # All bins stand for two of the whole spectrum, but the first, and the last of an even length.
        weight = np.where(np.arange(length // 2 + 1) * 2 % length == 0, 1.0, 2.0)[:, None]
        return np.asarray(weight * wave(_turns(length))[: length // 2 + 1] / length)

    even = t.op.MatMul(z.real, _matrix(t, z.real, ("irfft", length, 0), lambda: waves(np.cos)))
    odd = t.op.MatMul(z.imag, _matrix(t, z.real, ("irfft", length, 1), lambda: waves(_sine)))
    return t.op.Sub(even, odd)


def _completed(t: Writer, z: Pair, length: Length) -> Pair:
    """The whole spectrum of real numbers from its first half: the second mirrors the first."""
    size = t.op.const(np.array(length)) if isinstance(length, int) else length
    half = t.op.Div(size, 2)
    z = by_part(lambda part: resized(t, part, -1, t.op.Add(half, 1)), z)
    last = t.op.Reshape(t.op.Div(t.op.Sub(size, 1), 2), [1])
    real, imag = (t.op.Slice(part, last, [0], [-1], [-1]) for part in z)
    return Pair(t.op.Concat(z.real, real, axis=-1), t.op.Concat(z.imag, t.op.Neg(imag), axis=-1))


def resized(t: Writer, x: ir.Value, axis: int, length: Length) -> ir.Value:
    """Cut, or padded with zeros, at the end of an axis."""
    have = t.dims(x)[axis]
    if have is not None and have == length:
        return x
    wanted = t.op.const(np.array([length])) if isinstance(length, int) else t.op.Reshape(length, [1])
    if not (isinstance(length, int) and have is not None and have < length):
        x = t.op.Slice(x, [0], wanted, [axis])
    before, after = [0] * (2 * t.rank(x) + axis), [0] * (-axis - 1)
    if isinstance(length, int) and have is not None:
        return x if have > length else t.op.Pad(x, [*before, length - have, *after])
    missing = t.op.Sub(wanted, t.op.Reshape(_size(t, x, axis), [1]))
    return t.op.Pad(x, t.op.Concat(before, missing, *([after] if after else []), axis=0))


def _has_matrix(length: int | None) -> bool:
    return length is not None and (length <= _SMALL or (length <= _LARGE and not _is_power(length)))


def _is_power(length: int | None) -> bool:
    return length is not None and length & (length - 1) == 0


def _size(t: Writer, x: ir.Value, axis: int) -> ir.Value:
    return t.op.Gather(t.op.Shape(x), axis)


def _cut(t: Writer, x: ir.Value, length: int) -> ir.Value:
    have = t.dims(x)[-1]
    return t.op.Slice(x, [0], [length], [-1]) if have is not None and have > length else x


def _turns(length: int) -> np.ndarray:
    """The angles of a transform; whole turns are dropped before they cost digits."""
    steps = np.outer(np.arange(length), np.arange(length)) % length
    return 2 * np.pi * steps / length


def _sine(angles: np.ndarray) -> np.ndarray:
    """Sines that are zero where they should be: at half turns."""
    return np.where(np.isclose(angles, np.pi, rtol=1e-15, atol=0), 0.0, np.sin(angles))


def _matrix(t: Writer, like: ir.Value, key: tuple[object, ...], make: Callable[[], np.ndarray]) -> ir.Value:
    kind = numpy_dtype(t.dtype(like))
    return t.op.shared((*key, kind), lambda: np.ascontiguousarray(make().astype(kind)))


def _product(t: Writer, z: Pair, axis: int, length: int, inverse: bool) -> Pair:
    """The whole transform: four products of real matrices, two for a real signal. The matrix is symmetric."""
    scale, sign = (1 / length, 1) if inverse else (1, -1)
    even = _matrix(t, z.real, ("fft", length, 0, inverse), lambda: scale * np.cos(_turns(length)))
    odd = _matrix(t, z.real, ("fft", length, 1, inverse), lambda: sign * scale * _sine(_turns(length)))

    def times(x: ir.Value, matrix: ir.Value) -> ir.Value:
        return _along(t, x, axis, lambda rows: t.op.MatMul(rows, matrix), lambda columns: t.op.MatMul(matrix, columns))

    if is_real(z):
        return Pair(times(z.real, even), times(z.real, odd))
    return Pair(
        t.op.Sub(times(z.real, even), times(z.imag, odd)),
        t.op.Add(times(z.real, odd), times(z.imag, even)),
    )


def _along(
    t: Writer,
    x: ir.Value,
    axis: int,
    rows: Callable[[ir.Value], ir.Value],
    columns: Callable[[ir.Value], ir.Value],
) -> ir.Value:
    """Apply to the last axis, to the last but one, or to another that is moved to the end."""
    if axis == -1:
        return rows(x)
    if axis == -2:
        return columns(x)
    order = list(range(t.rank(x)))
    order[axis], order[-1] = order[-1], order[axis]
    return t.op.Transpose(rows(t.op.Transpose(x, perm=order)), perm=order)


def _transformed(t: Writer, z: Pair, axis: int, *, inverse: bool = False) -> Pair:
    stacked = t.op.Unsqueeze(z.real, [-1]) if is_real(z) else _stacked(t, z)
    return _parts(t, _dft(t, stacked, axis, t.dims(z.real)[axis], inverse=int(inverse)))


def _dft(
    t: Writer, stacked: ir.Value, axis: int, length: Length | None, *, inverse: int = 0, onesided: int = 0
) -> ir.Value:
    """ONNX's operator on [..., 1 or 2], in float64 where its kernel is not exact enough."""
    kind = t.dtype(stacked)
    wide = stacked if isinstance(length, int) and _is_power(length) else t.cast(stacked, ir.DataType.DOUBLE)
    same = length is None or (isinstance(length, int) and t.dims(stacked)[axis - 1] == length)
    size = None if same and not (inverse and onesided) else length
    given = t.op.const(np.array(size)) if isinstance(size, int) else size
    made = t.op.DFT(wide, given, t.op.const(np.array(axis - 1)), inverse=inverse, onesided=onesided)
    return t.cast(made, kind)


def _stacked(t: Writer, z: Pair) -> ir.Value:
    return t.op.Concat(*(t.op.Unsqueeze(part, [-1]) for part in z), axis=-1)


def _parts(t: Writer, stacked: ir.Value) -> Pair:
    return Pair(t.op.Gather(stacked, 0, axis=-1), t.op.Gather(stacked, 1, axis=-1))
