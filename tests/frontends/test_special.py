"""Special functions: within a unit of the last place of the truth, not only near TensorFlow."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree, traced
from trueport.pipeline import convert_file
from trueport.runtimes.onnxruntime import OnnxRuntimeModel

X = np.array([1e-30, 1e-6, 0.01, 0.3, 1, 1.0000001, 1.5, 2, 3.7, 9, 25, 60], np.float32)
UNARY = [
    "Erfc",
    "Lgamma",
    "Digamma",
    "Expint",
    "Dawsn",
    "Spence",
    "FresnelSin",
    "FresnelCos",
    "BesselI0e",
    "BesselI1e",
    "BesselJ0",
    "BesselJ1",
    "BesselY0",
    "BesselY1",
    "BesselK0e",
    "BesselK1e",
]


@pytest.mark.parametrize("name", UNARY)
def test_agrees(name: str) -> None:
    agree(lambda v: getattr(tf.raw_ops, name)(x=v), [X.astype(np.float64)], [X[:0].astype(np.float64)])


@pytest.mark.parametrize(
    ("name", "truth"),
    [
        ("Erfc", math.erfc),
        ("Lgamma", math.lgamma),
        ("Log1p", math.log1p),
        ("Expm1", lambda v: math.expm1(v)),
    ],
)
def test_is_near_the_truth_in_every_element(name: str, truth: Callable[[float], float], tmp_path: Path) -> None:
    place = tmp_path / "model.onnx"
    convert_file(traced(lambda v: getattr(tf.raw_ops, name)(x=v), [[X]]), place, verify=False)
    target = OnnxRuntimeModel(place)
    target.prepare()
    (got,) = target.run({target.inputs[0].name: X}).values()
    want = np.array([truth(float(v)) for v in X])
    assert np.all(np.abs(got - want) <= 4 * np.spacing(np.abs(want).astype(np.float32)) + np.finfo(np.float32).tiny)
