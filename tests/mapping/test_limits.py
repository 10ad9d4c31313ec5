"""Declared limits are true: foreseen, refused where they say so, and still there where something gets lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx.helper as oh
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, RuntimeException
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernel

import trueport
from tests.grid.harness import run_ort
from trueport.backend import prepare
from trueport.backends.tensorflow.registry import registry
from trueport.errors import Unsupported
from trueport.fidelity import UNSUPPORTED, Limit
from trueport.mapping.declare import OpMapping

Declared = tuple[OpMapping, Limit]
LIMITS = [(mapping, limit) for mapping in registry() for limit in mapping.limits]


def _over(limits: list[Declared]) -> Any:
    names = [f"{limit.label} of {mapping.op}" for mapping, limit in limits]
    return pytest.mark.parametrize(("mapping", "limit"), limits, ids=names)


@_over(LIMITS)
def test_a_limit_is_foreseen(mapping: OpMapping, limit: Limit) -> None:
    findings = trueport.check(limit.example()).findings
    reasons = [(f.mapping, reason.label, reason.effect) for f in findings for reason in f.reasons]
    assert (mapping, limit.label, limit.effect) in reasons


@_over([(mapping, limit) for mapping, limit in LIMITS if limit.effect == UNSUPPORTED])
def test_beyond_a_limit_is_refused(mapping: OpMapping, limit: Limit) -> None:
    with pytest.raises(Unsupported) as caught:
        trueport.convert(limit.example())
    assert limit.because in str(caught.value)


@_over(LIMITS)
def test_a_limit_is_still_true(mapping: OpMapping, limit: Limit) -> None:
    """Every label has to have its measurement."""
    MEASURED[limit.label](limit.example())


def _drops_other_elements(model: onnx.ModelProto) -> None:
    feeds = {"x": np.ones(200, np.float32)}
    (source,), (target,) = run_ort(model, feeds), prepare(model).run(feeds)
    assert set(source) == set(target) == {0.0, 2.0}
    assert not np.array_equal(source, target)


def _forgets_which_nan(model: onnx.ModelProto) -> None:
    codes = np.arange(256).astype(np.uint8)
    values = codes.view(ml_dtypes.float8_e5m2)
    (got,) = prepare(model).run({"x": values})
    unknown = np.isnan(values)
    assert np.array_equal(got[~unknown], codes[~unknown])
    assert len(set(codes[unknown])) == 6
    assert len(set(got[unknown])) == 2


def _loses_the_dot(model: onnx.ModelProto) -> None:
    """Unicode's special casing for Lithuanian; ONNX Runtime takes the system's locales, which may lack it."""
    (got,) = prepare(model).run({"x": np.array(["Ì"], object)})
    assert got.tolist() == ["ì"]
    assert got.tolist() != ["i\u0307\u0300"]


def _feeds(model: onnx.ModelProto) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    shapes = {
        value.name: (value.type.tensor_type.elem_type, [dim.dim_value or 3 for dim in value.type.tensor_type.shape.dim])
        for value in model.graph.input
    }
    return {
        name: rng.uniform(0, 2, shape).astype(oh.tensor_dtype_to_np_dtype(dtype))
        for name, (dtype, shape) in shapes.items()
    }


def _plain(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model's node with only those attributes that it can't be without."""
    other = onnx.ModelProto.FromString(model.SerializeToString())
    (node,) = other.graph.node
    kept = [attribute for attribute in node.attribute if attribute.name in _NEEDED]
    del node.attribute[:]
    node.attribute.extend(kept)
    return other


def _runtime_refuses(model: onnx.ModelProto) -> None:
    with pytest.raises((Fail, NoKernel, RuntimeException)):
        run_ort(model, _feeds(model))


def _runtime_ignores(model: onnx.ModelProto) -> None:
    feeds = _feeds(model)
    assert np.array_equal(run_ort(model, feeds)[0], run_ort(_plain(model), feeds)[0])


def _runtime_refuses_or_ignores(model: onnx.ModelProto) -> None:
    """On CPUs: nothing says what the result would be."""
    (_runtime_refuses if model.graph.node[0].op_type == "Attention" else _runtime_ignores)(model)


def _looks_ahead(model: onnx.ModelProto) -> None:
    feeds = _feeds(model) | {"last": np.array([2], np.int32), "total": np.array(3, np.int32)}
    assert not np.allclose(run_ort(model, feeds)[0], run_ort(_plain(model), feeds)[0])


_NEEDED = ("num_heads", "kv_num_heads", "K", "N", "block_size")
MEASURED: dict[str, Callable[[onnx.ModelProto], None]] = {
    "attention-packed": _runtime_refuses,
    "attention-shared-buffer": _runtime_refuses_or_ignores,
    "bitcast-float8e5m2-nan": _forgets_which_nan,
    "dropout-training": _drops_other_elements,
    "fused-activation": _runtime_refuses,
    "grouped-attention-cache": _looks_ahead,
    "lithuanian-case": _loses_the_dot,
    "recurrent-activations": _runtime_refuses,
    "rotary-packed-batch": _runtime_ignores,
    "scatter-reduction": _runtime_refuses,
    "strings-mixed": _runtime_refuses,
    "weights-prepacked": _runtime_ignores,
}
"""What each limit comes to: in the target, or in the runtime that defines what we refuse."""


def test_no_measurement_outlives_its_limit() -> None:
    assert set(MEASURED) == {limit.label for _, limit in LIMITS}
