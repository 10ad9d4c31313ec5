"""The one table of element types: ONNX's name, NumPy's type, and the sets that declarations speak of."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

__all__ = [
    "BOOL",
    "COMPLEX",
    "FLOAT8",
    "FLOATS",
    "HALF_FLOATS",
    "INTEGERS",
    "NARROW_FLOATS",
    "NARROW_INTEGERS",
    "NUMBERS",
    "SIGNED",
    "STRINGS",
    "UNSIGNED",
    "WIDE_FLOATS",
    "numpy_dtype",
]

_D = ir.DataType

WIDE_FLOATS = frozenset({_D.FLOAT, _D.DOUBLE})
HALF_FLOATS = frozenset({_D.FLOAT16, _D.BFLOAT16})
FLOATS = WIDE_FLOATS | HALF_FLOATS
FLOAT8 = frozenset({_D.FLOAT8E4M3FN, _D.FLOAT8E4M3FNUZ, _D.FLOAT8E5M2, _D.FLOAT8E5M2FNUZ})
NARROW_FLOATS = FLOAT8 | {_D.FLOAT8E8M0, _D.FLOAT4E2M1, _D.FLOAT6E2M3, _D.FLOAT6E3M2}
SIGNED = frozenset({_D.INT8, _D.INT16, _D.INT32, _D.INT64})
UNSIGNED = frozenset({_D.UINT8, _D.UINT16, _D.UINT32, _D.UINT64})
INTEGERS = SIGNED | UNSIGNED
NARROW_INTEGERS = frozenset({_D.INT4, _D.UINT4, _D.INT2, _D.UINT2})
COMPLEX = frozenset({_D.COMPLEX64, _D.COMPLEX128})
BOOL = frozenset({_D.BOOL})
STRINGS = frozenset({_D.STRING})
NUMBERS = FLOATS | INTEGERS


def numpy_dtype(dtype: ir.DataType) -> np.dtype:
    """NumPy's type for an ONNX element type (ml_dtypes for the narrow ones, object for strings)."""
    return np.dtype(object) if dtype == ir.DataType.STRING else dtype.numpy()
