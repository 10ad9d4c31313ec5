"""Fourier transforms, windows and mel filters."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.grid.harness import check


def normal(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape).astype(dtype)


def scalar(value: int, dtype: Any = np.int64) -> np.ndarray:
    return np.array(value, dtype)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("inverse", [0, 1])
@pytest.mark.parametrize("length", [None, 5, 8, 16])
def test_dft(parts: int, inverse: int, length: int | None) -> None:
    given = None if length is None else scalar(length)
    sets = [[normal(2, n, 3, parts), given, scalar(1)] for n in (8, 7)]
    check("DFT", *sets, versus="float64", terms=16, inverse=inverse, opset=20)
    check("DFT", sets[0], versus="float64", terms=16, inverse=inverse, opset=20, constants=[2], fixed=[0])


@pytest.mark.parametrize("axis", [-4, -2, 0, 1, 2, None])
def test_dft_axis(axis: int | None) -> None:
    given = [] if axis is None else [None, scalar(axis)]
    check("DFT", [normal(4, 5, 6, 2), *given], versus="float64", terms=8, opset=20)
    if axis is not None:
        check("DFT", [normal(4, 5, 6, 1), *given], versus="float64", terms=8, opset=20, constants=[2])


@pytest.mark.parametrize("length", [None, 6, 9])
def test_one_sided(length: int | None) -> None:
    given = None if length is None else scalar(length)
    sets = [[normal(2, n, 1), given] for n in (8, 5)]
    check("DFT", *sets, versus="float64", terms=16, onesided=1, opset=20)
    spectra = [[normal(2, n, 2), given] for n in (5, 4)]
    check("DFT", *spectra, versus="float64", terms=16, onesided=1, inverse=1, opset=20)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_dft_dtypes(dtype: Any) -> None:
    check("DFT", [normal(2, 8, 2, dtype=dtype)], versus="reference", terms=8, opset=20)


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("window", [False, True])
@pytest.mark.parametrize("length", [None, 6])
def test_stft(onesided: int, window: bool, length: int | None) -> None:
    shape = np.hanning(6).astype(np.float32) + 0.1 if window else None
    given = None if length is None else scalar(length)
    sets = [[normal(2, n, 1), scalar(3), shape, given] for n in (20, 17)]
    check("STFT", *sets, versus="float64", terms=8, onesided=onesided, opset=17)
    if not onesided:
        check("STFT", [normal(2, 20, 2), *sets[0][1:]], versus="float64", terms=8, onesided=0, opset=17)


def test_stft_of_real_signals_without_a_last_axis() -> None:
    """ONNX Runtime takes them, and exporters write them."""
    check("STFT", [normal(2, 20), scalar(3), None, scalar(8)], terms=8, opset=17)


@pytest.mark.parametrize("op", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
def test_windows(op: str, periodic: int) -> None:
    sets = [[scalar(10)], [scalar(3)], [scalar(37)], [scalar(0)]]
    for to in (1, 10, 11):
        check(op, *sets, versus="reference", terms=3, periodic=periodic, output_datatype=to, opset=17)
    check(op, [scalar(16, np.int32)], terms=3, periodic=periodic, opset=17)


@pytest.mark.parametrize("to", [1, 11])
def test_mel(to: int) -> None:
    def inputs(bins: int, length: int, rate: int, low: float, high: float) -> list[np.ndarray]:
        return [scalar(bins), scalar(length), scalar(rate), np.array(low, np.float32), np.array(high, np.float32)]

    sets = [inputs(8, 16, 8192, 0.0, 4096.0), inputs(20, 512, 16000, 60.0, 7600.0)]
    check("MelWeightMatrix", *sets, versus="reference", output_datatype=to, opset=17)
    check("MelWeightMatrix", sets[1], versus="reference", output_datatype=to, opset=17, constants=range(5))
