"""Arrays of element types that NumPy does not have itself, in and out of an ONNX Runtime session."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.lazy import LazyModule

__all__ = ["run_session"]

ort: Any = LazyModule("onnxruntime", "ONNX Runtime", "onnxruntime")
_D = ir.DataType
_FOREIGN = {
    "tensor(bfloat16)": _D.BFLOAT16,
    "tensor(float8e4m3fn)": _D.FLOAT8E4M3FN,
    "tensor(float8e4m3fnuz)": _D.FLOAT8E4M3FNUZ,
    "tensor(float8e5m2)": _D.FLOAT8E5M2,
    "tensor(float8e5m2fnuz)": _D.FLOAT8E5M2FNUZ,
}
"""Types that its Python interface takes and gives as bare memory only."""


def run_session(session: Any, names: Sequence[str], feeds: Mapping[str, Any]) -> list[Any]:
    """The values with these names."""
    declared = {item.name: item.type for item in (*session.get_inputs(), *session.get_outputs())}
    if not any(declared.get(name) in _FOREIGN for name in (*names, *feeds)):
        made: list[Any] = session.run(list(names), dict(feeds))
        return made
    values = {name: _value(array, declared[name]) for name, array in feeds.items()}
    return [_array(value) for value in session.run_with_ort_values(list(names), values)]


def _value(array: Any, kind: str) -> Any:
    dtype = _FOREIGN.get(kind)
    if dtype is None:
        return ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))
    bits = np.ascontiguousarray(array).view(np.dtype(f"u{dtype.bitwidth // 8}"))
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, int(dtype))


def _array(value: Any) -> Any:
    dtype = _FOREIGN.get(value.data_type())
    if dtype is None:
        return value.numpy()
    # Not `tensor_size_in_bytes()`, which ONNX Runtime has since 1.22.
    size = math.prod(value.shape()) * dtype.bitwidth // 8
    memory = (ctypes.c_uint8 * size).from_address(value.data_ptr())
    return np.frombuffer(memory, np.uint8).view(dtype.numpy()).reshape(value.shape()).copy()
