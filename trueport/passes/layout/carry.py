"""Rules for operators that work on each element alone, or along axes that an attribute or an input names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import onnx_ir as ir

from trueport.ir.layouts import Perm, channels_last, inverse, lift
from trueport.passes.layout.plan import (
    Edit,
    Form,
    Plan,
    broadcast_form,
    constant_ints,
    dims_of,
    int_attribute,
    padded,
    rank_of,
)
from trueport.passes.layout.workshop import Workshop

__all__ = [
    "Along",
    "AlongInput",
    "Channels",
    "Elementwise",
    "Gathered",
    "Inserted",
    "PerAxis",
    "Quantized",
    "Reduced",
    "ShapeOnly",
    "Sliced",
    "Squeezed",
]


@dataclass(frozen=True)
class Elementwise:
    """All data inputs broadcast together; ``operands`` limits them to the first ones."""

    operands: int | None = None
    results: int | None = None
    """outputs beyond these don't have the data's shape"""

    def of_input(self, node: ir.Node, index: int, perm: Perm) -> Plan | None:
        rank = self._rank(node)
        return None if rank is None or index >= self._count(node) else self.of_output(node, lift(perm, rank))

    def of_output(self, node: ir.Node, perm: Perm) -> Plan | None:
        if self._rank(node) != len(perm):
            return None
        operands = [broadcast_form(value, perm) for value in node.inputs[: self._count(node)]]
        made: list[Form] = [perm] * len(node.outputs[: self.results])
        return Plan(padded(operands, len(node.inputs)), padded(made, len(node.outputs)))

    def _count(self, node: ir.Node) -> int:
        return len(node.inputs) if self.operands is None else self.operands

    def _rank(self, node: ir.Node) -> int | None:
        given = [value for value in node.inputs[: self._count(node)] if value is not None]
        ranks = [rank_of(value) for value in given]
        known = [rank for rank in ranks if rank is not None]
        return max(known) if known and len(known) == len(ranks) else None


@dataclass(frozen=True)
class Along:
    """Works along the one axis that an attribute names; the first ``operands`` inputs have the data's rank."""

    default: int = 0
    operands: int | None = 1
    keeps: bool = True
    """False: the operator has a ``keepdims`` attribute, and without it the axis goes"""

    def of_input(self, node: ir.Node, index: int, perm: Perm) -> Plan | None:
        count = len(node.inputs) if self.operands is None else self.operands
        data = node.inputs[:count]
        if index >= count or any(rank_of(value) != len(perm) for value in data):
            return None
        axis = int_attribute(node, "axis", self.default) % len(perm)
        edit = _set_attribute("axis", perm.index(axis))
        drops = [axis] if not self.keeps and not int_attribute(node, "keepdims", 1) else []
        made = without(perm, drops)
        return Plan(padded([perm] * len(data), len(node.inputs)), (made,) * len(node.outputs), edit)

    def of_output(self, node: ir.Node, perm: Perm) -> Plan | None:
        return _when_rank_stays(self, node, perm)


@dataclass(frozen=True)
class AlongInput:
    """Works along the one axis that a constant input names."""

    index: int

    def of_input(self, node: ir.Node, index: int, perm: Perm) -> Plan | None:
        axis = constant_ints(node, self.index)
        if index or not axis:
            return None
        place = perm.index(axis[0] % len(perm))

        def edit(node: ir.Node, shop: Workshop) -> None:
            assert isinstance(node.graph, ir.Graph)
            old = node.inputs[self.index]
            assert old is not None and old.const_value is not None
            array = old.const_value.numpy().copy()
            array[...] = place
            shop.set_input(node, self.index, shop.constant(node.graph, f"{node.outputs[0].name}.axis", array))

        return Plan(padded([perm], len(node.inputs)), (perm,) * len(node.outputs), edit)

    def of_output(self, node: ir.Node, perm: Perm) -> Plan | None:
        return _when_rank_stays(self, node, perm)


@dataclass(frozen=True)
class Reduced:
    """Reduces the axes in input 1 (all when it is absent or empty)."""

    def of_input(self, node: ir.Node, index: int, perm: Perm) -> Plan | None:
        given = node.inputs[1] if len(node.inputs) > 1 else None
        axes = () if given is None else constant_ints(node, 1)
        if index or axes is None:
            return None
        idle = bool(int_attribute(node, "noop_with_empty_axes", 0))
        axes = tuple(axis % len(perm) for axis in axes) or (() if idle else tuple(range(len(perm))))
        gone = () if int_attribute(node, "keepdims", 1) else axes
        places = sorted(perm.index(axis) for axis in axes)
        edit = _set_ints(1, "axes", places) if places else None
        return Plan(padded([perm], len(node.inputs)), (without(perm, gone),), edit)

    def of_output(self, node: ir.Node, perm: Perm) -> Plan | None:
        return _when_rank_stays(self, node, perm)


