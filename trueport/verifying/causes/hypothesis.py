"""One way in which a node could have been misread, what it would give, and how long it takes to say so.

The language has edits of a node (an attribute, an operand, the operator) and of its result. A description's length is
counted in bits: of the kind of edit, of the choice among its alternatives, of every number in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx.defs import OpSchema

from trueport.ir.schemas import canonical_schema
from trueport.operators.record import Kind
from trueport.operators.table import facts
from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.align.families import family
from trueport.verifying.causes.endless import has_endless_tree, with_an_end

__all__ = [
    "ATTRIBUTE",
    "NUMBER",
    "OPERAND",
    "OPERATOR",
    "PATTERN",
    "STRUCTURE",
    "Predict",
    "Rule",
    "among",
    "as_node",
    "as_operator",
    "copied",
    "formal",
    "hypothesis",
    "instead",
    "is_constant",
    "is_data",
    "likelihood",
    "own_type",
    "pause",
    "run_on",
    "text",
    "with_attributes",
    "with_operand",
    "with_operands",
]

Rule = Callable[[NodeCase], Iterator[Hypothesis]]
Predict = Callable[[NodeCase], Any]

STRUCTURE, ATTRIBUTE, OPERAND, OPERATOR, PATTERN = 1.0, 2.0, 4.0, 6.0, 12.0
"""Bits that say which kind of edit it is; a pattern of the error describes its effect, not an edit."""
_EVIDENT = 3.0
"""Bits of what a target's own operations say: it has the other operator, and also that it lacks the source's."""
NUMBER = 8.0
"""Bits of a number that is solved for."""


def among(alternatives: int) -> float:
    """Return the bits that a choice among so many alternatives takes."""
    return math.log2(max(alternatives, 1))


def hypothesis(case: NodeCase, kind: str, what: str, on: Predict, bits: float, evidence: str = "") -> Hypothesis:
    """Return a hypothesis that can be tried on other inputs as well."""
    if evidence:
        return Hypothesis(kind, what, lambda: on(case), evidence, bits=bits, on=on)
    return Hypothesis(kind, what, lambda: on(case), bits=bits, on=on)


def pause(bits: float) -> Hypothesis:
    """Return a mark in a rule's hypotheses: what comes next costs evaluations, and waits until it is its turn."""
    return Hypothesis("", "", lambda: None, bits=bits)


def with_attributes(values: Mapping[str, Any]) -> Predict:
    """Return what predicts the node with other attributes (None removes one)."""
    return lambda case: run_on(case, copied(case.node, values), case.inputs)


def with_operand(index: int, change: Callable[[Any], Any]) -> Predict:
    """Return what predicts the node with one input changed."""
    return with_operands({index: change})


def with_operands(changes: Mapping[int, Callable[[Any], Any]]) -> Predict:
    """Return what predicts the node with some inputs changed, by their positions."""

    def predict(case: NodeCase) -> Any:
        inputs = [changes[i](array) if i in changes else array for i, array in enumerate(case.inputs)]
        return run_on(case, case.node, inputs)

    return predict


def as_operator(op: str, attributes: Mapping[str, Any], domain: str = "", count: int | None = None) -> Predict:
    """Return what predicts another operator on the first ``count`` inputs; its attributes are those that are given."""

    def predict(case: NodeCase) -> Any:
        inputs = [array for array in case.inputs[:count] if array is not None]
        return case.again(_fresh(op, len(inputs), attributes, domain), inputs)[0]

    return predict


def instead(case: NodeCase, array: Any) -> Any:
    """Return what becomes of the result if the node's own result were this one."""
    return case.again(_fresh("Identity", 1, {}), [array])[0]


def as_node(op: str) -> ir.Node:
    """Return a node of an operator with one input and no attributes, outside of any graph."""
    return _fresh(op, 1, {})


def likelihood(case: NodeCase, op: str) -> float:
    """Return the bits by which another operator's description is shorter or longer, by the target's own operations."""
    if not case.target_families:
        return 0.0
    if family(op) not in case.target_families:
        return _EVIDENT
    return -_EVIDENT if family(case.node.op_type) in case.target_families else -2 * _EVIDENT


def run_on(case: NodeCase, node: ir.Node, inputs: Sequence[Any]) -> Any:
    """Evaluate a changed node: the output that departs."""
    names = [value.name for value in case.node.outputs]
    plain = node if node is not case.node else copied(node, {})
    if has_endless_tree(plain):
        raise ValueError("a branch of the tree leads back or to nothing")
    return case.again(plain, with_an_end(plain, inputs))[names.index(case.output)]


def formal(node: ir.Node, index: int) -> str:
    """Return what the schema calls an input; of a variadic one also its number."""
    schema = canonical_schema(node.op_type, node.domain)
    if schema is None or not schema.inputs:
        return f"input {index}"
    last = len(schema.inputs) - 1
    name = schema.inputs[min(index, last)].name
    many = schema.inputs[last].option == OpSchema.FormalParameterOption.Variadic
    return f"{name}[{index - last}]" if many and index >= last and len(node.inputs) > last + 1 else name


def is_constant(case: NodeCase, index: int) -> bool:
    """True if an input is a weight or another constant."""
    value = case.node.inputs[index]
    return value is not None and value.const_value is not None


def is_data(case: NodeCase, index: int) -> bool:
    """True if an input is computed on; of sizes, steps and counts a function could ask for any amount of memory."""
    known = facts(case.node.op_type, case.node.domain)
    return known.kind is not Kind.GENERATION and not known.role(index).is_parameter


def own_type(value: ir.Value, array: Any) -> Any:
    """The source's own array again: it was widened to be evaluated."""
    if value.dtype is None or value.dtype == ir.DataType.STRING or not isinstance(array, (np.ndarray, np.generic)):
        return array
    return np.asarray(array).astype(value.dtype.numpy())


def copied(node: ir.Node, attributes: Mapping[str, Any]) -> ir.Node:
    """A node outside of any graph that says the same, but for some attributes."""
    kept = {name: attr for name, attr in node.attributes.items() if name not in attributes}
    made = _fresh(node.op_type, 0, attributes)
    inputs = [None if v is None else ir.Value(name=v.name, type=v.type, shape=v.shape) for v in node.inputs]
    outputs = [ir.Value(name=v.name, type=v.type) for v in node.outputs]
    return ir.Node(node.domain, node.op_type, inputs, [*kept.values(), *made.attributes.values()], outputs=outputs)


def _fresh(op: str, inputs: int, attributes: Mapping[str, Any], domain: str = "") -> ir.Node:
    given = {name: value for name, value in attributes.items() if value is not None}
    return ir.node(
        op,
        [ir.Value(name=f"in{index}") for index in range(inputs)],
        given,
        outputs=[ir.Value(name="out")],
        domain=domain,
    )


def text(value: Any) -> str:
    """A number or a list, short enough for a sentence."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list) and any(isinstance(item, float) for item in value):
        value = "[" + ", ".join(text(item) for item in value) + "]"
    words = str(value)
    return words if len(words) <= 60 else words[:57] + "…"
