"""Scattering reduces by adding and multiplying since 16, by the minimum and maximum since 18."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
from onnx_ir import Value

from trueport.ir.build import Builder
from trueport.passes.lower.adapt import ABSENT, Downgrade, downgrades

__all__: list[str] = []

_JOINS = {"add": "Add", "mul": "Mul", "min": "Min", "max": "Max"}
_JOINS_OF_TRUTH = {"add": "Or", "mul": "And", "min": "And", "max": "Or"}


@downgrades("ScatterND", 18, 16)
def scatter_nd_18_to_16(op: Downgrade, data: Value, indices: Value, updates: Value, *, reduction: str) -> Any:
    """The minimum and maximum came with 18."""
    if reduction in ("min", "max"):
        return _joined(op, data, indices, updates, reduction)
    return op.again(data, indices, updates, reduction=reduction)


@downgrades("ScatterND", 16, 13)
def scatter_nd_16_to_13(op: Downgrade, data: Value, indices: Value, updates: Value, *, reduction: str) -> Any:
    """Before 16 an update only replaces."""
    if reduction == "none":
        return op.again(data, indices, updates)
    return _joined(op, data, indices, updates, reduction)


@downgrades("ScatterElements", 18, 16)
def scatter_elements_18_to_16(
    op: Downgrade, data: Value, indices: Value, updates: Value, *, axis: int, reduction: str
) -> Any:
    """The minimum and maximum came with 18."""
    if reduction in ("min", "max"):
        return op.ScatterND(data, _coordinates(op, data, indices, axis), updates, reduction=reduction)
    return op.again(data, indices, updates, axis=axis, reduction=reduction)


@downgrades("ScatterElements", 16, 13)
def scatter_elements_16_to_13(
    op: Downgrade, data: Value, indices: Value, updates: Value, *, axis: int, reduction: str
) -> Any:
    """Before 16 an update only replaces."""
    if reduction == "none":
        return op.again(data, indices, updates, axis=axis)
    return op.ScatterND(data, _coordinates(op, data, indices, axis), updates, reduction=reduction)


def _coordinates(op: Downgrade, data: Value, indices: Value, axis: int) -> Value:
    """All coordinates of each index, which gives the one along its axis."""
    rank = op.rank(data)
    shape = op.Shape(indices)
    columns = []
    for place in range(rank):
        if place == axis % rank:
            column = op.Cast(indices, to=ir.DataType.INT64.value)
        else:
            steps = op.Range(op.const(0), op.Gather(shape, op.const(place)), op.const(1))
            others = [other for other in range(rank) if other != place]
            column = op.Expand(op.Unsqueeze(steps, others) if others else steps, shape)
        columns.append(op.Unsqueeze(column, [-1]))
    return op.Concat(*columns, axis=-1)


def _joined(op: Downgrade, data: Value, indices: Value, updates: Value, reduction: str) -> Any:
    """All at once if no place is met twice, else one after the other."""
    if data.dtype == ir.DataType.BFLOAT16:  # which loops do not carry at these opsets
        wide, parts = (op.Cast(value, to=ir.DataType.FLOAT.value) for value in (data, updates))
        return op.Cast(op.ScatterND(wide, indices, parts, reduction=reduction), to=data.dtype.value)
    join = (_JOINS_OF_TRUTH if data.dtype == ir.DataType.BOOL else _JOINS)[reduction]
    known = op.known(indices)
    if known is not None:
        places = known.reshape(-1, known.shape[-1])
        if np.all(places >= 0) and len(np.unique(places, axis=0)) == len(places):
            return _once(op, data, indices, updates, join)
    depth = op.dim(indices, -1)
    if depth is None:
        raise op.fail("the last dim of the indices must be known")
    count = op.ReduceProd(op.Slice(op.Shape(indices), [0], [-1], [0]))
    of_each = op.Slice(op.Shape(data), [depth], [np.iinfo(np.int64).max], [0])
    rows = op.Reshape(indices, op.Concat(count, [depth], axis=0), allowzero=1)
    parts = op.Reshape(updates, op.Concat(count, of_each, axis=0), allowzero=1)
    step = ir.Value(name="step", type=ir.TensorType(ir.DataType.INT64), shape=ir.Shape([]))
    going = ir.Value(name="going", type=ir.TensorType(ir.DataType.BOOL), shape=ir.Shape([]))
    state = ir.Value(name="state", type=data.type, shape=data.shape)
    inner = op.inside([step, going, state])
    one = inner.Unsqueeze(step, [0])
    made = _once(inner, state, inner.Gather(rows, one), inner.Gather(parts, one), join)
    inner.graph.outputs.extend([inner.Identity(going), made])
    result = op.Loop(op.Squeeze(count, [0]), None, data, body=inner.graph)
    result.type, result.shape = data.type, data.shape
    return result


def _once(op: Builder, data: Value, indices: Value, updates: Value, join: str) -> Value:
    return op.ScatterND(data, indices, op.add(join, [op.GatherND(data, indices), updates], {}))


@downgrades("TensorScatter", 24, ABSENT)
def tensor_scatter_24_to_none(
    op: Downgrade, past_cache: Value, update: Value, write_indices: Value | None, *, axis: int, mode: str
) -> Any:
    """The place of each element along the axis: its own, from where its sample starts."""
    rank = op.rank(past_cache)
    along = axis % rank
    steps = op.Range(op.const(0), op.Gather(op.Shape(update), op.const(along)), op.const(1))
    places = op.Unsqueeze(steps, [other for other in range(rank) if other != along])
    if write_indices is not None:
        places = op.Add(op.Unsqueeze(write_indices, list(range(1, rank))), places)
    if mode == "circular":
        places = op.Mod(places, op.Gather(op.Shape(past_cache), op.const(along)))
    return op.ScatterElements(past_cache, op.Expand(places, op.Shape(update)), update, axis=along)
