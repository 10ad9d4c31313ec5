"""Figures about two arrays: checked against NumPy's and against numbers worked out by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

import trueport
from bench.faults.zoo import ZOO
from trueport.fidelity import Verdict
from trueport.verifying.judge.metrics import measure
from trueport.verifying.judge.output import Tolerance, judge

RNG = np.random.default_rng(0)
WANT = RNG.normal(size=(40, 6)).astype(np.float32)
GOT = WANT + RNG.normal(scale=1e-3, size=WANT.shape).astype(np.float32)


def test_the_needed_tolerance_is_what_numpy_needs() -> None:
    found = measure(WANT, GOT)
    wide, other = WANT.astype(np.float64), GOT.astype(np.float64)
    for name, other_name in (("atol", "rtol"), ("rtol", "atol")):
        needed = getattr(found, f"needed_{name}")
        assert np.allclose(other, wide, **{name: needed * 1.0000001, other_name: 0})
        assert not np.allclose(other, wide, **{name: needed * 0.9999, other_name: 0})


def test_no_relative_tolerance_is_enough_beside_a_zero() -> None:
    found = measure(np.array([0, 1], np.float32), np.array([1e-9, 1], np.float32))
    assert found.needed_rtol is None
    assert found.needed_atol == pytest.approx(1e-9)


def test_units_of_the_last_place_are_neighbours() -> None:
    up = np.nextafter(np.nextafter(np.ones(4, np.float32), np.float32(2)), np.float32(2))
    found = measure(np.ones(4, np.float32), up)
    assert (found.max_ulp, found.mean_ulp) == (2.0, 2.0)


def test_signal_to_noise_and_cosine() -> None:
    found = measure(np.array([3, 4], np.float32), np.array([3, 5], np.float32))
    assert found.snr_db == pytest.approx(10 * np.log10(25))
    assert found.cosine == pytest.approx(29 / (5 * np.sqrt(34)))


def test_ranks_of_classifiers() -> None:
    turned = WANT.copy()
    best, second = np.argsort(-WANT[0])[:2]
    turned[0, [best, second]] = turned[0, [second, best]]
    found = measure(WANT, turned)
    assert (found.top1, found.top5) == (39 / 40, 1.0)
    shares = np.array([[[0.9, 0.1]], [[0.2, 0.8]]], np.float32)
    assert measure(shares, shares[..., ::-1]).top1 == 0.0
    assert measure(RNG.normal(size=(3, 2)).astype(np.float32), np.zeros((3, 2), np.float32)).top1 is None


def test_integers_are_counted_by_steps() -> None:
    found = measure(np.array([0, 5, 255, 7], np.uint8), np.array([1, 5, 254, 8], np.uint8))
    assert found.histogram == {-1: 1, 0: 1, 1: 2}
    assert (found.max_abs, found.mean_abs, found.needed_atol) == (1.0, 0.75, 1.0)


def test_places_of_nan_and_infinity() -> None:
    want = np.array([np.nan, np.inf, 1, 2, np.inf], np.float32)
    got = np.array([np.nan, -np.inf, 1, np.nan, np.inf], np.float32)
    found = measure(want, got)
    assert (found.nonfinite, found.nonfinite_differ, found.needed_atol) == (4, 2, None)


@pytest.mark.parametrize(("tolerance", "verdict"), [(None, "departs"), (1e-2, "within tolerance"), (1e-5, "departs")])
def test_within_tolerance_only_where_one_was_given(tolerance: float | None, verdict: str) -> None:
    given = None if tolerance is None else Tolerance(atol=tolerance)
    found = judge("y", [WANT], GOT, WANT.astype(np.float64), [WANT + np.float32(1e-7)], tolerance=given)
    assert found.verdict.value == verdict


def test_a_tolerance_does_not_excuse_nan_or_what_is_no_number() -> None:
    loose = Tolerance(atol=1e9, rtol=1e9)
    nan = np.where(WANT[0, 0] == WANT, np.nan, WANT).astype(np.float32)
    assert judge("y", [WANT], nan, WANT.astype(np.float64), [], tolerance=loose).verdict == Verdict.DEPARTS
    words = np.array(["a"], object), np.array(["b"], object)
    assert judge("y", words[:1], words[1], None, [], tolerance=loose).verdict == Verdict.DEPARTS


def test_all_figures_are_in_the_json() -> None:
    source = ZOO["text"]()
    data = json.loads(json.dumps(trueport.verify(source, source).to_json(), allow_nan=False))
    named = data["outputs"][0]["metrics"]
    assert {"max_abs", "mean_rel", "mean_ulp", "cosine", "top1", "histogram", "needed_atol"} <= named.keys()
    assert named["nonfinite_differ"] == 0
