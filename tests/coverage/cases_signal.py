"""Complex numbers, Fourier transforms, signals and their layers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.coverage.case import Cannot, Case, NoGraph

_RNG = np.random.default_rng(0)


def _x(*shape: int) -> np.ndarray:
    return _RNG.normal(size=shape).astype(np.float32)


def _z(*shape: int) -> np.ndarray:
    return (_RNG.normal(size=shape) + 1j * _RNG.normal(size=shape)).astype(np.complex64)


def _real(*shape: int) -> list[list[Any]]:
    return [[_x(2, *shape)], [_x(3, *shape)]]


def _complex(*shape: int) -> list[list[Any]]:
    return [[_z(2, *shape)], [_z(3, *shape)]]


def _parts(*shape: int) -> list[list[Any]]:
    """The two parts that keras.ops takes for a complex tensor."""
    return [[_x(2, *shape), _x(2, *shape)], [_x(3, *shape), _x(3, *shape)]]


def _case(
    name: str, function: Callable[..., Any], samples: Sequence[Sequence[Any]], label: str = "", **options: Any
) -> Case:
    return Case(name, lambda: function, samples, options, label)


def _layer(layer: Callable[[], Any], *shape: int) -> Callable[[], Any]:
    def make() -> Any:
        inputs = keras.Input(shape)
        return keras.Model(inputs, layer()(inputs))

    return make


def _spectrogram(mode: str) -> Any:
    # A window by name would need SciPy.
    return keras.layers.STFTSpectrogram(mode, frame_length=8, frame_step=4, window=np.hanning(8).astype(np.float32))


_ND = ("fftnd", "ifftnd", "rfftnd", "irfftnd")

_TRANSFORMS: list[Case | NoGraph] = [
    _case("tf.signal.fft", tf.signal.fft, _complex(6)),
    _case("tf.signal.ifft", tf.signal.ifft, _complex(7)),
    _case("tf.signal.fft2d", tf.signal.fft2d, _complex(3, 4)),
    _case("tf.signal.ifft2d", tf.signal.ifft2d, _complex(3, 4)),
    _case("tf.signal.fft3d", tf.signal.fft3d, _complex(2, 3, 4)),
    _case("tf.signal.ifft3d", tf.signal.ifft3d, _complex(2, 3, 4)),
    _case("tf.signal.rfft", tf.signal.rfft, _real(9)),
    _case("tf.signal.irfft", tf.signal.irfft, _complex(5)),
    _case("tf.signal.rfft2d", tf.signal.rfft2d, _real(4, 5)),
    _case("tf.signal.irfft2d", tf.signal.irfft2d, _complex(4, 3)),
    _case("tf.signal.rfft3d", tf.signal.rfft3d, _real(2, 4, 5)),
    _case("tf.signal.irfft3d", tf.signal.irfft3d, _complex(2, 4, 3)),
    *(NoGraph(f"tf.signal.{name}", "TensorFlow has no CPU kernel to compare it with") for name in _ND),
    _case("tf.signal.fftshift", lambda x: tf.signal.fftshift(x, 1), _real(5)),
    _case("tf.signal.ifftshift", lambda x: tf.signal.ifftshift(x, [1, 2]), _real(5, 4)),
]

_SIGNALS = [
    *(
        _case(
            "tf.signal.dct",
            lambda x, kind=kind, norm=norm: tf.signal.dct(x, kind, norm=norm),
            _real(8),
            f"{kind} {norm}",
        )
        for kind, norm in [(1, None), (2, None), (2, "ortho"), (3, "ortho"), (4, None)]
    ),
    *(
        _case(
            "tf.signal.idct",
            lambda x, kind=kind, norm=norm: tf.signal.idct(x, kind, norm=norm),
            _real(8),
            f"{kind} {norm}",
        )
        for kind, norm in [(1, None), (2, "ortho"), (3, None), (4, None)]
    ),
    _case("tf.signal.mdct", lambda x: tf.signal.mdct(x, 8), _real(32)),
    _case("tf.signal.inverse_mdct", tf.signal.inverse_mdct, _real(4, 8)),
    _case("tf.signal.frame", lambda x: tf.signal.frame(x, 4, 2), _real(11)),
    _case("tf.signal.frame", lambda x: tf.signal.frame(x, 4, 3, pad_end=True, pad_value=0.5), _real(11), "padded"),
    _case("tf.signal.frame", lambda x: tf.signal.frame(x, 5, 2), [[_x(1, 12)], [_x(2, 17)]], "open"),
    _case("tf.signal.overlap_and_add", lambda x: tf.signal.overlap_and_add(x, 2), _real(5, 4)),
    _case(
        "tf.signal.overlap_and_add", lambda x: tf.signal.overlap_and_add(x, 3), [[_x(1, 3, 4)], [_x(2, 5, 4)]], "open"
    ),
    _case("tf.signal.stft", lambda x: tf.signal.stft(x, 8, 4), _real(32)),
    _case("tf.signal.stft", lambda x: tf.abs(tf.signal.stft(x, 10, 5, 16, pad_end=True)), _real(33), "padded"),
    _case("tf.signal.stft", lambda x: tf.abs(tf.signal.stft(x, 8, 4)), [[_x(1, 32)], [_x(2, 45)]], "open"),
    _case("tf.signal.inverse_stft", lambda z: tf.signal.inverse_stft(z, 8, 4), _complex(6, 5)),
    _case("tf.signal.inverse_stft", lambda z: tf.signal.inverse_stft(z, 8, 4), [[_z(1, 6, 5)], [_z(2, 9, 5)]], "open"),
    _case(
        "tf.signal.inverse_stft_window_fn",
        lambda z: tf.signal.inverse_stft(z, 8, 4, window_fn=tf.signal.inverse_stft_window_fn(4)),
        _complex(6, 5),
    ),
    _case(
        "tf.signal.linear_to_mel_weight_matrix",
        lambda x: x @ tf.signal.linear_to_mel_weight_matrix(4, 9, 8000, 100.0, 3800.0),
        _real(9),
    ),
    _case("tf.signal.mfccs_from_log_mel_spectrograms", tf.signal.mfccs_from_log_mel_spectrograms, _real(5, 8)),
    *(
        _case(f"tf.signal.{make.__name__}", lambda x, make=make: x * make(8), _real(8))
        for make in (
            tf.signal.hamming_window,
            tf.signal.hann_window,
            tf.signal.kaiser_bessel_derived_window,
            tf.signal.kaiser_window,
            tf.signal.vorbis_window,
        )
    ),
]

_KERAS = [
    _case("keras.ops.fft", lambda re, im: keras.ops.fft((re, im)), _parts(6)),
    _case("keras.ops.fft2", lambda re, im: keras.ops.fft2((re, im)), _parts(3, 4)),
    _case("keras.ops.ifft2", lambda re, im: keras.ops.ifft2((re, im)), _parts(3, 4)),
    _case("keras.ops.rfft", keras.ops.rfft, _real(7)),
    _case("keras.ops.irfft", lambda re, im: keras.ops.irfft((re, im)), _parts(5)),
    _case("keras.ops.stft", lambda x: keras.ops.stft(x, 8, 4, 8), _real(32)),
    _case("keras.ops.stft", lambda x: keras.ops.stft(x, 6, 3, 8, center=False), [[_x(1, 32)], [_x(2, 45)]], "open"),
    _case("keras.ops.istft", lambda re, im: keras.ops.istft((re, im), 8, 4, 8), _parts(6, 5)),
    _case("keras.ops.extract_sequences", lambda x: keras.ops.extract_sequences(x, 4, 2), _real(11)),
    _case("keras.ops.view_as_complex", keras.ops.view_as_complex, _real(3, 2)),
    _case("keras.ops.view_as_real", keras.ops.view_as_real, _complex(3)),
    _case("keras.ops.real", keras.ops.real, _complex(3)),
    _case("keras.ops.imag", keras.ops.imag, _complex(3)),
    _case("keras.ops.conj", keras.ops.conj, _complex(3)),
    _case("keras.ops.conjugate", keras.ops.conjugate, _complex(3)),
    _case("keras.ops.angle", keras.ops.angle, _complex(3)),
    _case("keras.ops.angle", keras.ops.angle, _real(3), "real"),
    _case("tf.math.real", tf.math.real, _complex(3)),
    _case("tf.math.imag", tf.math.imag, _complex(3)),
    _case("tf.math.conj", tf.math.conj, _complex(3)),
    _case("tf.math.angle", tf.math.angle, _complex(3)),
    Case(
        "keras.layers.MelSpectrogram",
        _layer(lambda: keras.layers.MelSpectrogram(fft_length=16, sequence_stride=8, num_mel_bins=4), 64),
        _real(64),
    ),
    Case(
        "keras.layers.MelSpectrogram",
        _layer(
            lambda: keras.layers.MelSpectrogram(fft_length=16, sequence_stride=8, num_mel_bins=4, power_to_db=False), 64
        ),
        _real(64),
        label="power",
    ),
    *(
        Case(
            "keras.layers.STFTSpectrogram",
            _layer(functools.partial(_spectrogram, mode), 32, 1),
            _real(32, 1),
            label=mode,
        )
        for mode in ("log", "magnitude", "psd", "real", "imag", "angle", "stft")
    ),
]

CASES: list[Case | Cannot | NoGraph] = [*_TRANSFORMS, *_SIGNALS, *_KERAS]
