"""Operators on shapes: equal parts, parts of a shape, dims of 0, triangles."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
from onnx_ir import Value

from trueport.ir.build import Builder
from trueport.passes.lower.adapt import ABSENT, Downgrade, downgrades

__all__: list[str] = []


@downgrades("Split", 18, 13)
def split_18_to_13(op: Downgrade, input: Value, split: Value | None, *, axis: int, num_outputs: int | None) -> Any:
    """Before 18 equal parts are the default; a smaller last part has to be said."""
    if num_outputs is None:
        return op.again(input, split, axis=axis)
    length = op.dim(input, axis)
    if num_outputs == 1 or (length is not None and length % num_outputs == 0):
        return op.again(input, axis=axis)
    if length is not None:
        size = -(-length // num_outputs)
        return op.again(input, [size] * (num_outputs - 1) + [length - size * (num_outputs - 1)], axis=axis)
    whole = op.Gather(op.Shape(input), [axis])
    part = op.Div(op.Add(whole, [num_outputs - 1]), [num_outputs])
    last = op.Sub(whole, op.Mul(part, [num_outputs - 1]))
    return op.again(input, op.Concat(*[part] * (num_outputs - 1), last, axis=0), axis=axis)


@downgrades("Shape", 15, 13)
def shape_15_to_13(op: Downgrade, data: Value, *, start: int, end: int | None) -> Any:
    """The shape, of which a part is taken."""
    shape = op.again(data)
    if start == 0 and end is None:
        return shape
    return op.Slice(shape, [start], [np.iinfo(np.int64).max if end is None else end], [0])


@downgrades("Reshape", 14, 13)
def reshape_14_to_13(op: Downgrade, data: Value, shape: Value, *, allowzero: int) -> Any:
    """Before 14 a 0 copies a dim. With a dim of 0 there is no element, so any tensor of that shape is the result."""
    known = op.known(shape)
    if not allowzero or (known is not None and 0 not in known):
        return op.again(data, shape)
    if known is not None and -1 not in known:
        return op.Expand(_nothing(op, data), shape)
    made = op.node.outputs[0].shape
    if made is not None and all(isinstance(dim, int) and dim > 0 for dim in made):
        return op.again(data, shape)
    return _reshape_or_empty(op, data, shape)


def _nothing(op: Builder, data: Value) -> Value:
    return op.const(np.array("", object)) if data.dtype == ir.DataType.STRING else op.like(0, data)


def _reshape_or_empty(op: Downgrade, data: Value, shape: Value) -> Any:
    if data.dtype == ir.DataType.BFLOAT16:  # which branches do not give at these opsets
        wide = _reshape_or_empty(op, op.Cast(data, to=ir.DataType.FLOAT.value), shape)
        return op.Cast(wide, to=data.dtype.value)
    some = op.Cast(op.ReduceProd(shape, keepdims=0), to=ir.DataType.BOOL.value)
    full, empty = op.inside(), op.inside()
    full.graph.outputs.append(full.Reshape(data, shape))
    empty.graph.outputs.append(empty.Expand(_nothing(empty, data), shape))
    made = op.If(some, then_branch=full.graph, else_branch=empty.graph)
    made.type, made.shape = data.type, op.node.outputs[0].shape
    return made


@downgrades("Trilu", 14, ABSENT)
def trilu_14_to_none(op: Downgrade, input: Value, k: Value | None, *, upper: int) -> Any:
    """A choice between the input and 0, by the distance from the diagonal."""
    op.rank(input)
    shape = op.Shape(input)
    rows, columns = (op.Range(op.const(0), op.Gather(shape, op.const(axis)), op.const(1)) for axis in (-2, -1))
    distance = op.Sub(columns, op.Unsqueeze(rows, [1]))
    shift = op.const(0) if k is None else op.Reshape(k, op.const(np.array([], np.int64)))
    kept = op.GreaterOrEqual(distance, shift) if upper else op.LessOrEqual(distance, shift)
    return op.Where(kept, input, op.like(0, input))


@downgrades("Cast", 19, 13)
def cast_19_to_13(op: Downgrade, input: Value, *, to: int, saturate: int) -> Any:
    """The attribute is about types that came with it."""
    return op.again(input, to=to)


@downgrades("Cast", 24, 23)
def cast_24_to_23(op: Downgrade, input: Value, *, to: int, saturate: int, round_mode: str) -> Any:
    """The attribute is about a type that came with it."""
    return op.again(input, to=to, saturate=saturate)
