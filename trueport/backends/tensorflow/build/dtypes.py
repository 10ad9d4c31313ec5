"""ONNX element types in TensorFlow, and the containers for those that TensorFlow does not have."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.ir.ports import CONTAINERS

__all__ = ["is_native", "onnx_dtype", "tf_dtype"]

_D = ir.DataType
_NAMES = {
    _D.FLOAT: "float32",
    _D.DOUBLE: "float64",
    _D.FLOAT16: "float16",
    _D.BFLOAT16: "bfloat16",
    _D.FLOAT8E4M3FN: "float8_e4m3fn",
    _D.FLOAT8E4M3FNUZ: "float8_e4m3fnuz",
    _D.FLOAT8E5M2: "float8_e5m2",
    _D.FLOAT8E5M2FNUZ: "float8_e5m2fnuz",
    _D.FLOAT4E2M1: "float4_e2m1fn",
    _D.STRING: "string",
    _D.BOOL: "bool",
    **{d: d.name.lower() for d in _D if d.name.startswith(("INT", "UINT", "COMPLEX"))},
}


def is_native(dtype: ir.DataType) -> bool:
    """Whether TensorFlow has the type itself; otherwise its bits travel in ``CONTAINERS[dtype]``."""
    return dtype not in CONTAINERS


def tf_dtype(dtype: ir.DataType) -> Any:
    """TensorFlow's type for an ONNX element type: the same type, or the declared container of its bits."""
    return tf.as_dtype(_NAMES[CONTAINERS.get(dtype, dtype)])


def onnx_dtype(dtype: Any) -> ir.DataType:
    """ONNX's element type for a TensorFlow type: the plain one, though it may be the container of another."""
    return next(onnx for onnx, name in _NAMES.items() if name == dtype.name)
