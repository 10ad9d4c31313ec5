"""Pad names axes since 18 and wraps around since 19."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx_ir import Value

from trueport.passes.lower.adapt import Downgrade, downgrades

__all__: list[str] = []


@downgrades("Pad", 18, 13)
def pad_18_to_13(
    op: Downgrade, data: Value, pads: Value, constant_value: Value | None, axes: Value | None, *, mode: str
) -> Any:
    """Before 18 there is a pad for each axis."""
    if axes is None:
        return op.again(data, pads, constant_value, mode=mode)
    rank = op.rank(data)
    named = op.known(axes)
    amounts = op.known(pads)
    if named is not None and amounts is not None:
        full = np.zeros((2, rank), np.int64)
        full[:, named % rank] = amounts.reshape(2, -1)
        return op.again(data, full.ravel(), constant_value, mode=mode)
    begins = op.Mod(op.Cast(axes, to=7), [rank])
    places = op.Concat(begins, op.Add(begins, [rank]), axis=0)
    return op.again(data, op.ScatterElements([0] * (2 * rank), places, pads), constant_value, mode=mode)


@downgrades("Pad", 19, 18)
def pad_19_to_18(
    op: Downgrade, data: Value, pads: Value, constant_value: Value | None, axes: Value | None, *, mode: str
) -> Any:
    """Before 19 nothing wraps: elements are taken by their index, modulo the axis' length."""
    if mode != "wrap":
        return op.again(data, pads, constant_value, axes, mode=mode)
    along = range(op.rank(data)) if axes is None else [int(axis) for axis in op.need(axes, "axes")]
    amounts = op.known(pads)
    for place, axis in enumerate(along):
        if amounts is not None and not (amounts[place] or amounts[place + len(along)]):
            continue
        length = op.Gather(op.Shape(data), op.const(axis))
        before, after = (op.Gather(pads, op.const(place + side)) for side in (0, len(along)))
        index = op.Range(op.Neg(before), op.Add(length, after), op.const(1))
        data = op.Gather(data, op.Mod(index, length), axis=axis)
    return data
