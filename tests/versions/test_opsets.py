"""The canonical opset is ours: a newer onnx does not change it, an older one limits it."""

from __future__ import annotations

from types import SimpleNamespace

import onnx.defs
import pytest

from trueport.ir.schemas import canonical_schema
from trueport.mapping.bind import attribute_defaults
from trueport.versions import opsets


@pytest.mark.parametrize(("installed", "canonical"), [(27, 27), (28, 28), (40, 28)])
def test_the_canonical_opset(installed: int, canonical: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx.defs, "onnx_opset_version", lambda: installed)
    assert opsets.canonical_opsets()[""] == canonical
    assert opsets.knows_all() == (installed >= 28)


@pytest.mark.parametrize(("domain", "version", "inside"), [("", 28, True), ("", 29, False), ("my.ops", 99, True)])
def test_newer_operator_versions_are_not_seen(domain: str, version: int, inside: bool) -> None:
    assert opsets.within(SimpleNamespace(domain=domain, since_version=version)) is inside


@pytest.mark.parametrize("op", ["Attention", "SpaceToDepth"])
def test_later_attributes_have_the_defaults_of_the_schema(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = canonical_schema(op)
    assert schema is not None
    defaults = attribute_defaults(schema)
    monkeypatch.setattr(onnx.defs, "onnx_opset_version", lambda: 27)
    later = opsets.later_attributes(op, "")
    assert later
    assert all(defaults[name] == value for name, value in later.items() if name in defaults)
