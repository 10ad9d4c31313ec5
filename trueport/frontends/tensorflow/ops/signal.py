"""Fourier transforms."""

from __future__ import annotations

import onnx_ir as ir

from trueport.fidelity import AGAINST_DATA, accumulation
from trueport.formulas.fourier import Length, real_signal, real_spectrum, resized, spectrum
from trueport.formulas.pairs import by_part
from trueport.frontends.tensorflow.source.nodes import COMPLEX
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.frontends.tensorflow.translate.values import Pair
from trueport.mapping.declare import maps

__all__: list[str] = []


def _whole(t: Translation, z: Pair, axes: range, *, inverse: bool = False) -> Pair:
    for axis in axes:
        z = spectrum(t, z, axis, inverse=inverse)
    return z


@maps("FFT", domain=COMPLEX, error=accumulation(4, against=AGAINST_DATA))
def fft(t: Translation, input: Pair) -> Pair:
    return _whole(t, input, range(-1, 0))


@maps("FFT2D", domain=COMPLEX, error=accumulation(4, against=AGAINST_DATA))
def fft2d(t: Translation, input: Pair) -> Pair:
    return _whole(t, input, range(-2, 0))


@maps("FFT3D", domain=COMPLEX, error=accumulation(4, against=AGAINST_DATA))
def fft3d(t: Translation, input: Pair) -> Pair:
    return _whole(t, input, range(-3, 0))


@maps("IFFT", domain=COMPLEX, error=accumulation(4, against=AGAINST_DATA))
def ifft(t: Translation, input: Pair) -> Pair:
    return _whole(t, input, range(-1, 0), inverse=True)


@maps("IFFT2D", domain=COMPLEX, error=accumulation(4, against=AGAINST_DATA))
def ifft2d(t: Translation, input: Pair) -> Pair:
    return _whole(t, input, range(-2, 0), inverse=True)


@maps("IFFT3D", domain=COMPLEX, error=accumulation(4, against=AGAINST_DATA))
def ifft3d(t: Translation, input: Pair) -> Pair:
    return _whole(t, input, range(-3, 0), inverse=True)


@maps("RFFT", domain=COMPLEX, error=accumulation(4, against=AGAINST_DATA))
@maps("RFFT2D", domain=COMPLEX, error=accumulation(4, against=AGAINST_DATA))
@maps("RFFT3D", domain=COMPLEX, error=accumulation(4, against=AGAINST_DATA))
def rfft(t: Translation, input: ir.Value, fft_length: ir.Value) -> Pair:
    lengths = _lengths(t, fft_length)
    for axis, length in _outer(lengths):
        input = resized(t, input, axis, length)
    made = real_spectrum(t, input, lengths[-1])
    for axis, _ in _outer(lengths):
        made = spectrum(t, made, axis)
    return made


@maps("IRFFT", domain=COMPLEX, error=accumulation(4, against=AGAINST_DATA))
@maps("IRFFT2D", domain=COMPLEX, error=accumulation(4, against=AGAINST_DATA))
@maps("IRFFT3D", domain=COMPLEX, error=accumulation(4, against=AGAINST_DATA))
def irfft(t: Translation, input: Pair, fft_length: ir.Value) -> ir.Value:
    lengths = _lengths(t, fft_length)
    for axis, length in _outer(lengths):
        input = spectrum(t, input, axis, length, inverse=True)
    return real_signal(t, input, lengths[-1])


@maps("FFTND", domain=COMPLEX, error=accumulation(4, against=AGAINST_DATA))
def fftnd(t: Translation, input: Pair, fft_length: ir.Value, axes: ir.Value) -> Pair:
    for axis, length in _axes(t, input.real, fft_length, axes):
        input = spectrum(t, input, axis, length)
    return input


@maps("IFFTND", domain=COMPLEX, error=accumulation(4, against=AGAINST_DATA))
def ifftnd(t: Translation, input: Pair, fft_length: ir.Value, axes: ir.Value) -> Pair:
    for axis, length in _axes(t, input.real, fft_length, axes):
        input = spectrum(t, input, axis, length, inverse=True)
    return input


@maps("RFFTND", domain=COMPLEX, error=accumulation(4, against=AGAINST_DATA))
def rfftnd(t: Translation, input: ir.Value, fft_length: ir.Value, axes: ir.Value) -> Pair:
    *outer, (last, length) = _axes(t, input, fft_length, axes)
    made = real_spectrum(t, t.op.Transpose(input, perm=_swapped(t, input, last)), length)
    made = by_part(lambda part: t.op.Transpose(part, perm=_swapped(t, part, last)), made)
    for axis, size in outer:
        made = spectrum(t, made, axis, size)
    return made


@maps("IRFFTND", domain=COMPLEX, error=accumulation(4, against=AGAINST_DATA))
def irfftnd(t: Translation, input: Pair, fft_length: ir.Value, axes: ir.Value) -> ir.Value:
    *outer, (last, length) = _axes(t, input.real, fft_length, axes)
    for axis, size in outer:
        input = spectrum(t, input, axis, size, inverse=True)
    order = _swapped(t, input.real, last)
    return t.op.Transpose(
        real_signal(t, by_part(lambda part: t.op.Transpose(part, perm=order), input), length), perm=order
    )


def _axes(t: Translation, x: ir.Value, fft_length: ir.Value, axes: ir.Value) -> list[tuple[int, Length]]:
    """The axes, counted from the last, with their lengths."""
    rank = t.rank(x)
    known = [int(axis) % rank - rank for axis in t.need(axes, "axes")]
    return list(zip(known, _lengths(t, fft_length), strict=True))


def _swapped(t: Translation, x: ir.Value, axis: int) -> list[int]:
    """The permutation, its own inverse, that changes an axis with the last."""
    order = list(range(t.rank(x)))
    order[axis], order[-1] = order[-1], order[axis]
    return order


def _lengths(t: Translation, fft_length: ir.Value) -> list[Length]:
    """The length along each axis of the transform, the last axis last."""
    known = t.static(fft_length)
    if known is not None:
        return [int(length) for length in known]
    count = t.dims(fft_length)[0]
    if count is None:
        raise t.fail("how many axes it transforms is not known", "give fft_length a fixed number of entries")
    wide = t.int64(fft_length)
    return [t.op.Gather(wide, index) for index in range(count)]


def _outer(lengths: list[Length]) -> list[tuple[int, Length]]:
    """All axes but the last, with their lengths."""
    return [(index - len(lengths), length) for index, length in enumerate(lengths[:-1])]
