"""Element types that ONNX Runtime's Python interface does not take as arrays."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx.helper as oh
import pytest
from onnx import TensorProto

from trueport.runtimes.onnxruntime import OnnxRuntimeModel

KINDS: dict[str, tuple[int, Any]] = {
    "int4": (TensorProto.INT4, ml_dtypes.int4),
    "uint4": (TensorProto.UINT4, ml_dtypes.uint4),
    "bfloat16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16),
    "float8": (TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn),
}
SHAPES = [(), (1,), (3, 5), (2, 4), (0, 3)]


def _cast(source: int, target: int) -> OnnxRuntimeModel:
    border = [oh.make_tensor_value_info(name, kind, None) for name, kind in (("x", source), ("y", target))]
    graph = oh.make_graph([oh.make_node("Cast", ["x"], ["y"], to=target)], "g", border[:1], border[1:])
    return OnnxRuntimeModel(oh.make_model(graph, opset_imports=[oh.make_opsetid("", 21)], ir_version=10))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_in_and_out(kind: str, shape: tuple[int, ...]) -> None:
    element, dtype = KINDS[kind]
    low = 0 if kind == "uint4" else -8
    x = (np.arange(np.prod(shape, dtype=int)) % 16 + low).reshape(shape).astype(np.float32).astype(dtype)
    wide = _cast(element, TensorProto.FLOAT).run({"x": x})["y"]
    np.testing.assert_array_equal(wide, x.astype(np.float32))
    assert np.shape(wide) == shape
    back = _cast(TensorProto.FLOAT, element).run({"x": x.astype(np.float32)})["y"]
    assert (back.dtype, back.shape) == (x.dtype, shape)
    np.testing.assert_array_equal(back.astype(np.float32), x.astype(np.float32))
