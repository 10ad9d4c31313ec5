"""Signals: Fourier transforms, short-time spectra, mel filters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.build.dtypes import tf_dtype
from trueport.backends.tensorflow.kernels.sizes import size_of
from trueport.mapping.declare import maps
from trueport.mapping.needs import known_rank

__all__: list[str] = []


@maps("DFT", needs=[known_rank(0)], audited=20)
def dft(
    t: Emission, input: Tensor, dft_length: Tensor | None, axis: Tensor | None, *, inverse: int, onesided: int
) -> Tensor:
    rank = t.rank(input)
    swap = _swapped_with_last(t, axis, rank)
    x = input if swap is None else tf.transpose(input, swap)
    x.set_shape([*[None] * (rank - 1), input.shape[-1]])
    length = _number(t, dft_length)
    made = _transformed(_wide(x), length, bool(inverse), bool(onesided))
    made = tf.cast(made, input.dtype)
    return made if swap is None else tf.transpose(made, swap)


@maps("STFT", needs=[known_rank(0)], audited=17)
def stft(
    t: Emission,
    signal: Tensor,
    frame_step: Tensor,
    window: Tensor | None,
    frame_length: Tensor | None,
    *,
    onesided: int,
) -> Tensor:
    if t.rank(signal) == 2:
        # The text asks for a last axis of one for real signals; ONNX Runtime takes them without, and exporters do so.
        signal = signal[..., None]
    step, length = _number(t, frame_step), _number(t, frame_length)
    if length is None:
        length = size_of(signal, 1) if window is None else size_of(window, 0)
    frames = 1 + (size_of(signal, 1) - length) // step
    places = tf.range(frames)[:, None] * step + tf.range(length)
    x = tf.gather(_wide(signal), places, axis=1)
    x = x if window is None else x * tf.cast(window, x.dtype)[:, None]
    return tf.cast(_transformed(x, None, False, bool(onesided)), signal.dtype)


@maps("MelWeightMatrix", audited=17)
def mel_weight_matrix(
    t: Emission,
    num_mel_bins: Tensor,
    dft_length: Tensor,
    sample_rate: Tensor,
    lower_edge_hertz: Tensor,
    upper_edge_hertz: Tensor,
    *,
    output_datatype: int,
) -> Tensor:
    bins, length = _number(t, num_mel_bins), _number(t, dft_length)
    low, high = (_mel(tf.cast(edge, tf.float64)) for edge in (lower_edge_hertz, upper_edge_hertz))
    marks = tf.cast(tf.range(bins + 2), tf.float64) * ((high - low) / tf.cast(bins + 2, tf.float64)) + low
    hertz = 700 * tf.math.expm1(marks * (math.log(10) / 2595))
    marks = tf.math.floor((tf.cast(length, tf.float64) + 1) * hertz / tf.cast(sample_rate, tf.float64))
    left, center, right = marks[:-2], marks[1:-1], marks[2:]
    at = tf.cast(tf.range(length // 2 + 1), tf.float64)[:, None]
    rising = tf.where(center > left, tf.math.divide_no_nan(at - left, center - left), tf.ones_like(center))
    falling = tf.math.divide_no_nan(right - at, right - center)
    made = tf.where((at >= left) & (at <= center), rising, tf.zeros_like(rising))
    made = tf.where((at >= center) & (at < right), falling, made)
    return tf.cast(made, tf_dtype(ir.DataType(output_datatype)))


def _mel(hertz: Tensor) -> Tensor:
    return 2595 * tf.math.log1p(hertz / 700) / math.log(10)


def _number(t: Emission, scalar: Tensor | None) -> Any:
    """A scalar parameter: an int where it is known, else an int32 tensor."""
    if scalar is None:
        return None
    known = t.static(scalar)
    return tf.cast(tf.reshape(scalar, []), tf.int32) if known is None else int(np.reshape(known, ()))


def _swapped_with_last(t: Emission, axis: Tensor | None, rank: int) -> Any:
    """The permutation, its own inverse, that changes the axis with the last of the signal; None when it is that one."""
    number = -2 if axis is None else _number(t, axis)
    order, last = np.arange(rank), rank - 2
    if tf.is_tensor(number):
        number = number % rank
        return tf.where(order == number, last, tf.where(order == last, number, order))
    number %= rank
    order[[number, last]] = order[[last, number]]
    return None if number == last else order


def _wide(x: Tensor) -> Tensor:
    return x if x.dtype in (tf.float32, tf.float64) else tf.cast(x, tf.float32)


def _transformed(x: Tensor, length: Any, inverse: bool, onesided: bool) -> Tensor:
    """x [..., n, 1 or 2] → [..., m, 2], or [..., m, 1] for the inverse of a one-sided spectrum."""
    if inverse and onesided:
        length = 2 * (size_of(x, -2) - 1) if length is None else length
        return tf.signal.irfft(_complex(x), [length])[..., None]
    length = size_of(x, -2) if length is None else length
    if onesided and x.shape[-1] == 1:
        made = tf.signal.rfft(_fitted(x[..., 0], length), [length])
    else:
        made = (tf.signal.ifft if inverse else tf.signal.fft)(_fitted(_complex(x), length))
        made = made[..., : length // 2 + 1] if onesided else made
    imaginary = tf.math.imag(made)
    if x.shape[-1] == 1:
        # The spectrum of a real signal is real at its ends, where the kernel leaves rounding errors.
        bins = tf.range(size_of(made, -1))
        imaginary = tf.where((bins > 0) & (2 * bins != length), imaginary, tf.zeros([], x.dtype))
    return tf.stack([tf.math.real(made), imaginary], -1)


def _complex(x: Tensor) -> Tensor:
    """A last axis of one is the real part alone; its length may be unknown until it runs."""
    if x.shape[-1] == 2:
        return tf.complex(x[..., 0], x[..., 1])
    if x.shape[-1] == 1:
        return tf.complex(x[..., 0], tf.zeros_like(x[..., 0]))
    padded = tf.pad(x, [[0, 0]] * (x.shape.rank - 1) + [[0, 2 - tf.shape(x)[-1]]])
    return tf.complex(padded[..., 0], padded[..., 1])


def _fitted(x: Tensor, length: Any) -> Tensor:
    """Cut or padded with zeros to the length."""
    if not tf.is_tensor(length) and x.shape[-1] == length:
        return x
    x = x[..., :length]
    return tf.pad(x, [[0, 0]] * (x.shape.rank - 1) + [[0, length - size_of(x, -1)]])
