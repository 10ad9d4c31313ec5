"""The rounding noise that all references share, and the float64 convolutions that most of its time goes to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx.helper as oh
import pytest
import torch

import trueport
from tests.models import model_of
from trueport.fidelity import Against, ErrorBound, Verdict
from trueport.mapping.registry import RECORDS
from trueport.reference.noise import Rounding, RoundingNoise, error_sizes
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.reference.onnx.windows import conv

UNIT = 2.0**-24


def run_sum(inputs: Sequence[Any]) -> Sequence[Any]:
    return [inputs[0] + inputs[1]]


def errors(against: Against, ulps: float, inputs: Sequence[Any], seed: int = 0) -> np.ndarray:
    """Return errors of a sum whose inputs are taken as they are."""
    rounding = Rounding(UNIT, ErrorBound(ulps=ulps, against=against), [False] * len(inputs))
    return np.asarray(RoundingNoise(seed)(rounding, inputs, run_sum)[0] - run_sum(inputs)[0])


@pytest.mark.parametrize("against", [Against.RESULT, Against.TERMS, Against.ONE, Against.INPUT, Against.LARGEST])
@pytest.mark.parametrize("shape", [(7,), (3, 5, 11), (90_000,)])
def test_errors_fill_the_declared_bound_and_stay_within(against: Against, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    a = rng.normal(size=shape)
    b = -a * (1 + rng.normal(size=shape) / 100)  # cancels: the result is a hundredth of the terms
    found = np.abs(errors(against, 2.0, [a, b]))
    (size,) = error_sizes(against, [a, b], run_sum([a, b]), run_sum)
    largest = 2 * UNIT * 2.0 * np.abs(size)
    assert np.all(found <= largest * (1 + 1e-6) + 1e-16)
    assert 0.3 < np.median(found / largest) < 0.7


def test_other_seeds_draw_other_errors_and_the_same_seed_the_same() -> None:
    a = np.linspace(1, 2, 1000)
    first, again, other = (errors(Against.RESULT, 1.0, [a, a], seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert np.mean(first == other) < 0.1


def test_elements_of_one_value_err_independently() -> None:
    a = np.ones(60_000)
    found = errors(Against.RESULT, 1.0, [a, a])
    assert abs(np.corrcoef(found[:-1], found[1:])[0, 1]) < 0.02
    assert abs(found.mean()) < 0.02 * np.abs(found).max()


def test_what_is_not_finite_stays_as_it_is() -> None:
    a = np.array([np.inf, -np.inf, np.nan, 0.0, 3.0])
    rounding = Rounding(UNIT, ErrorBound(ulps=1.0, against=Against.RESULT), [True, True])
    with np.errstate(invalid="ignore"):
        (found,) = RoundingNoise(0)(rounding, [a, a], run_sum)
    assert np.array_equal(found[:4], [np.inf, -np.inf, np.nan, 0.0], equal_nan=True)
    assert found[4] != 6.0


@pytest.mark.parametrize("layout", ["transposed", "sliced", "complex"])
def test_every_element_errs_whatever_its_layout(layout: str) -> None:
    base = np.arange(1.0, 1 + 6 * 8 * 4).reshape(6, 8, 4)
    a = {"transposed": base.transpose(2, 0, 1), "sliced": base[::2, 1::3], "complex": base + 1j * base}[layout]
    found = errors(Against.RESULT, 1.0, [a, np.zeros_like(a)])
    assert found.shape == a.shape
    assert np.all(found.real != 0)
    assert layout != "complex" or np.all(found.imag != 0)


@pytest.mark.parametrize("seed", range(60))
def test_convolutions_agree_with_torch_in_float64(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rank, group = int(rng.integers(1, 4)), int(rng.choice([1, 1, 2, 3, 4]))
    per_group, per_output = (int(rng.integers(1, 4)) for _ in range(2))
    kernel, strides, dilations = (rng.integers(1, 4, size=rank).tolist() for _ in range(3))
    pads = rng.integers(0, 3, size=(rank, 2))
    sizes = [(k - 1) * d + 1 + int(rng.integers(0, 9)) for k, d in zip(kernel, dilations, strict=True)]
    x = rng.normal(size=(int(rng.integers(0, 3)), group * per_group, *sizes))
    w = rng.normal(size=(group * per_output, per_group, *kernel))
    b = rng.normal(size=group * per_output) if seed % 2 else None
    found = conv(
        x, w, b, dilations=dilations, group=group, kernel_shape=None, pads=[*pads[:, 0], *pads[:, 1]], strides=strides
    )
    padded = torch.nn.functional.pad(torch.from_numpy(x), [int(n) for pair in pads[::-1] for n in pair])
    run = getattr(torch.nn.functional, f"conv{rank}d")
    bias = None if b is None else torch.from_numpy(b)
    want = run(padded, torch.from_numpy(w), bias, stride=strides, dilation=dilations, groups=group).numpy()
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-12)


EXACT = {
    "Relu": ("Relu", {}),
    "Neg": ("Neg", {}),
    "Abs": ("Abs", {}),
    "Round": ("Round", {}),
    "Floor": ("Floor", {}),
    "Ceil": ("Ceil", {}),
    "ReduceMax": ("ReduceMax", {"keepdims": 1}),
    "MaxPool": ("MaxPool", {"kernel_shape": [1]}),
}


@pytest.mark.parametrize("op, attributes", EXACT.values(), ids=EXACT)
def test_what_only_selects_or_rounds_to_integers_adds_no_noise(op: str, attributes: dict[str, Any]) -> None:
    """Such results are floats already, so a comparison behind them is decided by the same bits in every runtime."""
    dims = [1, 2, 6]
    model = model_of(
        [oh.make_node(op, ["x"], ["t"], **attributes), oh.make_node("LessOrEqual", ["t", "t"], ["y"])],
        [oh.make_tensor_value_info("x", 1, dims)],
        [oh.make_tensor_value_info("t", 1, None), oh.make_tensor_value_info("y", 9, None)],
    )
    x = np.random.default_rng(0).normal(size=dims).astype(np.float32) * 3
    exact, noisy = OnnxOracle.of(model, RECORDS).run({"x": x})
    assert all(np.array_equal(run["t"], exact["t"]) for run in noisy)


def test_a_tie_of_rounded_numbers_is_no_matter_of_noise() -> None:
    def compared(op: str) -> Any:
        return model_of(
            [
                oh.make_node("Round", ["a"], ["p"]),
                oh.make_node("Round", ["b"], ["q"]),
                oh.make_node(op, ["p", "q"], ["said"]),
                oh.make_node("Cast", ["said"], ["y"], to=1),
            ],
            [oh.make_tensor_value_info(name, 1, ["n", 6]) for name in "ab"],
            [oh.make_tensor_value_info("y", 1, ["n", 6])],
        )

    assert trueport.verify(compared("Less"), compared("LessOrEqual")).verdict == Verdict.DEPARTS
