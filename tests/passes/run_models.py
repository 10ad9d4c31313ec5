"""Run a model at its own opset: by ONNX Runtime, or by ONNX's reference evaluator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx.reference import ReferenceEvaluator

__all__ = ["assert_same", "run_ort", "run_reference", "shapes_of"]

_TOLERANCE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 2e-5, np.dtype(np.float16): 4e-3}


def run_ort(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    """By ONNX Runtime, graph optimizations off."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(feeds))


def run_reference(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    """By ONNX's reference evaluator."""
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(model).run(None, dict(feeds))


def assert_same(got: Any, want: Any, label: str) -> None:
    """Same structure, shape and type; floats within their rounding, all else equal."""
    if isinstance(want, (list, tuple)):
        assert len(got) == len(want), f"{label}: {len(got)} values, want {len(want)}"
        for g, w in zip(got, want, strict=True):
            assert_same(g, w, label)
        return
    if want is None or isinstance(want, dict):
        assert got == want, label
        return
    g, w = np.asarray(got), np.asarray(want)
    assert g.shape == w.shape, f"{label}: shape {g.shape}, want {w.shape}"
    if w.dtype.kind in "UOS":
        assert g.astype(str).tolist() == w.astype(str).tolist(), label
        return
    assert g.dtype == w.dtype, f"{label}: dtype {g.dtype}, want {w.dtype}"
    if w.dtype.kind in "biu":
        np.testing.assert_array_equal(g, w, err_msg=label)
        return
    tolerance = _TOLERANCE.get(w.dtype, 2e-2)
    wide = np.complex128 if w.dtype.kind == "c" else np.float64
    finite = np.abs(w.astype(np.float64)[np.isfinite(w.astype(np.float64))])
    scale = float(finite.max(initial=0))
    np.testing.assert_allclose(
        g.astype(wide), w.astype(wide), rtol=tolerance, atol=tolerance * scale / 10, err_msg=label
    )


def shapes_of(value: Any) -> Any:
    """The structure of a result without its numbers."""
    if isinstance(value, (list, tuple)):
        return [shapes_of(item) for item in value]
    array = np.asarray(value)
    return array.shape, array.dtype