@dataclass(frozen=True)
class Squeezed:
    """Drops the unit axes in input 1 (all unit axes when it is absent)."""

    def of_input(self, node: ir.Node, index: int, perm: Perm) -> Plan | None:
        axes = constant_ints(node, 1)
        if axes is None:
            dims = dims_of(node.inputs[0]) if node.inputs[0] is not None else ()
            if len(node.inputs) > 1 or any(not isinstance(dim, int) for dim in dims):
                return None
            axes = tuple(axis for axis, dim in enumerate(dims) if dim == 1)
        axes = tuple(axis % len(perm) for axis in axes)
        edit = _set_ints(1, "axes", sorted(perm.index(axis) for axis in axes))
        return Plan((perm, *(None,) * (len(node.inputs) - 1)), (without(perm, axes),), edit)

    def of_output(self, node: ir.Node, perm: Perm) -> Plan | None:
        return None


@dataclass(frozen=True)
class Inserted:
    """Adds the unit axes in input 1; they may stand anywhere, so an order that is wanted comes for nothing."""

    def of_input(self, node: ir.Node, index: int, perm: Perm) -> Plan | None:
        axes = constant_ints(node, 1)
        if index or axes is None:
            return None
        rank = len(perm) + len(axes)
        new = {axis % rank for axis in axes}
        kept = [axis for axis in range(rank) if axis not in new]
        order = [kept[axis] for axis in perm]
        for axis in sorted(new):
            order.insert(axis, axis)
        return self.of_output(node, tuple(order))

    def of_output(self, node: ir.Node, perm: Perm) -> Plan | None:
        axes = constant_ints(node, 1)
        if axes is None:
            return None
        new = {axis % len(perm) for axis in axes}
        edit = _set_ints(1, "axes", sorted(perm.index(axis) for axis in new))
        return Plan((without(perm, new), None), (perm,), edit)


@dataclass(frozen=True)
class Sliced:
    """Slice: starts, ends, axes, steps; axes that are not given are the first ones."""

    def of_input(self, node: ir.Node, index: int, perm: Perm) -> Plan | None:
        axes = constant_ints(node, 3)
        if axes is None:
            starts = node.inputs[1]
            if (len(node.inputs) > 3 and node.inputs[3] is not None) or starts is None or starts.shape is None:
                return None
            count = starts.shape[0]
            if not isinstance(count, int):
                return None
            axes = tuple(range(count))
        if index:
            return None
        edit = _set_ints(3, "axes", [perm.index(axis % len(perm)) for axis in axes], like=1)
        return Plan(padded([perm], len(node.inputs)), (perm,), edit)

    def of_output(self, node: ir.Node, perm: Perm) -> Plan | None:
        return _when_rank_stays(self, node, perm)


@dataclass(frozen=True)
class PerAxis:
    """Parameters that hold one element per axis, once (scales) or twice (pads); or only for ``axes``, if given."""

    blocks: Mapping[int, int]
    """how many elements per axis the parameter at an input index holds"""
    axes_input: int | None = None
    axes_attribute: str | None = None

    def of_input(self, node: ir.Node, index: int, perm: Perm) -> Plan | None:
        if index:
            return None
        plan = padded([perm], len(node.inputs)), (perm,) * len(node.outputs)
        if self.axes_attribute and self.axes_attribute in node.attributes:
            axes = node.attributes[self.axes_attribute].as_ints()
            return Plan(*plan, _set_attribute(self.axes_attribute, [perm.index(a % len(perm)) for a in axes]))
        if self.axes_input and len(node.inputs) > self.axes_input and node.inputs[self.axes_input] is not None:
            given = constant_ints(node, self.axes_input)
            if given is None:
                return None
            return Plan(*plan, _set_ints(self.axes_input, "axes", [perm.index(a % len(perm)) for a in given]))

        def edit(node: ir.Node, shop: Workshop) -> None:
            for place, blocks in self.blocks.items():
                value = node.inputs[place] if place < len(node.inputs) else None
                if value is None or (value.shape is not None and value.shape.dims == (0,)):
                    continue
                places = [block * len(perm) + axis for block in range(blocks) for axis in perm]
                shop.take(node, place, f"parameter{place}", places)

        return Plan(*plan, edit)

    def of_output(self, node: ir.Node, perm: Perm) -> Plan | None:
        return _when_rank_stays(self, node, perm)


@dataclass(frozen=True)
class Gathered:
    """Gather: the axis of the data is replaced by the axes of the indices."""

    def of_input(self, node: ir.Node, index: int, perm: Perm) -> Plan | None:
        added = rank_of(node.inputs[1])
        if index or added is None:
            return None
        axis = int_attribute(node, "axis", 0) % len(perm)
        made: list[int] = []
        for old in perm:
            made += range(axis, axis + added) if old == axis else [old if old < axis else old + added - 1]
        return Plan((perm, None), (tuple(made),), _set_attribute("axis", perm.index(axis)))

    def of_output(self, node: ir.Node, perm: Perm) -> Plan | None:
        return _when_rank_stays(self, node, perm)


