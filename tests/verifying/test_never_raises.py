"""A difference leads to a verdict, never to an error, whatever the float64 reference can't do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx.helper as oh
import pytest
from onnx import TensorProto

import trueport
from tests.models import model_of, relu_chain
from trueport.errors import NoOracle
from trueport.fidelity import Verdict
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.runtimes.base import Model
from trueport.verifying.judge.criteria import Asked
from trueport.verifying.verify import verify_runs


def tanh() -> Any:
    return model_of(
        [oh.make_node("Tanh", ["x"], ["y"])],
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
    )


def refuse(oracle: OnnxOracle, feeds: Mapping[str, Any]) -> Any:
    raise NoOracle("can't be evaluated in float64: KeyError: 'Strange'", where="node 'strange' (com.example::Strange)")


@pytest.mark.parametrize("asked", [{}, {"everywhere": True}, {"k": 3}])
def test_without_a_reference_a_difference_is_a_verdict(monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]) -> None:
    monkeypatch.setattr(OnnxOracle, "run", refuse)
    found = trueport.verify(relu_chain(), tanh(), **asked)
    assert found.verdict == Verdict.DEPARTS
    assert found.oracle.startswith("none: no float64 reference for node 'strange' (com.example::Strange)")
    assert "declared bounds" in found.oracle


def test_further_noisy_runs_may_have_no_reference_either(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random operators and branches may lead the noisy runs to nodes that the first run did not reach."""
    monkeypatch.setattr(OnnxOracle, "more", refuse)
    assert trueport.verify(relu_chain(), tanh()).verdict == Verdict.DEPARTS


class _Gives(Model):
    """Gives one value."""

    runtime = "onnxruntime"

    def __init__(self, value: Any) -> None:
        self.inputs, self.outputs = (), ()
        self._value = value

    def _run(self, feeds: Mapping[str, Any], fetch: list[str] | None) -> dict[str, Any]:
        return self._value if isinstance(self._value, dict) else {"y": self._value}


class _Refusing:
    name, shares = "float64 (none)", "nothing"

    def run(self, feeds: Mapping[str, Any]) -> Any:
        return refuse(self, feeds)  # type: ignore[arg-type]

    def more(self, feeds: Mapping[str, Any]) -> list[dict[str, Any]]:
        return []


ROW = np.arange(3.0, dtype=np.float32)
OTHERS = {
    "number": (ROW, 3.0),
    "list": (ROW, [ROW]),
    "of a list": ([ROW], ROW),
    "nothing": (ROW, None),
    "of nothing": (None, ROW),
    "a map": ([{"a": 1.0}], ROW),
    "of a map": ({"a": 1.0}, {"b": 1.0}),
    "strings": (ROW, np.array(["a", "b", "c"], object)),
    "of strings": (np.array(["a", "b", "c"], object), ROW),
    "another string": (np.array(["a", "b"], object), np.array(["a", "c"], object)),
    "no output": ({"y": ROW}, {"z": ROW}),
    "longer": ([ROW], [ROW, ROW]),
}


@pytest.mark.parametrize("want, got", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("wish", [Asked(), Asked(strict=True)], ids=["by numbers", "by bits"])
def test_values_of_another_kind_are_differences(want: Any, got: Any, wish: Asked) -> None:
    found = verify_runs([_Gives(want)], _Gives(got), [{}], _Refusing(), wish=wish)  # type: ignore[arg-type]
    assert found.verdict == Verdict.DEPARTS, str(found)
