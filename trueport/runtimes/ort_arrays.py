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
    "tensor(int4)": _D.INT4,
    "tensor(uint4)": _D.UINT4,
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
        return ort.OrtValue.ortvalue_from_numpy(_contiguous(array))
    if dtype.bitwidth < 8:
        bits = _packed(np.asarray(array), dtype.bitwidth)
    else:
        bits = _contiguous(array).view(np.dtype(f"u{dtype.bitwidth // 8}"))
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, int(dtype))


def _contiguous(array: Any) -> np.ndarray:
    """The array in C order; np.ascontiguousarray would give a scalar an axis."""
    return np.asarray(array, order="C")


def _packed(array: np.ndarray, width: int) -> np.ndarray:
    """Bytes in the array's shape of which the first ones hold its elements, lowest bits first.

    ONNX Runtime takes the shape from the array of bytes, and reads as many of them as its elements need.
    """
    held = np.zeros(array.shape, np.uint8)
    bits = np.unpackbits(array.astype(np.int8).view(np.uint8).reshape(-1, 1), axis=1, bitorder="little")
    packed = np.packbits(bits[:, :width].ravel(), bitorder="little")
    held.ravel()[: packed.size] = packed
    return held


def _array(value: Any) -> Any:
    dtype = _FOREIGN.get(value.data_type())
    if dtype is None:
        return value.numpy()
    # Not `tensor_size_in_bytes()`, which ONNX Runtime has since 1.22.
    count = math.prod(value.shape())
    memory = (ctypes.c_uint8 * -(-count * dtype.bitwidth // 8)).from_address(value.data_ptr())
    held = np.frombuffer(memory, np.uint8)
    if dtype.bitwidth < 8:
        held = _unpacked(held, dtype.bitwidth, count).astype(dtype.numpy())
    return held.view(dtype.numpy()).reshape(value.shape()).copy()


def _unpacked(held: np.ndarray, width: int, count: int) -> np.ndarray:
    """One byte per element, in whose lowest bits it stands."""
    bits = np.unpackbits(held, bitorder="little")[: count * width].reshape(count, width)
    made: np.ndarray = np.packbits(np.pad(bits, ((0, 0), (0, 8 - width))), axis=1, bitorder="little").ravel()
    return made
