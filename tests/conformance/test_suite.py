"""ONNX's own backend suite, every case, through a traced tf.function."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conformance import suite
from tests.conformance.known import CANNOT_PASS, RANDOM
from trueport.backend import prepare

ALL = suite.cases()


@pytest.mark.parametrize("name", sorted(set(ALL) - set(RANDOM) - set(CANNOT_PASS)))
def test_case(name: str) -> None:
    case = ALL[name]
    model = suite.model_of(case)
    prepared = prepare(model)
    for inputs, expected in suite.data_of(case, model):
        suite.check(case, model, inputs, expected, list(prepared.run(inputs)))


@pytest.mark.parametrize("name", sorted(RANDOM))
def test_random_case(name: str) -> None:
    """Unseeded values that nobody can reproduce: shape, dtype and distribution instead."""
    case = ALL[name]
    model = suite.model_of(case)
    prepared = prepare(model)
    for inputs, expected in suite.data_of(case, model):
        got = prepared.run(inputs)
        for want, have in zip(expected, got, strict=True):
            assert (have.shape, have.dtype) == (want.shape, want.dtype)
        RANDOM[name](inputs, np.stack([prepared.run(inputs)[0] for _ in range(200)]))


@pytest.mark.parametrize("name", sorted(CANNOT_PASS))
def test_listed_case_still_fails(name: str) -> None:
    """A case on the list that passes must leave the list."""
    case = ALL[name]
    model = suite.model_of(case)
    with pytest.raises(CANNOT_PASS[name].error):
        prepared = prepare(model)
        for inputs, expected in suite.data_of(case, model):
            suite.compare(case, expected, list(prepared.run(inputs)))


def test_the_list_is_short() -> None:
    assert len(CANNOT_PASS) <= 10


def test_the_whole_suite_is_here() -> None:
    assert len(ALL) >= 2023
