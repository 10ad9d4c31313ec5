"""Wrong conversions that other tools made, kept as they were written: each is located at its node, with its cause.

``python -m bench.known_faults tests/verifying/known`` made the files, with tf2onnx 1.17.0 and onnx2tf 1.29.24.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trueport
from bench.known_faults import KEPT, KNOWN, Known
from trueport.fidelity import Verdict


def inputs(known: Known) -> dict[str, Any]:
    source = known.make()
    if hasattr(source, "graph"):
        tensor = source.graph.input[0].type.tensor_type
        shape, whole = [dim.dim_value for dim in tensor.shape.dim], tensor.elem_type != 1
    else:
        spec = source.get_concrete_function().structured_input_signature[0][0]
        shape, whole = spec.shape.as_list(), spec.dtype.is_integer
    rng = np.random.default_rng(0)
    if whole:
        return {"x": rng.integers(0, 9, shape).astype(np.int64 if hasattr(source, "graph") else np.int32)}
    return {"x": rng.normal(size=shape).astype(np.float32)}


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: f"{known.tool.name}-{known.name}")
def test_the_node_and_the_cause(known: Known) -> None:
    found = trueport.locate(known.make(), known.target(KEPT), data=[inputs(known)])
    assert found.culprit is not None, found.why
    assert found.culprit.op == known.op
    assert found.culprit.own.verdict == Verdict.DEPARTS
    causes = found.culprit.causes
    assert any(known.cause in cause.what for cause in causes), causes


def test_the_files_are_small() -> None:
    assert sum(file.stat().st_size for file in KEPT.rglob("*") if file.is_file()) < 1 << 20
