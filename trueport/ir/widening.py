"""A node whose element types are not allowed is computed in a wider type, between casts that lose nothing.

Which types are allowed is said by signatures: each gives the types of every type variable (or parameter). An old
version of an operator has one signature, a runtime with several kernels for an operator has one for each.

Integers grow (int8 → int32 → int64) where the operator's result, brought back by a cast that wraps, is the one it
has in the narrow type; `Widening` in the operator's record says whether, and why. Halves become float32: each result
is rounded once, which is as exact as a half can be. A double never becomes a float32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir
from onnx.defs import OpSchema

from trueport.ir.build import Builder, known_array
from trueport.ir.insert import Inserter
from trueport.ir.provenance import MADE_BY
from trueport.ir.replace import replace_value
from trueport.ir.schemas import canonical_schema
from trueport.operators.record import Widening
from trueport.operators.table import facts_of

__all__ = ["Kernel", "Signature", "allows", "can_widen", "type_name", "widen"]

Signature = Mapping[str, frozenset[str]]
"""by type variable, or by a parameter's name: the types that are allowed, as in ``tensor(float)``"""


@dataclass(frozen=True)
class Kernel:
    """One implementation of an operator in a runtime: for which versions, and for which types."""

    domain: str
    op: str
    first: int
    last: int | None
    """None: only the version ``first`` itself is known to be meant"""
    types: Signature

    def implements(self, version: int) -> bool:
        """Whether it is for this version of the operator."""
        return version == self.first or (self.last is not None and self.first <= version <= self.last)


_D = ir.DataType

_WIDER: Mapping[ir.DataType, tuple[ir.DataType, ...]] = {
    _D.BOOL: (_D.UINT8, _D.INT32, _D.INT64, _D.FLOAT),
    _D.INT8: (_D.INT16, _D.INT32, _D.INT64, _D.FLOAT, _D.DOUBLE),
    _D.UINT8: (_D.UINT16, _D.UINT32, _D.INT32, _D.UINT64, _D.INT64, _D.FLOAT, _D.DOUBLE),
    _D.INT16: (_D.INT32, _D.INT64, _D.FLOAT, _D.DOUBLE),
    _D.UINT16: (_D.UINT32, _D.INT32, _D.UINT64, _D.INT64, _D.FLOAT, _D.DOUBLE),
    _D.INT32: (_D.INT64, _D.DOUBLE),
    _D.UINT32: (_D.UINT64, _D.INT64, _D.DOUBLE),
    _D.UINT64: (_D.INT64,),
    _D.FLOAT16: (_D.FLOAT, _D.DOUBLE),
    _D.BFLOAT16: (_D.FLOAT, _D.DOUBLE),
}
"""From each type the ones that hold all its numbers, nearest first.

int64 holds those of uint64 by wrapping, moved by half the range where their order counts.
"""
_HALVES = frozenset({_D.FLOAT16, _D.BFLOAT16})
_FLOATS = frozenset({_D.FLOAT, _D.DOUBLE})
_NUMBERS = frozenset(_WIDER) | _FLOATS | {_D.INT64}

_NOT_IN_FLOATS = frozenset({Widening.WRAPS, Widening.DIVIDES})
"""A float does not wrap, and its quotient is not cut to an integer."""
_NOT_OF_UINT64 = frozenset({Widening.BY_ZERO, Widening.DIVIDES})
"""int64 holds uint64 by wrapping: half of the numbers are below 0, and quotients differ."""
_HALF_RANGE = np.array(np.iinfo(np.int64).min)
_SMALL = 1024
"""Elements up to which a constant is stored in the wider type; a larger one is cast when the model is loaded."""


@dataclass(frozen=True)
class _Slot:
    """One actual input or output of a node, and what the schema says of it."""

    value: ir.Value
    variable: str
    parameter: str
    is_output: bool


def allows(node: ir.Node, schema: OpSchema, signature: Signature) -> bool:
    """Whether all types of a node, as far as they are known, are in the signature."""
    return not _offending(list(_slots(node, schema)), signature)


def widen(node: ir.Node, schema: OpSchema, signatures: Sequence[Signature], shop: Builder) -> list[ir.Node] | None:
    """Replace a node by one between casts that fits a signature; the new nodes, None if there is no exact way."""
    slots = list(_slots(node, schema))
    plan = _cheapest(node, slots, signatures)
    return None if plan is None else _apply(node, slots, plan, shop)


def can_widen(node: ir.Node, schema: OpSchema, signatures: Sequence[Signature]) -> bool:
    """Whether there is an exact way."""
    return _cheapest(node, list(_slots(node, schema)), signatures) is not None


def type_name(value: ir.Value) -> str | None:
    """``tensor(float)``, as schemas and kernels write it."""
    return None if value.type is None else _type_name(value.type)


def _type_name(kind: ir.TypeProtocol) -> str:
    if isinstance(kind, ir.TensorType):
        return f"tensor({kind.dtype.name.lower()})"
    if isinstance(kind, ir.SparseTensorType):
        return f"sparse_tensor({kind.dtype.name.lower()})"
    word = "seq" if isinstance(kind, ir.SequenceType) else "optional"
    assert isinstance(kind, (ir.SequenceType, ir.OptionalType))
    return f"{word}({_type_name(kind.elem_type)})"


def _slots(node: ir.Node, schema: OpSchema) -> Iterator[_Slot]:
    for is_output, values, formal in ((False, node.inputs, schema.inputs), (True, node.outputs, schema.outputs)):
        for index, value in enumerate(values):
            if value is not None and formal and (value.name or not is_output):
                parameter = formal[min(index, len(formal) - 1)]
                yield _Slot(value, parameter.type_str, parameter.name, is_output)


