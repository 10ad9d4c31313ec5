"""Verdicts on single values: round-off passes, faults do not, and what has no distance must be equal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trueport.fidelity import Verdict
from trueport.verifying.judge import DEFAULT_K, judge

FLOATS = arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e6, 1e6))


def rounded(truth: np.ndarray, ulps: float, seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).uniform(-ulps, ulps, size=truth.shape) * np.abs(truth) * 2.0**-23
    return truth + noise


@settings(max_examples=60, deadline=None)
@given(FLOATS, st.integers(0, 5))
def test_rounding_is_faithful(truth: np.ndarray, seed: int) -> None:
    noisy = [rounded(truth, 2, seed + 10 * run) for run in range(1, 4)]
    source, target = (rounded(truth, 2, seed + run).astype(np.float32) for run in (100, 200))
    assert judge("y", [source], target, truth, noisy).verdict == Verdict.FAITHFUL


@settings(max_examples=60, deadline=None)
@given(FLOATS, st.integers(0, 29))
def test_a_fault_in_one_element_departs(truth: np.ndarray, place: int) -> None:
    truth = truth + np.sign(truth) + 1
    source = truth.astype(np.float32)
    target = source.copy()
    target[place % target.size] *= np.float32(1.001)
    noisy = [rounded(truth, 1, run) for run in range(3)]
    if target[place % target.size] != source[place % target.size]:
        found = judge("y", [source], target, truth, noisy)
        assert found.verdict == Verdict.DEPARTS
        assert found.ratio > DEFAULT_K


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_must_stand_in_the_same_places(odd: float) -> None:
    truth = np.array([1.0, 2.0, odd])
    source = truth.astype(np.float32)
    assert judge("y", [source], source.copy(), truth, [truth]).verdict == Verdict.FAITHFUL
    moved = np.array([1.0, odd, 2.0], np.float32)
    assert judge("y", [source], moved, truth, [truth]).verdict == Verdict.DEPARTS


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, bool])
def test_integers_must_be_equal(dtype: type) -> None:
    source = np.array([0, 1, 1], dtype)
    assert judge("y", [source], source.copy(), source, []).verdict == Verdict.FAITHFUL
    other = np.array([0, 1, 0], dtype)
    found = judge("y", [source], other, source, [])
    assert found.verdict == Verdict.DEPARTS
    assert found.why == "1 of 3 elements differ"


def test_a_quantized_value_at_a_tie_may_turn_as_rounding_turns_it() -> None:
    source = np.array([5, 6, 7], np.uint8)
    turned = np.array([5, 6, 8], np.uint8)
    assert judge("y", [source], turned, source, [turned]).verdict == Verdict.FAITHFUL
    far = np.array([5, 6, 200], np.uint8)
    assert judge("y", [source], far, source, [turned]).verdict == Verdict.DEPARTS


def test_shape_dtype_and_length_must_be_the_sources() -> None:
    source = np.zeros((2, 3), np.float32)
    assert "shape" in judge("y", [source], np.zeros((3, 2), np.float32), source, []).why
    assert "dtype" in judge("y", [source], np.zeros((2, 3)), source, []).why
    assert "length" in judge("y", [[source]], [source, source], [source], []).why


def test_data_that_is_only_moved_must_be_the_same_bits() -> None:
    truth = np.arange(6.0) + 0.1
    source = truth.astype(np.float32)
    exact = source.astype(np.float64)
    off = np.nextafter(source, np.float32(10))
    assert judge("y", [source], source.copy(), exact, [exact]).verdict == Verdict.FAITHFUL
    assert judge("y", [source], off, exact, [exact]).verdict == Verdict.DEPARTS


def test_strings_are_equal_or_not() -> None:
    source = np.array(["a", "b"], object)
    assert judge("y", [source], source.copy(), None, []).verdict == Verdict.FAITHFUL
    assert judge("y", [source], np.array(["a", "c"], object), None, []).verdict == Verdict.DEPARTS
