"""The canonical opset is ours: a newer onnx does not change it, an older one limits it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import onnx.defs
import onnxruntime
import pytest
import tensorflow as tf

import trueport
import trueport.errors
from trueport.ir.schemas import canonical_schema
from trueport.mapping.bind import attribute_defaults
from trueport.versions import opsets
from trueport.versions.onnxruntime import newest_opset


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


def test_an_opset_that_onnx_runtime_does_not_read_is_named(tmp_path: Path) -> None:
    canonical, readable = opsets.canonical_opsets()[""], newest_opset(onnxruntime)
    if readable >= canonical:
        pytest.skip("the installed ONNX Runtime reads every opset")
    function = tf.function(tf.nn.relu, input_signature=[tf.TensorSpec([None, 3])])
    asked = trueport.convert(function, to="onnx", opset=canonical, verify=False)
    with pytest.raises(trueport.errors.EmitError, match=f"reads opsets up to {readable}, the model has .*{canonical}"):
        asked.save(tmp_path / "newer.onnx")
    assert not list(tmp_path.iterdir())
