"""Element types: TensorFlow's to ONNX's."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from trueport.errors import ConversionError

__all__ = ["COMPLEX_PARTS", "check_type", "is_tensor_type", "onnx_type", "tf_type"]

_D = ir.DataType

_TYPES = {
    "float32": _D.FLOAT,
    "float64": _D.DOUBLE,
    "float16": _D.FLOAT16,
    "bfloat16": _D.BFLOAT16,
    "int8": _D.INT8,
    "int16": _D.INT16,
    "int32": _D.INT32,
    "int64": _D.INT64,
    "uint8": _D.UINT8,
    "uint16": _D.UINT16,
    "uint32": _D.UINT32,
    "uint64": _D.UINT64,
    "bool": _D.BOOL,
    "string": _D.STRING,
    "complex64": _D.COMPLEX64,
    "complex128": _D.COMPLEX128,
    "int4": _D.INT4,
    "uint4": _D.UINT4,
    "int2": _D.INT2,
    "uint2": _D.UINT2,
    "float8_e5m2": _D.FLOAT8E5M2,
    "float8_e4m3fn": _D.FLOAT8E4M3FN,
    "float8_e4m3fnuz": _D.FLOAT8E4M3FNUZ,
    "float8_e5m2fnuz": _D.FLOAT8E5M2FNUZ,
    "float4_e2m1fn": _D.FLOAT4E2M1,
    # The integers of TensorFlow's own quantized kernels: plain ones with a range beside them.
    "qint8": _D.INT8,
    "quint8": _D.UINT8,
    "qint16": _D.INT16,
    "quint16": _D.UINT16,
    "qint32": _D.INT32,
}

_HANDLES = frozenset(("resource", "variant"))

COMPLEX_PARTS = {_D.COMPLEX64: _D.FLOAT, _D.COMPLEX128: _D.DOUBLE}
"""What the two parts of a complex number are made of."""


def is_tensor_type(dtype: Any) -> bool:
    """Whether a TensorFlow dtype is one of values; resources and variants are handles."""
    return dtype.base_dtype.name in _TYPES


def check_type(dtype: Any) -> None:
    """Refuse a type of values that ONNX has not."""
    if dtype.base_dtype.name not in _HANDLES:
        onnx_type(dtype)


def onnx_type(dtype: Any) -> ir.DataType:
    """ONNX's element type for a TensorFlow dtype."""
    name = dtype.base_dtype.name
    if name not in _TYPES:
        raise ConversionError(
            f"ONNX has no element type for TensorFlow's {name}", remedy="compute in a type that ONNX has, as float32"
        )
    return _TYPES[name]


def tf_type(dtype: ir.DataType) -> str:
    """TensorFlow's name for an ONNX element type."""
    return next(name for name, known in _TYPES.items() if known == dtype)
