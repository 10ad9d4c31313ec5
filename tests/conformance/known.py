"""Cases of the suite that are special: random ones, judged by their distribution, and those that can't pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["CANNOT_PASS", "RANDOM"]


class Impossible(NamedTuple):
    """Why a case can't pass, and how it fails."""

    because: str
    error: type[Exception]


CANNOT_PASS: dict[str, Impossible] = {
    "test_image_decoder_decode_jpeg2k_rgb": Impossible(
        "TensorFlow has no JPEG 2000 decoder; as the specification says of an unreadable image, the result is empty",
        AssertionError,
    ),
}
"""Checked to still fail: a case that passes must leave the list."""


def _bernoulli(inputs: list[Any], samples: np.ndarray) -> None:
    """The mean of every element lies within five standard errors of its probability."""
    probability = inputs[0].astype(np.float64)
    values = samples.astype(np.float64)
    assert set(np.unique(values)) <= {0.0, 1.0}
    error = np.sqrt(probability * (1 - probability) / len(samples))
    assert np.all(np.abs(values.mean(axis=0) - probability) <= 5 * error + 1e-9)


def _bernoulli_body(inputs: list[Any], samples: np.ndarray) -> None:
    """ONNX's function body asks whether the drawn value is the greater one: its ones are the text's zeros."""
    _bernoulli([1 - inputs[0]], samples)


def _seeded_bernoulli(inputs: list[Any], samples: np.ndarray) -> None:
    """The same draw at every call; over all elements the mean fits the mean probability."""
    assert np.all(samples == samples[0])
    values, probability = samples[0].astype(np.float64), inputs[0].astype(np.float64)
    assert set(np.unique(values)) <= {0.0, 1.0}
    error = np.sqrt(np.sum(probability * (1 - probability))) / probability.size
    assert abs(values.mean() - probability.mean()) <= 5 * error


def _seeded_dropout(inputs: list[Any], samples: np.ndarray) -> None:
    """The same mask at every call: elements are dropped, or scaled by 1 / (1 - ratio), as often as the ratio says."""
    assert np.all(samples == samples[0])
    data = inputs[0].astype(np.float64)
    ratio = float(inputs[1]) if len(inputs) > 1 else 0.5
    kept = samples[0] != 0
    np.testing.assert_allclose(samples[0][kept], data[kept] / (1 - ratio), rtol=1e-6)
    assert abs(kept.mean() - (1 - ratio)) <= 5 * np.sqrt(ratio * (1 - ratio) / data.size)


RANDOM: dict[str, Callable[[list[Any], np.ndarray], None]] = {
    "test_bernoulli": _bernoulli,
    "test_bernoulli_expanded": _bernoulli_body,
    "test_bernoulli_double": _bernoulli,
    "test_bernoulli_double_expanded": _bernoulli_body,
    "test_bernoulli_seed": _seeded_bernoulli,
    "test_bernoulli_seed_expanded": _seeded_bernoulli,
    "test_training_dropout": _seeded_dropout,
    "test_training_dropout_mask": _seeded_dropout,
    "test_training_dropout_default": _seeded_dropout,
    "test_training_dropout_default_mask": _seeded_dropout,
}
"""Cases whose expected values come from a generator that only NumPy has."""
