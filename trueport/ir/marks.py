"""What a value stands for, where several nodes make what the source has as one operator; which weights are trained."""

from __future__ import annotations

from collections.abc import Iterable

import onnx_ir as ir

from trueport.ir.layouts import held_names

__all__ = [
    "borders_are_open",
    "ignores_nan",
    "is_trained",
    "mark",
    "mark_borders_open",
    "mark_nan_ignored",
    "mark_order_open",
    "mark_trained",
    "marked",
    "order_is_open",
]

_MARK = "trueport.stands_for"
_TRAINED = "trueport.trained"
"""A property of the model: the names of the weights that training changes. Without it all floats are."""
_NAN_IGNORED = "trueport.nan_ignored"
"""A property of a node: what it makes of NaN does not matter, because other nodes see to it."""
_OPEN_BORDERS = "trueport.open_borders"
"""A property of a node that decides: what lies on a border, to the last bit, goes either way in the source."""
_OPEN_ORDER = "trueport.open_order"
"""A property of a TopK that sorts, where the source does not say in which order it gives the elements."""


def mark(value: ir.Value, operator: str, operand: ir.Value) -> ir.Value:
    """Note that the value is this function of the operand."""
    value.meta[_MARK] = operator, operand
    return value


def marked(value: ir.Value, operator: str) -> ir.Value | None:
    """The operand of which the value is noted to be this function."""
    found, operand = value.meta.get(_MARK, ("", None))
    return operand if found == operator else None


def mark_trained(model: ir.Model, names: Iterable[str]) -> None:
    """Say which initializers are weights; all others are numbers that stay as they are."""
    model.metadata_props[_TRAINED] = "\n".join(names)


def is_trained(model: ir.Model, value: ir.Value) -> bool:
    """Whether training changes an initializer, under this name or the one it had before a pass turned it."""
    named = model.metadata_props.get(_TRAINED)
    return named is None or not {value.name, *held_names(value)}.isdisjoint(named.split("\n"))


def mark_borders_open(value: ir.Value) -> ir.Value:
    """Say of the node that makes the value: on a border the source's own rounding decides, not a rule."""
    return _with_marked_maker(value, _OPEN_BORDERS)


def borders_are_open(node: ir.Node) -> bool:
    """Whether nothing can be learned from what the node does on a border."""
    return _OPEN_BORDERS in node.metadata_props


def mark_order_open(value: ir.Value) -> ir.Value:
    """Say of the node that makes the value: the source gives the same elements, in an order that it leaves open."""
    return _with_marked_maker(value, _OPEN_ORDER)


def order_is_open(node: ir.Node) -> bool:
    """True for a TopK of which the source says nothing about the order of its results."""
    if node.op_type != "TopK" or node.domain:
        return False
    ordered = node.attributes.get("sorted")
    return _OPEN_ORDER in node.metadata_props or (ordered is not None and not ordered.as_int())


def mark_nan_ignored(value: ir.Value) -> ir.Value:
    """Say of the node that makes the value: whatever it makes of NaN, the result around it is the same."""
    return _with_marked_maker(value, _NAN_IGNORED)


def ignores_nan(node: ir.Node) -> bool:
    """Whether it does not matter what the node makes of NaN."""
    return _NAN_IGNORED in node.metadata_props


def _with_marked_maker(value: ir.Value, key: str) -> ir.Value:
    maker = value.producer()
    assert maker is not None
    maker.metadata_props[key] = "yes"
    return value
