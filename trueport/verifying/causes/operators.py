"""Another operator in the node's place: skipped, or any other operator of ONNX whose schema takes the same inputs."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx.defs import OpSchema

from trueport.ir.schemas import canonical_schema, operators
from trueport.operators.record import Kind, Randomness
from trueport.operators.table import facts
from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.causes.attributes import bound_attributes
from trueport.verifying.causes.documented import choices
from trueport.verifying.causes.hypothesis import (
    NUMBER,
    OPERATOR,
    among,
    as_operator,
    hypothesis,
    instead,
    likelihood,
    pause,
    text,
)
from trueport.verifying.causes.solving import decimals, is_overdetermined, solve

__all__ = ["fitted_operators", "other_operators", "passed_through"]

_LEFT_OUT = frozenset(
    {Kind.CONTROL, Kind.CONTAINER, Kind.RANDOM, Kind.TRAINING, Kind.CLASSIC, Kind.TEXT, Kind.CUSTOM, Kind.LOSS}
)
_ELEMENTWISE = frozenset({Kind.ELEMENTWISE, Kind.COMPARISON})
_NEAR, _FAR = 1.0, 6.0
"""Bits that say that an operator is one of those that are easily taken for another, or that it is not."""


def other_operators(case: NodeCase) -> Iterator[Hypothesis]:
    """What other operators would give on the same inputs, with the attributes that both have."""
    listed = list(_fitting(case))
    for schema, count, bits in listed:
        for attributes in _attributes(case, schema):
            given = ", ".join(f"{name} = {text(value)}" for name, value in attributes.items())
            shown = f"{schema.name} with {given}" if given and _is_new(case, attributes) else schema.name
            words = f"it behaves as {shown}, the source has {case.node.op_type}"
            on = as_operator(schema.name, attributes, count=count)
            yield hypothesis(case, "operator", words, on, bits + 0.1 * len(attributes))


def _is_new(case: NodeCase, attributes: Mapping[str, Any]) -> bool:
    has = bound_attributes(case)
    return any(has.get(name) != value for name, value in attributes.items())


def _fitting(case: NodeCase) -> list[tuple[OpSchema, int, float]]:
    """Operators that take the node's inputs, or the first of them, with the bits that name each."""
    present = [array for array in case.inputs if array is not None]
    group = facts(case.node.op_type, case.node.domain).confusable
    kind = facts(case.node.op_type, case.node.domain).kind
    found = []
    for domain, name in operators():
        if domain or name == case.node.op_type:
            continue
        known = facts(name)
        if known.kind in _LEFT_OUT or known.random is not Randomness.NEVER:
            continue
        schema = canonical_schema(name)
        near = known.confusable is not None and known.confusable is group
        for count in range(len(present), 0, -1):
            if schema is not None and _takes(schema, case, present[:count]):
                alike = known.kind is kind or {known.kind, kind} <= _ELEMENTWISE
                bits = OPERATOR + (_NEAR if near else 3.0 if alike else _FAR) + 2.0 * (len(present) - count)
                bits += likelihood(case, name)
                found.append((schema, count, bits))
                break
    return sorted(found, key=lambda item: (item[2], item[0].name))


def _takes(schema: OpSchema, case: NodeCase, arrays: Sequence[Any]) -> bool:
    if not schema.min_input <= len(arrays) <= schema.max_input or schema.min_output > 1 or not schema.outputs:
        return False
    values = [value for value in case.node.inputs if value is not None]
    for index, value in enumerate(values[: len(arrays)]):
        formal = schema.inputs[min(index, len(schema.inputs) - 1)]
        if value.dtype is not None and _named(value.dtype) not in formal.types:
            return False
    kind = np.asarray(case.target).dtype
    try:
        return _named(ir.DataType.from_numpy(kind)) in schema.outputs[0].types
    except (TypeError, KeyError):
        return False


def _named(kind: ir.DataType) -> str:
    spelled = {"FLOAT": "float"}
    return f"tensor({spelled.get(kind.name, kind.name.lower())})"


def _attributes(case: NodeCase, schema: OpSchema) -> Iterator[dict[str, Any]]:
    """The attributes that both operators have, as the node has them; then the words that the other one documents."""
    has = {name: value for name, value in bound_attributes(case).items() if value is not None}
    shared = {name: value for name, value in has.items() if name in schema.attributes}
    if any(attribute.required and name not in shared for name, attribute in schema.attributes.items()):
        return
    yield shared
    for name, attribute in schema.attributes.items():
        if attribute.type == onnx.defs.OpSchema.AttrType.STRING and name not in shared:
            yield from ({**shared, name: word} for word in choices(schema.name, schema.domain, name)[:6])


def fitted_operators(case: NodeCase) -> Iterator[Hypothesis]:
    """Element-wise operators with a number of their own, which is solved for."""
    yield pause(OPERATOR + NUMBER)
    if np.asarray(case.target).dtype.kind != "f" or not is_overdetermined(case, 1):
        return
    for schema, count, bits in _fitting(case):
        numbers = [name for name, attribute in schema.attributes.items() if attribute.type == OpSchema.AttrType.FLOAT]
        if facts(schema.name).kind is not Kind.ELEMENTWISE:
            continue
        for name in numbers:
            predict = functools.partial(_with_number, case, schema.name, count, name)
            found = solve(case, predict, [[0.01], [0.1], [0.5], [1.0]])
            for value in decimals(found[0]) if found else ():
                words = f"it behaves as {schema.name} with {name} = {text(value)}, the source has {case.node.op_type}"
                on = as_operator(schema.name, {name: value}, count=count)
                yield hypothesis(case, "operator", words, on, bits + NUMBER)


def _with_number(case: NodeCase, op: str, count: int, name: str, numbers: Sequence[float]) -> Any:
    return as_operator(op, {name: float(numbers[0])}, count=count)(case)


def passed_through(case: NodeCase) -> Iterator[Hypothesis]:
    """The node does nothing: one of its inputs is its result."""
    for index, array in enumerate(case.inputs):
        if isinstance(array, np.ndarray):
            words = f"the node is skipped: input {index} passes through"
            on = functools.partial(_input, index=index)
            yield hypothesis(case, "operator", words, on, OPERATOR - 4 + among(index + 1))


def _input(case: NodeCase, index: int) -> Any:
    return instead(case, case.inputs[index])
