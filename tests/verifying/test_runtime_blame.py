"""A target that is right without its runtime's optimizer: the runtime is named, not the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import trueport
from tests.models import relu_chain
from trueport.fidelity import Verdict
from trueport.mapping.registry import RECORDS
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.report.verification import render
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.verifying.verify import verify_runs

SAID = "ONNX Runtime's optimizer, not the model: with it off the target is faithful"


class Miscompiled(OnnxRuntimeModel):
    """An ONNX model that its runtime's optimizer breaks."""

    def _run(self, feeds: Mapping[str, Any], fetch: list[str] | None) -> dict[str, Any]:
        made = super()._run(feeds, fetch)
        wrong = self._level != "none"
        return {name: value + np.float32(1) if wrong else value for name, value in made.items()}


def test_the_optimizer_is_named() -> None:
    found = trueport.verify(relu_chain(), Miscompiled(relu_chain()), samples=2)
    assert found.verdict == Verdict.DEPARTS, "as its users run it, it is wrong"
    assert found.runtime_at_fault.startswith(SAID)
    assert SAID in str(found)
    assert f"cause {SAID}" in " ".join(render(found).split())
    assert found.to_json()["runtime_at_fault"] == found.runtime_at_fault


@pytest.mark.parametrize("asked", [{}, {"strict": True}])
def test_a_faulty_model_is_not_excused(asked: dict[str, Any]) -> None:
    class Wrong(OnnxRuntimeModel):
        def _run(self, feeds: Mapping[str, Any], fetch: list[str] | None) -> dict[str, Any]:
            return {name: value + np.float32(1) for name, value in super()._run(feeds, fetch).items()}

    found = trueport.verify(relu_chain(), Wrong(relu_chain()), samples=2, **asked)
    assert (found.verdict, found.runtime_at_fault) == (Verdict.DEPARTS, "")


def test_a_faithful_target_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    levels: list[str] = []
    plain = OnnxRuntimeModel.at_level

    def counted(self: OnnxRuntimeModel, level: Any) -> OnnxRuntimeModel:
        levels.append(level)
        return plain(self, level)

    monkeypatch.setattr(OnnxRuntimeModel, "at_level", counted)
    found = trueport.verify(relu_chain(), OnnxRuntimeModel(relu_chain()), samples=2)
    assert (found.verdict, levels) == (Verdict.FAITHFUL, ["all"])


def test_an_optimizer_that_breaks_the_source_is_a_hint() -> None:
    """Both executions of the source are the measure, so what differs between them is not seen in a target."""
    x = np.linspace(1, 2, 6, dtype=np.float32).reshape(2, 3)
    sources = [Miscompiled(relu_chain(), optimize=False), Miscompiled(relu_chain())]
    oracle = OnnxOracle.of(relu_chain(), RECORDS)
    found = verify_runs(sources, sources[1], [{"x": x}], oracle)
    assert found.verdict == Verdict.FAITHFUL
    (hint,) = found.hints
    assert hint.startswith("output 'y': an optimized execution of the source is off by ")
    assert "the optimizer of onnxruntime, not the model" in hint
    assert not verify_runs(sources[:1], sources[0], [{"x": x}], oracle).hints
