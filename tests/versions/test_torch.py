"""Triton is hidden only while it must be; unique() is typed rightly; operators that a version lacks are passed over."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch

import trueport
from trueport.versions.torch import int64_indices, lacks, own_translations_first, without_triton


@pytest.mark.parametrize(("loaded", "hidden"), [((), False), (("tensorflow",), True)])
def test_triton_is_hidden_only_beside_tensorflow(
    loaded: tuple[str, ...], hidden: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = {name: module for name, module in sys.modules.items() if name not in ("tensorflow", "triton")}
    monkeypatch.setattr(sys, "modules", fresh | {name: ModuleType(name) for name in loaded})
    with without_triton():
        assert ("triton" in sys.modules) is hidden
        with without_triton():
            pass
        assert ("triton" in sys.modules) is hidden
    assert "triton" not in sys.modules


def test_a_loaded_triton_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    triton = ModuleType("triton")
    monkeypatch.setitem(sys.modules, "tensorflow", ModuleType("tensorflow"))
    monkeypatch.setitem(sys.modules, "triton", triton)
    with without_triton():
        assert sys.modules["triton"] is triton
    assert sys.modules["triton"] is triton


def test_only_operators_known_to_be_missing_somewhere_are_passed_over() -> None:
    bare = SimpleNamespace(ops=SimpleNamespace(aten=SimpleNamespace()))
    assert lacks(bare, "aten::cholesky")
    assert not lacks(bare, "aten::colesky")


class _Fake:
    """Stands for a tensor of PyTorch 2.8 while it captures."""

    shape = (3,)

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def new_empty(self, shape: Any, dtype: Any) -> _Fake:
        return _Fake(dtype)


def test_indices_are_captured_as_int64_and_the_table_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    overload = torch.ops.aten._unique2.default
    table = torch._subclasses.fake_impls.op_implementations_dict
    monkeypatch.setitem(table, overload, lambda *args: (_Fake(torch.float32),) * 3)
    before = dict(table)
    with int64_indices(torch):
        assert [value.dtype for value in table[overload]()] == [torch.float32, torch.int64, torch.int64]
    assert table == before


class _Counts(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
        return values, inverse, counts // 2, counts + 0.5


def test_what_is_computed_from_counts_has_the_type_of_pytorch(tmp_path: Path) -> None:
    """A quotient of integers is rounded, a sum with a float promoted: both depend on the type while capturing."""
    x = torch.tensor([3.0, 1.0, 1.0, -2.0, 3.0, 3.0])
    trueport.convert(_Counts(), to="onnx", example_inputs=(x,), verify=False).save(tmp_path / "counts.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "counts.onnx", providers=["CPUExecutionProvider"])
    got = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    for want, have in zip(_Counts()(x), got, strict=True):
        np.testing.assert_array_equal(have, want.numpy())
        assert have.dtype == want.numpy().dtype


def test_a_custom_translation_comes_first_where_signatures_are_compared() -> None:
    def match(node: Any, overloads: Any) -> Any:
        return None, "no signature fits"

    own, builtin = (SimpleNamespace(onnx_function=custom, is_custom=custom) for custom in (True, False))
    dispatching = SimpleNamespace(get_matching_overload=match)
    with own_translations_first(dispatching):
        assert dispatching.get_matching_overload(None, [builtin, own])[0] is True
        assert dispatching.get_matching_overload(None, [builtin])[0] is None
    assert dispatching.get_matching_overload is match
    with own_translations_first(SimpleNamespace()):
        pass
