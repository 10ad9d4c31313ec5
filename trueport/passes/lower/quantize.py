"""QuantizeLinear and DequantizeLinear: blocks, 16 bits and a stated type since 21, a stated precision since 23."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
from onnx_ir import Value

from trueport.passes.lower.adapt import Downgrade, downgrades

__all__: list[str] = []

_D = ir.DataType
_SIXTEEN = frozenset({_D.INT16, _D.UINT16})
_UNDEFINED = 0


@downgrades("QuantizeLinear", 23, 21)
def quantize_linear_23_to_21(
    op: Downgrade, x: Value, y_scale: Value, y_zero_point: Value | None, *, precision: int, **attributes: Any
) -> Any:
    """Before 23 the scale's type is the precision."""
    if precision not in (_UNDEFINED, y_scale.dtype):
        raise op.fail("a precision other than the scale's type came with it")
    return op.again(x, y_scale, y_zero_point, **attributes)


@downgrades("QuantizeLinear", 21, 19)
def quantize_linear_21_to_19(
    op: Downgrade,
    x: Value,
    y_scale: Value,
    y_zero_point: Value | None,
    *,
    axis: int,
    block_size: int,
    output_dtype: int,
    saturate: int,
) -> Any:
    """Before 21 the zero point tells the type, which has 8 bits, and a scale is for all or for one index of an axis."""
    dtype = op.node.outputs[0].dtype
    assert dtype is not None
    if y_zero_point is None and output_dtype not in (_UNDEFINED, _D.UINT8):
        y_zero_point = op.Expand(op.const(np.array(0, dtype.numpy())), op.Shape(y_scale))
    if not block_size and dtype not in _SIXTEEN:
        return op.again(x, y_scale, y_zero_point, axis=axis, saturate=saturate)
    if dtype not in _SIXTEEN | {_D.INT8, _D.UINT8}:
        raise op.fail(f"the type {dtype} came with it")
    wide = op.Div(op.Cast(x, to=y_scale.dtype), _spread(op, x, y_scale, axis, block_size))
    steps = op.Cast(op.Round(wide), to=_D.FLOAT.value)
    if y_zero_point is not None:
        steps = op.Add(steps, op.Cast(_spread(op, x, y_zero_point, axis, block_size), to=_D.FLOAT.value))
    limits = np.iinfo(dtype.numpy())
    return op.Cast(op.Clip(steps, np.float32(limits.min), np.float32(limits.max)), to=dtype.value)


@downgrades("QuantizeLinear", 19, 13)
def quantize_linear_19_to_13(
    op: Downgrade, x: Value, y_scale: Value, y_zero_point: Value | None, *, axis: int, saturate: int
) -> Any:
    """The attribute is about types that came with it. A half is divided as one, before it is widened."""
    if x.dtype not in (_D.FLOAT16, _D.BFLOAT16):
        return op.again(x, y_scale, y_zero_point, axis=axis)
    quotient = op.Cast(op.Div(x, _spread(op, x, y_scale, axis, 0)), to=_D.FLOAT.value)
    ones = op.Expand(op.const(np.float32(1)), op.Shape(y_scale))
    return op.again(quotient, ones, y_zero_point, axis=axis)


@downgrades("DequantizeLinear", 23, 21)
def dequantize_linear_23_to_21(
    op: Downgrade, x: Value, x_scale: Value, x_zero_point: Value | None, *, output_dtype: int, **attributes: Any
) -> Any:
    """Before 23 the result has the scale's type."""
    made = op.again(x, x_scale, x_zero_point, **attributes)
    return made if output_dtype in (_UNDEFINED, x_scale.dtype) else op.Cast(made, to=output_dtype)


@downgrades("DequantizeLinear", 21, 19)
def dequantize_linear_21_to_19(
    op: Downgrade, x: Value, x_scale: Value, x_zero_point: Value | None, *, axis: int, block_size: int
) -> Any:
    """Before 21 there are no blocks and no 16 bits: the scale is multiplied."""
    if not block_size and x.dtype not in _SIXTEEN:
        return op.again(x, x_scale, x_zero_point, axis=axis)
    wide = op.Cast(x, to=_D.INT32.value)
    if x_zero_point is not None:
        wide = op.Sub(wide, op.Cast(_spread(op, x, x_zero_point, axis, block_size), to=_D.INT32.value))
    return op.Mul(op.Cast(wide, to=x_scale.dtype), _spread(op, x, x_scale, axis, block_size))


def _spread(op: Downgrade, x: Value, of_blocks: Value, axis: int, block_size: int) -> Value:
    """A scale or zero point in a shape that fits the data."""
    if of_blocks.shape is None:
        raise op.fail("the rank of the scale must be known")
    if len(of_blocks.shape) == 0 or op.dim(of_blocks, 0) == 1 == len(of_blocks.shape):
        return of_blocks
    rank = op.rank(x)
    along = axis % rank
    if not block_size:
        return op.Reshape(of_blocks, [*[1] * along, -1, *[1] * (rank - along - 1)])
    length = op.Gather(op.Shape(x), op.const(along))
    places = op.Div(op.Range(op.const(0), length, op.const(1)), op.const(block_size))
    return op.Gather(of_blocks, places, axis=along)