def _offending(slots: Sequence[_Slot], signature: Signature) -> list[_Slot]:
    found = []
    for slot in slots:
        name = type_name(slot.value)
        for key in {slot.variable, slot.parameter}:
            if name is not None and key in signature and name not in signature[key]:
                found.append(slot)
    return found


_Plan = dict[str, tuple[ir.DataType, ir.DataType]]
"""by type variable: the type it has and the one it gets"""


def _cheapest(node: ir.Node, slots: Sequence[_Slot], signatures: Sequence[Signature]) -> _Plan | None:
    plans = [plan for signature in signatures if (plan := _plan(node, slots, signature)) is not None]
    steps = [sum(_WIDER[narrow].index(wider) + 1 for narrow, wider in plan.values()) for plan in plans]
    return plans[steps.index(min(steps))] if plans else None


def _plan(node: ir.Node, slots: Sequence[_Slot], signature: Signature) -> _Plan | None:
    if any(attribute.type == ir.AttributeType.GRAPH for attribute in node.attributes.values()):
        return None
    plan: _Plan = {}
    for variable in {slot.variable for slot in _offending(slots, signature)}:
        held = [slot for slot in slots if slot.variable == variable]
        keys = {key for slot in held for key in (slot.variable, slot.parameter) if key in signature}
        found = _common(node, held, frozenset.intersection(*(signature[key] for key in keys)))
        if found is None:
            return None
        plan[variable] = found
    return plan


def _common(node: ir.Node, held: Sequence[_Slot], allowed: frozenset[str]) -> tuple[ir.DataType, ir.DataType] | None:
    """The type a variable has and the one it gets; some values may have that already, in versions that allow it."""
    types = {slot.value.dtype for slot in held if slot.value.dtype is not None}
    if not types or types - _NUMBERS or any(not isinstance(slot.value.type, ir.TensorType) for slot in held):
        return None
    narrow = min(types, key=lambda dtype: dtype.bitwidth)
    for wider in _WIDER.get(narrow, ()):
        if f"tensor({wider.name.lower()})" in allowed and types <= {narrow, wider} and _exact(node, narrow, wider):
            return narrow, wider
    return None


def _exact(node: ir.Node, narrow: ir.DataType, wider: ir.DataType) -> bool:
    widening = facts_of(node).widening
    if narrow in _HALVES:
        return widening.is_exact_for_halves
    if widening is Widening.NEAREST:
        return _mode(node) == "nearest"
    if widening is Widening.NOT_INTEGERS or not widening.is_exact_for_halves:
        return False
    if wider in _FLOATS:
        return widening not in _NOT_IN_FLOATS
    return narrow != _D.UINT64 or widening not in _NOT_OF_UINT64


def _mode(node: ir.Node) -> str:
    given, schema = node.attributes.get("mode"), canonical_schema(node.op_type, node.domain)
    if given is not None:
        return given.as_string()
    return schema.attributes["mode"].default_value.s.decode() if schema is not None else ""


def _apply(node: ir.Node, slots: Sequence[_Slot], plan: _Plan, shop: Builder) -> list[ir.Node]:
    op = Inserter(shop, node)
    op.metadata[MADE_BY] = "widening"
    variables = iter([slot.variable for slot in slots])
    for index, value in enumerate(node.inputs):
        if value is not None and (variable := next(variables)) in plan and value.dtype == plan[variable][0]:
            node.replace_input_with(index, _cast(op, value, plan[variable][1]))
    made = list(op.made)
    for slot in slots:
        if slot.is_output and slot.variable in plan and slot.value.dtype == plan[slot.variable][0]:
            made.append(_cast_back(op, slot.value, plan[slot.variable][1]))
    return made


def _cast(op: Inserter, value: ir.Value, to: ir.DataType) -> ir.Value:
    array = known_array(value)
    made: ir.Value
    if array is not None and array.size <= _SMALL:
        made = op.const(array.astype(to.numpy()), value.name or "const")
    else:
        made = op.Cast(value, to=to.value)
    return op.Add(made, _HALF_RANGE) if _is_moved(op.node, value.dtype) else made


def _is_moved(node: ir.Node, narrow: ir.DataType | None) -> bool:
    return narrow == _D.UINT64 and facts_of(node).widening is Widening.ORDERED


def _cast_back(op: Inserter, value: ir.Value, wider: ir.DataType) -> ir.Node:
    """The node now makes the wider type, and a cast after it makes what it made before."""
    narrow = value.dtype
    assert narrow is not None
    result = ir.Value(type=value.type, shape=value.shape)
    name = value.name or "value"
    replace_value(value, result)
    value.name = op.fresh(f"{name}.{wider.name.lower()}")
    value.type = ir.TensorType(wider)
    _declare(op.node, wider)
    attributes = [ir.AttrInt64("to", narrow.value)]
    cast = ir.Node(
        "", "Cast", [value], attributes, outputs=[result], name=op.fresh("Cast"), metadata_props=dict(op.metadata)
    )
    op.graph.insert_after(op.node, cast)
    if _is_moved(op.node, narrow):
        back = Inserter(op, cast)
        cast.replace_input_with(0, back.Sub(value, _HALF_RANGE))
    return cast


def _declare(node: ir.Node, dtype: ir.DataType) -> None:
    """Where an attribute gives the type of the result."""
    if attribute := facts_of(node).type_attribute:
        node.attributes[attribute] = ir.AttrInt64(attribute, dtype.value)
    elif node.op_type == "ConstantOfShape" and "value" in node.attributes:
        array = node.attributes["value"].as_tensor().numpy()
        node.attributes["value"] = ir.AttrTensor("value", ir.tensor(array.astype(dtype.numpy())))