@dataclass(frozen=True)
class Quantized:
    """Scales of one element, one per step along ``axis``, or one per block along it."""

    def of_input(self, node: ir.Node, index: int, perm: Perm) -> Plan | None:
        ranks = [rank_of(value) for value in node.inputs[1:] if value is not None]
        if index or len(perm) < 2 or any(rank not in (0, 1, len(perm)) for rank in ranks):
            return None
        forms = [perm if rank_of(value) == len(perm) else None for value in node.inputs]
        axis = int_attribute(node, "axis", 1) % len(perm)
        return Plan(tuple(forms), (perm,), _set_attribute("axis", perm.index(axis)))

    def of_output(self, node: ir.Node, perm: Perm) -> Plan | None:
        return _when_rank_stays(self, node, perm)


@dataclass(frozen=True)
class ShapeOnly:
    """Reads dims, not data: any order will do, and the dims are put back into the model's."""

    counts: bool = False
    """Size: their product, which has no order"""

    def of_input(self, node: ir.Node, index: int, perm: Perm) -> Plan | None:
        if self.counts:
            return Plan((perm,), (None,))
        begin = int_attribute(node, "start", 0)
        end = int_attribute(node, "end", len(perm))
        places = inverse(perm)[slice(begin, end)]

        def edit(node: ir.Node, shop: Workshop) -> None:
            data, name = node.inputs[0], f"{node.outputs[0].name}@held"
            assert data is not None and isinstance(node.graph, ir.Graph)
            held = shop.node("Shape", [data], {}, name, [len(perm)], ir.DataType.INT64, node)
            node.graph.insert_before(node, held)
            node.op_type = "Gather"
            node.attributes.clear()
            node.replace_input_with(0, held.outputs[0])
            shop.set_input(node, 1, shop.ints(node, "places", places))

        return Plan((perm,), (None,), edit)

    def of_output(self, node: ir.Node, perm: Perm) -> Plan | None:
        return None


@dataclass(frozen=True)
class Channels:
    """The operator has a channel axis of its own; the target's handler works with it last when it is told so."""

    def of_input(self, node: ir.Node, index: int, perm: Perm) -> Plan | None:
        return self.of_output(node, perm) if index == 0 else None

    def of_output(self, node: ir.Node, perm: Perm) -> Plan | None:
        rank = rank_of(node.inputs[0])
        # Indices of a pool count in the model's order: with them it stays as it is.
        indexed = any(rank_of(value) not in (None, 0, 1) and value.name for value in node.outputs[1:])
        if rank is None or not 3 <= rank <= 5 or perm != channels_last(rank) or indexed:
            return None
        return Plan(padded([perm], len(node.inputs)), padded([perm], len(node.outputs)), _mark)


def _mark(node: ir.Node, shop: Workshop) -> None:
    node.meta["channels_last"] = True


def without(perm: Perm, axes: Sequence[int] | set[int]) -> Perm:
    """The order of the axes that remain when some are dropped, numbered anew."""
    gone = set(axes)
    kept = sorted(axis for axis in perm if axis not in gone)
    number = {axis: place for place, axis in enumerate(kept)}
    return tuple(number[axis] for axis in perm if axis not in gone)


def _when_rank_stays(
    rule: Along | AlongInput | Reduced | Sliced | PerAxis | Gathered | Quantized, node: ir.Node, perm: Perm
) -> Plan | None:
    if rank_of(node.inputs[0]) != len(perm):
        return None
    plan = rule.of_input(node, 0, perm)
    return plan if plan and plan.outputs[0] == perm else None


def _set_attribute(name: str, value: int | Sequence[int]) -> Edit:
    def edit(node: ir.Node, shop: Workshop) -> None:
        node.attributes[name] = ir.AttrInt64(name, value) if isinstance(value, int) else ir.AttrInt64s(name, value)

    return edit


def _set_ints(index: int, what: str, items: Sequence[int], like: int | None = None) -> Edit:
    """Put a constant at an input; ``like`` names the input whose integer type it must share."""

    def edit(node: ir.Node, shop: Workshop) -> None:
        value = shop.ints(node, what, items)
        model = node.inputs[like] if like is not None else None
        if model is not None and model.dtype is not None and model.dtype != ir.DataType.INT64:
            value = _retyped(value, model.dtype)
        shop.set_input(node, index, value)

    return edit


def _retyped(value: ir.Value, dtype: ir.DataType) -> ir.Value:
    assert value.const_value is not None
    value.const_value = ir.tensor(value.const_value.numpy().astype(dtype.numpy()), name=value.name)
    value.type = ir.TensorType(dtype)
    return value
