"""Sizes that are computed while the model runs, known as a multiple of a dim plus a number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import onnx_ir as ir

from trueport.ir.build import known_array
from trueport.operators.record import Trait
from trueport.operators.table import facts_of

__all__ = ["Affine", "element_of"]


@dataclass(frozen=True)
class Affine:
    """``factor · dim + offset``, the dim being that of ``data`` at ``axis``; a number alone has no factor."""

    data: ir.Value | None
    axis: int
    factor: int
    offset: int

    def scaled(self, number: int) -> Affine:
        return Affine(self.data, self.axis, self.factor * number, self.offset * number)

    def moved(self, number: int) -> Affine:
        return Affine(self.data, self.axis, self.factor, self.offset + number)


def element_of(vector: ir.Value, index: int) -> Affine | None:
    """An element of a vector that was put together from single numbers."""
    while (producer := vector.producer()) is not None and producer.op_type in ("Cast", "Identity"):
        source = producer.inputs[0]
        assert source is not None
        vector = source
    parts = producer.inputs if producer is not None and producer.op_type == "Concat" else ()
    if index >= len(parts) or any(part is None or part.shape != ir.Shape([1]) for part in parts):
        return None
    part = parts[index]
    return _affine(part) if part is not None else None


def _affine(value: ir.Value) -> Affine | None:
    known = known_array(value)
    if known is not None:
        return Affine(None, 0, 0, int(known.ravel()[0])) if known.size == 1 else None
    node = value.producer()
    if node is None or node.domain or node.inputs[0] is None:
        return None
    if facts_of(node).has(Trait.SAME_NUMBERS):
        return _affine(node.inputs[0])
    if node.op_type in _ARITHMETIC:
        return _computed(node)
    return _dim(node)


def _computed(node: ir.Node) -> Affine | None:
    first, second = (_affine(operand) if operand is not None else None for operand in node.inputs)
    if first is None or second is None:
        return None
    if second.factor and not first.factor and node.op_type != "Sub":
        first, second = second, first
    return None if second.factor else _ARITHMETIC[node.op_type](first, second.offset)


_ARITHMETIC: dict[str, Callable[[Affine, int], Affine]] = {
    "Add": Affine.moved,
    "Sub": lambda value, number: value.moved(-number),
    "Mul": Affine.scaled,
}


def _dim(node: ir.Node) -> Affine | None:
    """One dim of a shape, taken by its place or by a range."""
    if node.op_type == "Shape" and "start" in node.attributes and node.inputs[0] is not None:
        return Affine(node.inputs[0], node.attributes["start"].as_int(), 1, 0)
    place = known_array(node.inputs[1]) if node.op_type == "Gather" else None
    shape = node.inputs[0]
    source = shape.producer() if shape is not None and place is not None and place.size == 1 else None
    while source is not None and source.op_type == "Cast":
        source = source.inputs[0].producer() if source.inputs[0] is not None else None
    if source is None or place is None or source.op_type != "Shape" or source.attributes:
        return None
    return Affine(source.inputs[0], int(place.ravel()[0]), 1, 0)
