"""A small error in every element is seen though none is large; errors as faithful kernels make them are not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from onnx import TensorProto

import trueport
from tests.models import model_of
from trueport.fidelity import Verdict
from trueport.verifying.judge.bulk import Errors, bulk_excess
from trueport.verifying.judge.output import judge

Draw = Callable[[np.random.Generator], np.ndarray]
SIZE = np.random.default_rng(0).uniform(0.1, 2, 400)
"""magnitudes of the exact result"""


def independent(rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(-1, 1, 400) * SIZE * 2.0**-20


def correlated(rng: np.random.Generator) -> np.ndarray:
    """One error that all elements have, as behind a normalization, and a small one of their own."""
    return (rng.uniform(-1, 1) + 0.1 * rng.uniform(-1, 1, 400)) * SIZE * 2.0**-20


def in_groups(rng: np.random.Generator) -> np.ndarray:
    return np.repeat(rng.uniform(-1, 1, 20), 20) * SIZE * 2.0**-20


def excess(draw: Draw, target: np.ndarray, seed: int) -> float:
    rng = np.random.default_rng(seed)
    noisy = [draw(rng) for _ in range(12)]
    return bulk_excess(Errors(target, noisy, [], SIZE, 2.0**-23))


@pytest.mark.parametrize("draw", [independent, correlated, in_groups])
def test_errors_that_are_as_the_noise_are_no_alarm(draw: Draw) -> None:
    found = [excess(draw, draw(np.random.default_rng(10**6 + seed)), seed) for seed in range(300)]
    assert max(found) < 1


@pytest.mark.parametrize("draw", [independent, correlated, in_groups])
def test_a_kernel_that_truncates_is_no_alarm(draw: Draw) -> None:
    """Every element is off by the whole bound, in one direction."""
    assert max(excess(draw, SIZE * 2.0**-20, seed) for seed in range(100)) < 1


@pytest.mark.parametrize("draw, times", [(independent, 4), (in_groups, 8)])
def test_what_is_off_as_a_whole_is_seen(draw: Draw, times: float) -> None:
    assert min(excess(draw, times * SIZE * 2.0**-20, seed) for seed in range(100)) > 1


def test_few_noisy_runs_decide_nothing() -> None:
    rng = np.random.default_rng(0)
    truth, noisy = SIZE, [SIZE + independent(rng) for _ in range(12)]
    target = (SIZE * (1 + 5 * 2.0**-20)).astype(np.float32)
    source = SIZE.astype(np.float32)
    few = judge("y", [source], target, truth, noisy[:3])
    assert (few.verdict, few.is_suspect) == (Verdict.FAITHFUL, True)
    all_of_them = judge("y", [source], target, truth, noisy)
    assert all_of_them.verdict == Verdict.DEPARTS
    assert all_of_them.ratio <= 8
    assert all_of_them.why.startswith("all elements together are ")


def half(operator: str, **attributes: float) -> onnx.ModelProto:
    return model_of(
        [oh.make_node("Mul", ["x", "s"], ["m"]), oh.make_node(operator, ["m"], ["y"], **attributes)],
        [oh.make_tensor_value_info("x", TensorProto.FLOAT16, ["n", 64])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT16, ["n", 64])],
        initializers=[onnx.numpy_helper.from_array(np.array(0.04, np.float16), "s")],
    )


def test_a_hard_sigmoid_in_place_of_a_sigmoid_in_float16() -> None:
    """On numbers up to 3 both are within 2 % of each other, a few times what float16 rounds."""
    x = np.random.default_rng(0).normal(size=(8, 64)).astype(np.float16)
    source, target = half("Sigmoid"), half("HardSigmoid", alpha=0.25, beta=0.52)
    found = trueport.verify(source, target, data=[{"x": x}])
    assert found.outputs[0].ratio <= 8, "no single element shows it"
    assert found.verdict == Verdict.DEPARTS
    located = trueport.locate(source, target, data=[{"x": x}])
    assert located.culprit is not None and located.culprit.op == "Sigmoid"
    assert trueport.verify(source, half("Sigmoid"), data=[{"x": x}]).verdict == Verdict.FAITHFUL
