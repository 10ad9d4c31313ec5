"""Errors are drawn fast and stay what they are: within their bound, in every element, where there are numbers."""

from __future__ import annotations

import numpy as np
import pytest

from trueport.fidelity import Against, ErrorBound
from trueport.reference.noise import Rounding, RoundingNoise

UNITS = (2.0**-24, 2.0**-11, 2.0**-53)
"""float32, float16 and float64"""


def layouts(count: int) -> dict[str, np.ndarray]:
    numbers = np.random.default_rng(0).normal(size=(3, count, 2))
    return {"rows": numbers, "columns": numbers.transpose(2, 1, 0), "strided": numbers[:, ::2]}


@pytest.mark.parametrize("layout", ["rows", "columns", "strided"])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("count", [1, 40, 30_000])
def test_every_element_errs_within_the_bound(unit: float, layout: str, count: int) -> None:
    exact = layouts(count)[layout]
    rounding = Rounding(unit, ErrorBound(3.0), [False])
    (off,) = RoundingNoise(0)(rounding, [exact], lambda inputs: [inputs[0]])
    relative = np.abs(off - exact) / np.abs(exact)
    assert off.dtype == np.float64
    assert relative.max() <= rounding.scale + 2.0**-52
    if count > 1 and unit > UNITS[-1]:
        assert np.unique(relative).size > count
        assert relative.mean() == pytest.approx(rounding.scale / 2, rel=0.5)


@pytest.mark.parametrize("against", [Against.RESULT, Against.DATA, Against.STEPS])
def test_zeros_infinities_and_nan_stay(against: Against) -> None:
    exact = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0])
    rounding = Rounding(UNITS[0], ErrorBound(2.0, against=against), [True])
    (off,) = RoundingNoise(0)(rounding, [exact], lambda inputs: [inputs[0]])
    np.testing.assert_array_equal(off[:5], exact[:5])
    np.testing.assert_array_equal(np.signbit(off[:4]), np.signbit(exact[:4]))
    assert 0 < abs(off[5] - 1) <= rounding.scale + rounding.blur + 1e-12


@pytest.mark.parametrize("blur", [0.0, 2.0**-53, 2.0**-24, 2.0**-11])
@pytest.mark.parametrize("count", [5, 200_000])
def test_a_difference_is_that_of_the_numbers_and_their_errors(blur: float, count: int) -> None:
    exact = np.random.default_rng(1).normal(size=count)
    noisy = exact * (1 + 2.0**-22)
    found = RoundingNoise(0).difference(exact, noisy, blur)
    assert found.dtype == np.float32
    away = np.abs(found - (noisy - exact))
    assert np.all(away <= blur * np.abs(noisy) * (1 + 1e-6) + 2.0**-45 * np.abs(exact))
    assert (away.max() > 0.9 * blur * np.abs(noisy).min()) if blur else True


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [5, 200_000])
def test_results_move_by_a_difference_and_by_errors_of_their_terms(dtype: type, count: int) -> None:
    rng = np.random.default_rng(2)
    exact, size = rng.normal(size=count), np.abs(rng.normal(size=count)).astype(dtype)
    difference = (1e-6 * rng.normal(size=count)).astype(np.float32)
    found = RoundingNoise(0).moved(exact, difference, size, 2.0**-22)
    away = np.abs(found - exact - difference.astype(np.float64))
    assert np.all(away <= 2.0**-22 * size * (1 + 1e-5) + 1e-12)
    assert away.max() > 2.0**-22 * size.max() / 10


def test_a_size_that_is_infinite_gives_no_error() -> None:
    exact, size = np.ones(3), np.array([1.0, np.inf, np.nan], np.float32)
    found = RoundingNoise(0).moved(exact, np.zeros(3, np.float32), size, 2.0**-22)
    assert np.isfinite(found).all()
    assert found[1] == 1.0


def test_more_scales_than_are_kept_give_the_same_errors_as_few() -> None:
    exact = np.random.default_rng(3).normal(size=50)
    scales = [2.0**-24 * (1 + step) for step in range(40)]

    def drawn() -> list[np.ndarray]:
        noise = RoundingNoise(0)
        return [
            noise(Rounding(2.0**-24, ErrorBound(scale * 2.0**23), [False]), [exact], lambda inputs: [inputs[0]])[0]
            for scale in scales
        ]

    for one, other in zip(drawn(), drawn(), strict=True):
        np.testing.assert_array_equal(one, other)
