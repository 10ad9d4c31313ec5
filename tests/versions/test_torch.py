"""Triton is kept out where TensorFlow came first; operators that a version lacks are passed over."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from trueport.versions.torch import keep_triton_out, lacks


@pytest.mark.parametrize(("loaded", "hidden"), [((), False), (("tensorflow",), True)])
def test_triton_is_hidden_only_beside_tensorflow(
    loaded: tuple[str, ...], hidden: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = {name: module for name, module in sys.modules.items() if name not in ("tensorflow", "triton")}
    monkeypatch.setattr(sys, "modules", fresh | {name: ModuleType(name) for name in loaded})
    keep_triton_out()
    assert ("triton" in sys.modules) is hidden


def test_a_loaded_triton_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    triton = ModuleType("triton")
    monkeypatch.setitem(sys.modules, "tensorflow", ModuleType("tensorflow"))
    monkeypatch.setitem(sys.modules, "triton", triton)
    keep_triton_out()
    assert sys.modules["triton"] is triton


def test_only_operators_known_to_be_missing_somewhere_are_passed_over() -> None:
    bare = SimpleNamespace(ops=SimpleNamespace(aten=SimpleNamespace()))
    assert lacks(bare, "aten::cholesky")
    assert not lacks(bare, "aten::colesky")
