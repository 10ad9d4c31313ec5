"""Matrices in the last two axes: what the operators of linear algebra share."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from trueport.formulas.writer import Writer
from trueport.ir.dtypes import numpy_dtype

__all__ = ["Size", "diagonal", "identity_like", "multiplied", "regrouped", "sizes_of", "swapped", "transposed"]

_D = ir.DataType
_WIDER = {_D.INT8: _D.INT32, _D.INT16: _D.INT32, _D.UINT8: _D.UINT32, _D.UINT16: _D.UINT32}
"""ONNX multiplies no narrow integers; sums of wider ones, cut off, are what TensorFlow's wrap to."""

Size = int | tuple[ir.Value, int]
"""A dim that is known, or the axis of a value that has it."""


def multiplied(t: Writer, a: ir.Value, b: ir.Value) -> ir.Value:
    """A product of matrices of one element type."""
    dtype = t.dtype(a)
    work = _WIDER.get(dtype, dtype)
    return t.cast(t.op.MatMul(t.cast(a, work), t.cast(b, work)), dtype)


def swapped(t: Writer, value: ir.Value) -> ir.Value:
    """The transposes of all matrices."""
    rank = t.rank(value)
    return transposed(t, value, [*range(rank - 2), rank - 1, rank - 2])


def identity_like(t: Writer, matrix: ir.Value) -> ir.Value:
    """A unit matrix for each of some square matrices."""
    size = t.dims(matrix)[-1]
    if t.rank(matrix) == 2 or size is None:
        shape = t.op.Shape(matrix, start=t.rank(matrix) - 2)
        zeros = t.op.ConstantOfShape(shape, value=ir.tensor(np.zeros(1, numpy_dtype(t.dtype(matrix)))))
        unit = t.op.EyeLike(zeros)
    else:
        unit = t.op.const(np.eye(size, dtype=numpy_dtype(t.dtype(matrix))))
    return unit if t.rank(matrix) == 2 else t.op.Expand(unit, t.op.Shape(matrix))


def diagonal(t: Writer, matrix: ir.Value) -> ir.Value:
    """The main diagonals, as the last axis."""
    unit = t.op.Cast(identity_like(t, matrix), to=_D.BOOL)
    return _summed(t, t.op.Where(unit, matrix, t.op.like(0, matrix)))


def _summed(t: Writer, value: ir.Value) -> ir.Value:
    return t.op.ReduceSum(value, [t.rank(value) - 2], keepdims=0)


def transposed(t: Writer, value: ir.Value, perm: Sequence[int]) -> ir.Value:
    """The axes in another order; no node when they stand in it."""
    return value if list(perm) == sorted(perm) else t.op.Transpose(value, perm=list(perm))


def sizes_of(t: Writer, value: ir.Value) -> list[Size]:
    """The dims of a value, each known or asked for by its axis."""
    return [(value, axis) if dim is None else dim for axis, dim in enumerate(t.dims(value))]


def regrouped(t: Writer, value: ir.Value, groups: Sequence[Sequence[Size]]) -> ir.Value:
    """The same elements with one axis per group of sizes."""
    known = [_product(group) for group in groups]
    made: ir.Value
    if known.count(None) == 0 or (known.count(None) == 1 and 0 not in known):
        made = t.op.Reshape(value, [-1 if size is None else size for size in known])
        return made
    parts = [
        _measured(t, group) if size is None else t.op.const(np.array([size], np.int64))
        for size, group in zip(known, groups, strict=True)
    ]
    made = t.op.Reshape(value, t.op.Concat(*parts, axis=0), allowzero=1)
    return made


def _product(sizes: Sequence[Size]) -> int | None:
    known = [size for size in sizes if isinstance(size, int)]
    return math.prod(known) if len(known) == len(sizes) else None


def _measured(t: Writer, sizes: Sequence[Size]) -> ir.Value:
    parts = [
        t.op.const(np.array([size], np.int64))
        if isinstance(size, int)
        else t.op.Shape(size[0], start=size[1], end=size[1] + 1)
        for size in sizes
    ]
    return parts[0] if len(parts) == 1 else t.op.ReduceProd(t.op.Concat(*parts, axis=0), [0], keepdims=1)
