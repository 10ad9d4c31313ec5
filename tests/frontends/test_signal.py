"""Fourier transforms and what is built of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, op_types, traced
from trueport.pipeline import convert_file
from trueport.runtimes.onnxruntime import OnnxRuntimeModel

_RNG = np.random.default_rng(0)


def _x(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return _RNG.normal(size=shape).astype(dtype)


def _z(*shape: int, dtype: Any = np.complex64) -> np.ndarray:
    return (_RNG.normal(size=shape) + 1j * _RNG.normal(size=shape)).astype(dtype)


_COMPLEX: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "fft": (tf.signal.fft, (6,)),
    "ifft": (tf.signal.ifft, (7,)),
    "fft 2d": (tf.signal.fft2d, (5, 8)),
    "ifft 2d": (tf.signal.ifft2d, (3, 4)),
    "fft 3d": (tf.signal.fft3d, (2, 3, 5)),
    "ifft 3d": (tf.signal.ifft3d, (4, 1, 2)),
    "irfft": (tf.signal.irfft, (6,)),
    "irfft odd": (lambda z: tf.signal.irfft(z, [9]), (5,)),
    "irfft cut": (lambda z: tf.signal.irfft(z, [5]), (6,)),
    "irfft padded": (lambda z: tf.signal.irfft(z, [15]), (6,)),
    "irfft 2d": (lambda z: tf.signal.irfft2d(z, [4, 7]), (5, 4)),
    "irfft 3d": (lambda z: tf.signal.irfft3d(z, [4, 2, 7]), (3, 5, 4)),
}
_REAL: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "rfft": (tf.signal.rfft, (6,)),
    "rfft odd": (tf.signal.rfft, (9,)),
    "rfft cut": (lambda x: tf.signal.rfft(x, [5]), (7,)),
    "rfft padded": (lambda x: tf.signal.rfft(x, [12]), (7,)),
    "rfft 2d": (tf.signal.rfft2d, (5, 6)),
    "rfft 2d fitted": (lambda x: tf.signal.rfft2d(x, [3, 9]), (5, 6)),
    "rfft 3d": (lambda x: tf.signal.rfft3d(x, [3, 2, 4]), (2, 3, 5)),
    "of a cast": (lambda x: tf.signal.fft(tf.cast(x, tf.complex64 if x.dtype == tf.float32 else tf.complex128)), (7,)),
}


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", _COMPLEX)
def test_of_complex_numbers(name: str, dtype: Any) -> None:
    function, shape = _COMPLEX[name]
    agree(function, [_z(2, *shape, dtype=dtype)], [_z(3, *shape, dtype=dtype)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", _REAL)
def test_of_real_numbers(name: str, dtype: Any) -> None:
    function, shape = _REAL[name]
    agree(function, [_x(2, *shape, dtype=dtype)], [_x(3, *shape, dtype=dtype)])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", ["fft", "ifft", "fft 2d", "ifft 3d", "irfft"])
def test_lengths_that_are_open(name: str, dtype: Any) -> None:
    function, shape = _COMPLEX[name]
    agree(function, [_z(2, *shape, dtype=dtype)], [_z(2, *(size + 2 for size in shape), dtype=dtype)])


def test_real_lengths_that_are_open() -> None:
    agree(tf.signal.rfft, [_x(2, 5)], [_x(3, 8)], [_x(1, 300)])
    agree(lambda x: tf.signal.rfft(x, [10]), [_x(2, 5)], [_x(3, 18)])
    agree(tf.signal.rfft2d, [_x(2, 5)], [_x(3, 8)])


@pytest.mark.parametrize(("length", "op"), [(512, "MatMul"), (1000, "MatMul"), (1024, "DFT"), (3000, "DFT")])
def test_long_signals(length: int, op: str) -> None:
    assert op in op_types(agree(tf.signal.rfft, [_x(1, length)], [_x(2, length)]))
    assert op in op_types(agree(tf.signal.fft, [_z(1, length)], [_z(2, length)]))
    assert op in op_types(agree(tf.signal.ifft, [_z(1, length)], [_z(2, length)]))
    assert op in op_types(agree(tf.signal.irfft, [_z(1, length // 2 + 1)], [_z(2, length // 2 + 1)]))


_ND: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], np.ndarray]] = {
    "fft": (
        lambda z: tf.raw_ops.FFTND(input=z, fft_length=[4, 5], axes=[0, 2]),
        lambda z: np.fft.fftn(z, (4, 5), (0, 2)),
        _z(3, 2, 5),
    ),
    "ifft": (
        lambda z: tf.raw_ops.IFFTND(input=z, fft_length=[3, 2], axes=[0, 1]),
        lambda z: np.fft.ifftn(z, (3, 2), (0, 1)),
        _z(3, 2, 5),
    ),
    "rfft": (
        lambda x: tf.raw_ops.RFFTND(input=x, fft_length=[4, 2], axes=[2, 1]),
        lambda x: np.fft.rfftn(x, (4, 2), (2, 1)),
        _x(3, 2, 5),
    ),
    "irfft": (
        lambda z: tf.raw_ops.IRFFTND(input=z, fft_length=[3, 5], axes=[0, 1]),
        lambda z: np.fft.irfftn(z, (3, 5), (0, 1)),
        _z(3, 3, 2),
    ),
}


@pytest.mark.parametrize("name", _ND)
def test_any_axes(name: str, tmp_path: Any) -> None:
    """TensorFlow has no kernel for these on a CPU: NumPy says what they are."""
    function, reference, value = _ND[name]
    place = tmp_path / "model.onnx"
    convert_file(traced(function, [[value]]), place, verify=False)
    fed = np.stack([value.real, value.imag], -1) if np.iscomplexobj(value) else value
    model = OnnxRuntimeModel(place)
    (got,) = model.run({model.inputs[0].name: fed}).values()
    want = reference(value)
    np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1] if np.iscomplexobj(want) else got, want, atol=1e-5)
