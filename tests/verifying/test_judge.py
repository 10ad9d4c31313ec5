"""Verdicts on single values: round-off passes, faults do not, and what has no distance must be equal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trueport.fidelity import Verdict
from trueport.reference.base import NoReference
from trueport.runtimes.base import Model
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.verifying.judge.output import DEFAULT_K, judge, source_distance
from trueport.verifying.verify import verify_runs

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


class WrongOracle:
    """Says something else than the source computes."""

    name = "float64 (wrong)"
    shares = "nothing"

    def __init__(self, offset: float) -> None:
        self.offset = offset

    def run(self, feeds: Mapping[str, Any]) -> Any:
        truth = np.maximum(feeds["x"].astype(np.float64), 0) + self.offset
        return {"y": truth}, [{"y": truth * (1 + 2.0**-23)}]

    def more(self, feeds: Mapping[str, Any]) -> list[dict[str, Any]]:
        return self.run(feeds)[1]


@pytest.mark.parametrize("offset", [0.0, 0.5])
def test_a_source_far_from_its_truth_is_told(offset: float) -> None:
    text = '<ir_version: 10, opset_import: ["" : 21]> a (float[40] x) => (float[40] y) { y = Relu(x) }'
    model = OnnxRuntimeModel(onnx.parser.parse_model(text))
    x = np.linspace(0.1, 1, 40, dtype=np.float32)
    found = verify_runs([model], model, [{"x": x}], WrongOracle(offset))
    assert bool(found.hints) == bool(offset)
    assert all("the source itself is" in hint and "as far from the truth" in hint for hint in found.hints)


def test_single_elements_that_turn_over_are_not_strange() -> None:
    truth = np.linspace(1, 2, 100)
    source = truth.astype(np.float32)
    source[3] += 0.5
    assert source_distance(source, truth, [truth * (1 + 2.0**-23)]) < 1
    assert source_distance(source[:50], truth, []) == float("inf")
    assert source_distance(source + 1, truth, [truth]) == 0, "nothing is rounded here"


def test_which_element_a_chaotic_output_picks_is_chance() -> None:
    """A softmax of huge equal logits: every rounding error picks other winners, and so may the target."""
    truth = np.full(1000, 1e-3)
    noisy = [np.eye(1000)[index] for index in (3, 500, 777)]
    target = np.zeros(1000, np.float32)
    target[:8] = 0.125
    assert judge("y", [truth.astype(np.float32)], target, truth, noisy).verdict == Verdict.FAITHFUL


def test_random_values_are_not_chaotic() -> None:
    """Draws leave some elements as they are; a target that differs there departs."""
    rng = np.random.default_rng(0)
    truth, *noisy = (rng.integers(0, 2, 100).astype(np.float64) for _ in range(4))
    target = 1 - truth.astype(np.float32)
    assert judge("y", [truth.astype(np.float32)], target, truth, noisy).verdict == Verdict.DEPARTS


def test_an_output_with_one_chaotic_run_is_not_chaotic() -> None:
    truth = np.full(1000, 1e-3)
    noisy = [np.eye(1000)[3], truth * 1.0000001, truth * 0.9999999]
    target = np.zeros(1000, np.float32)
    target[:8] = 0.125
    assert judge("y", [truth.astype(np.float32)], target, truth, noisy).verdict == Verdict.DEPARTS


class _Saturating(Model):
    """A source that this CPU computes wrongly, and exactly otherwise."""

    runtime = "onnxruntime"

    def __init__(self, values: list[int], here: Model | None = None) -> None:
        self.inputs, self.outputs = (), ()
        self._values, self._here = np.array(values, np.int32), here

    def as_run_here(self) -> Model | None:
        return self._here

    def _run(self, feeds: Mapping[str, Any], fetch: list[str] | None) -> dict[str, Any]:
        return {"y": self._values}


def test_a_saturating_runtime_is_named_and_the_target_is_right() -> None:
    source = _Saturating([1, 2, 3, 4], here=_Saturating([1, 9, 3, 9]))
    found = verify_runs([source], _Saturating([1, 2, 3, 4]), [{}], NoReference("no reference"))
    assert found.verdict == Verdict.FAITHFUL
    (hint,) = found.hints
    assert hint.startswith("ONNX Runtime saturates uint8 × int8 sums on this CPU: 2 of 4 values of output 'y'")
    assert hint.endswith("the target is right")


def test_a_saturating_target_is_judged_by_its_exact_sums() -> None:
    target = _Saturating([1, 2, 3, 4], here=_Saturating([1, 9, 3, 4]))
    found = verify_runs([_Saturating([1, 2, 3, 4])], target, [{}], NoReference("no reference"))
    assert found.verdict == Verdict.FAITHFUL
    assert "1 of 4 values of output 'y' of the target are wrong when it is run here" in found.hints[0]
