"""Verdicts on Fourier transforms: no false alarm where terms cancel, and wrong norms, signs and bins are detected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
import torch

import trueport
from tests.cells import grid
from tests.torch.speed import one_registry
from trueport.fidelity import Verdict

_WINDOW = torch.hann_window(8)
_ROWS, _VOLUME = torch.randn(3, 16), torch.randn(2, 8, 12)


def _stft(x: Any, **options: Any) -> Any:
    return torch.stft(x, 8, 4, window=_WINDOW, return_complex=True, **options)


TORCH: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "rfft": (torch.fft.rfft, _ROWS),
    "rfft_ortho": (lambda x: torch.fft.rfft(x, norm="ortho"), _ROWS),
    "rfft_odd": (lambda x: torch.fft.rfft(x, 15), _ROWS),
    "fft": (torch.fft.fft, _ROWS),
    "irfft": (lambda x: torch.fft.irfft(torch.complex(x, x.flip(0))), _ROWS),
    "fft2": (torch.fft.fft2, _VOLUME),
    "rfftn": (torch.fft.rfftn, _VOLUME),
    "irfftn": (lambda x: torch.fft.irfftn(torch.complex(x, x)), _VOLUME),
    "hfft": (lambda x: torch.fft.hfft(torch.complex(x, x)), _ROWS),
    "stft": (_stft, _ROWS),
    "stft_normalized": (lambda x: _stft(x, normalized=True), _ROWS),
    "istft": (lambda x: torch.istft(_stft(x), 8, 4, window=_WINDOW), _ROWS),
    "phase": (lambda x: torch.fft.rfft(x).angle(), _ROWS),
}
_LINE, _SPACE = tf.TensorSpec([3, 16], tf.float32, "x"), tf.TensorSpec([2, 8, 12], tf.float32, "x")
TENSORFLOW: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "rfft": (lambda x: tf.signal.rfft(x), _LINE),
    "rfft_odd": (lambda x: tf.signal.rfft(x, [15]), _LINE),
    "fft": (lambda x: tf.signal.fft(tf.cast(x, tf.complex64)), _LINE),
    "ifft": (lambda x: tf.signal.ifft(tf.complex(x, x)), _LINE),
    "irfft": (lambda x: tf.signal.irfft(tf.complex(x, x)), _LINE),
    "rfft2d": (lambda x: tf.signal.rfft2d(x), _SPACE),
    "fft3d": (lambda x: tf.signal.fft3d(tf.cast(x, tf.complex64)), _SPACE),
    "stft": (lambda x: tf.signal.stft(x, 8, 4), _LINE),
    "inverse_stft": (lambda x: tf.signal.inverse_stft(tf.signal.stft(x, 8, 4), 8, 4), _LINE),
    "dct": (lambda x: tf.signal.dct(x), _LINE),
}
FAULTS: dict[str, Callable[[Any], Any]] = {
    "norm": lambda x: tf.signal.rfft(x) / 4,
    "sign": lambda x: tf.math.conj(tf.signal.rfft(x)),
    "bin": lambda x: tf.roll(tf.signal.rfft(x), 1, -1),
    "a thousandth": lambda x: tf.signal.rfft(x) * 1.001,
    "one bin's imaginary part": lambda x: tf.signal.rfft(x) + tf.complex(0.0, tf.one_hot(8, 9) * 1e-3),
}


@pytest.fixture(autouse=True, scope="module")
def exporter_reads_its_library_once() -> Iterator[None]:
    with one_registry():
        yield


def traced(function: Callable[[Any], Any], spec: Any) -> Any:
    return tf.function(tf.autograph.experimental.do_not_convert(function), input_signature=[spec])


@grid({f"{name}-{to}": (name, to) for name in TORCH for to in ("onnx", "tensorflow")}, quick=2)
def test_torch_is_faithful(cell: tuple[str, str]) -> None:
    name, to = cell
    function, x = TORCH[name]

    class Transform(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return function(x)

    found = trueport.convert(Transform(), to=to, example_inputs=(x,)).report.comparison
    assert found is not None and found.verdict == Verdict.FAITHFUL, found


def test_phase_that_jumps_by_rounding_is_faithful() -> None:
    """The last bin of a real signal is real: whether its phase is pi or -pi is decided by rounding."""

    class Phase(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.fft.rfft(x).angle()

    signal = torch.randn(40, 16, generator=torch.Generator().manual_seed(0))
    found = trueport.convert(Phase(), to="onnx", example_inputs=(signal,)).report.comparison
    assert found is not None and found.verdict == Verdict.FAITHFUL, found


@grid(TENSORFLOW, quick=2)
def test_tensorflow_is_faithful(cell: tuple[Callable[[Any], Any], Any]) -> None:
    found = trueport.convert(traced(*cell), to="onnx").report.comparison
    assert found is not None and found.verdict == Verdict.FAITHFUL, found


@grid(FAULTS, quick=2)
def test_fault_is_detected(cell: Callable[[Any], Any], tmp_path: Path) -> None:
    trueport.convert(traced(cell, _LINE), to="onnx", verify=False).save(tmp_path / "faulty.onnx")
    found = trueport.verify(traced(lambda x: tf.signal.rfft(x), _LINE), tmp_path / "faulty.onnx")
    assert found.verdict == Verdict.DEPARTS
