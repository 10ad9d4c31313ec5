"""The node and another one after it: applied twice, or followed by an operator that the source does not have."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx.defs import OpSchema

from trueport.ir.schemas import canonical_schema, operators
from trueport.operators.record import Kind, Randomness
from trueport.operators.table import facts
from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.causes.hypothesis import OPERATOR, among, as_node, copied, hypothesis, instead, likelihood

__all__ = ["appended_operators", "applied_twice"]


def applied_twice(case: NodeCase) -> Iterator[Hypothesis]:
    """The node applied to its own result."""
    first = case.inputs[0] if case.inputs else None
    if isinstance(first, np.ndarray) and case.alone is not None and np.shape(case.truth) == np.shape(case.target):
        words = f"{case.node.op_type} is applied twice"
        yield hypothesis(case, "operator", words, _twice, OPERATOR - 2)


def _twice(case: NodeCase) -> Any:
    made = _own_result(case)
    if np.shape(made) != np.shape(case.inputs[0]):
        raise ValueError("its result does not have the shape of what goes in")
    return instead(case, _own_result(case, made))


def appended_operators(case: NodeCase) -> Iterator[Hypothesis]:
    """An element-wise operator behind the node."""
    if case.alone is None or np.shape(case.truth) != np.shape(case.target):
        return
    kind = np.asarray(case.target).dtype
    names = [name for domain, name in operators() if not domain and _is_unary(name, kind)]
    for name in names:
        words = f"{name} is appended: it is applied to the result of {case.node.op_type}"
        bits = OPERATOR + 2 + among(len(names)) / 2 + likelihood(case, name)
        yield hypothesis(case, "operator", words, functools.partial(_followed, op=name), bits)


def _is_unary(name: str, kind: np.dtype) -> bool:
    schema, known = canonical_schema(name), facts(name)
    if schema is None or schema.deprecated or known.kind is not Kind.ELEMENTWISE:
        return False
    if schema.min_input != 1 or known.random is not Randomness.NEVER or _is_still(schema):
        return False
    try:
        spelled = ir.DataType.from_numpy(kind).name.lower()
    except (TypeError, KeyError):
        return False
    return f"tensor({spelled})" in schema.outputs[0].types


def _is_still(schema: OpSchema) -> bool:
    """Whether it needs attributes, or more than one operand to do anything."""
    return any(attribute.required for attribute in schema.attributes.values())


def _followed(case: NodeCase, op: str) -> Any:
    assert case.alone is not None, "asked before"
    return instead(case, case.alone(as_node(op), [_own_result(case)])[0])


def _own_result(case: NodeCase, first: Any = None) -> Any:
    """Return what the node gives by itself; ``first`` in the place of its first input."""
    assert case.alone is not None, "asked before"
    names = [value.name for value in case.node.outputs]
    inputs = case.inputs if first is None else (first, *case.inputs[1:])
    return case.alone(copied(case.node, {}), list(inputs))[names.index(case.output)]
