"""Operators on shapes: parameters that were attributes, and defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
from onnx_ir import Value

from trueport.errors import InvalidModel
from trueport.ir.places import place
from trueport.passes.upgrade.adapt import AdapterBuilder, upgrades

__all__: list[str] = []


@upgrades("Reshape", 1, 5)
def reshape_1_to_5(
    op: AdapterBuilder, data: Value, *, shape: list[int] | None, consumed_inputs: list[int] | None
) -> Any:
    """The shape became an input."""
    if shape is None:
        raise InvalidModel("Reshape needs shape", where=place(op.node))
    return op.again(data, op.const(shape, np.int64))


@upgrades("Concat", 1, 4)
def concat_1_to_4(op: AdapterBuilder, *inputs: Value, axis: int | None) -> Any:
    """Before 4 the axis was 1 unless given."""
    return op.again(*inputs, axis=1 if axis is None else axis)


@upgrades("Pad", 1, 2)
def pad_1_to_2(op: AdapterBuilder, data: Value, *, paddings: list[int], mode: str, value: float) -> Any:
    """The attribute was renamed."""
    return op.again(data, pads=paddings, mode=mode, value=value)


@upgrades("Pad", 2, 11)
def pad_2_to_11(op: AdapterBuilder, data: Value, *, pads: list[int], mode: str, value: float) -> Any:
    """Pads and value became inputs."""
    return op.again(data, op.const(pads, np.int64), op.like(value, data), mode=mode)


@upgrades("Slice", 1, 10)
def slice_1_to_10(
    op: AdapterBuilder, data: Value, *, starts: list[int], ends: list[int], axes: list[int] | None
) -> Any:
    """All became inputs. Without axes the first ones were meant, since 10 all."""
    along = list(range(len(starts))) if axes is None else axes
    return op.again(data, *(op.const(values, np.int64) for values in (starts, ends, along)))


@upgrades("Split", 1, 2)
def split_1_to_2(
    op: AdapterBuilder, input: Value, split: Value | None, /, *, axis: int | None, **attributes: list[int] | None
) -> Any:
    """The lengths could be an input of the data's own type, or an attribute (which has the input's name)."""
    if split is None:
        return op.again(input, axis=axis, **attributes)
    return op.at(13).again(input, op.Cast(split, to=ir.DataType.INT64.value), axis=axis or 0)


@upgrades("Split", 11, 13)
def split_11_to_13(op: AdapterBuilder, input: Value, *, axis: int, split: list[int] | None) -> Any:
    """The lengths became an input."""
    return op.again(input, None if split is None else op.const(split, np.int64), axis=axis)


@upgrades("Split", 13, 18)
def split_13_to_18(op: AdapterBuilder, input: Value, split: Value | None, *, axis: int) -> Any:
    """Equal parts are asked for by their number."""
    return op.again(input, split, axis=axis, num_outputs=None if split else len(op.node.outputs))


@upgrades("Squeeze", 11, 13)
@upgrades("Unsqueeze", 11, 13)
def axes_as_input(op: AdapterBuilder, data: Value, *, axes: list[int] | None) -> Any:
    """The axes became an input."""
    return op.again(data, None if axes is None else op.const(axes, np.int64))


@upgrades("Tile", 1, 6)
def tile_1_to_6(op: AdapterBuilder, input: Value, tiles: Value, axis: Value) -> Any:
    """Before 6 one axis was repeated; its number and the count came as the data's type."""
    new = op.at(13)

    def whole(value: Value) -> Value:
        return new.Reshape(new.Cast(value, to=ir.DataType.INT64.value), op.const([-1]))

    ones = new.ConstantOfShape(op.rank(input), value=ir.tensor(np.array([1])))
    return op.again(input, new.ScatterElements(ones, whole(axis), whole(tiles)))
