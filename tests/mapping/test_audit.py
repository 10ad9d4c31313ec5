"""Declarations say what the schemas say, and what is missing is known."""

from __future__ import annotations

import onnx_ir as ir
import pytest

from trueport.backends.tensorflow.registry import registry
from trueport.mapping.audit import mismatches, without_mapping
from trueport.mapping.declare import declared_by, maps
from trueport.mapping.registry import Registry


def test_declarations_follow_the_schemas() -> None:
    assert not [str(mismatch) for mismatch in mismatches(registry())]


def test_every_operator_has_a_mapping_or_a_body() -> None:
    assert not without_mapping(registry())


def test_operators_without_mapping_are_listed() -> None:
    missing = without_mapping(Registry.of("test", []))
    assert ("", "Conv") in missing
    assert ("", "Gelu") not in missing, "it has a function body"
    assert ("", "Upsample") not in missing, "it is deprecated"


def _leaky_relu(t, X, *, alpha): ...


def _misnamed(t, x, *, alpha): ...


def _forgetful(t, X): ...


@pytest.mark.parametrize(
    "handler, options, what",
    [
        (_misnamed, {"audited": 16}, "takes inputs"),
        (_forgetful, {"audited": 16}, "takes attributes"),
        (_leaky_relu, {"audited": 6}, "was compared with version 6, the newest is 16"),
        (_leaky_relu, {"audited": 16, "ignores": {"beta": "no need"}}, "ignores 'beta', which is no attribute"),
        (_leaky_relu, {"audited": 16, "static": ["axes"]}, "declares 'axes', which is no input"),
        (_leaky_relu, {"audited": 16, "dtypes": {"T9": [ir.DataType.FLOAT]}}, "restricts 'T9'"),
    ],
)
def test_a_departure_is_found(handler, options, what) -> None:
    mapping = declared_by(maps("LeakyRelu", **options)(handler))[-1]
    assert [str(m) for m in mismatches(Registry.of("test", [mapping])) if what in str(m)]


def test_a_faithful_declaration_departs_in_nothing() -> None:
    mapping = declared_by(maps("LeakyRelu", audited=16)(_leaky_relu))[-1]
    assert not mismatches(Registry.of("test", [mapping]))
