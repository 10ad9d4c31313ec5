"""Another operator in the place of a node in a branch or a loop's body, where only the results tell it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import onnx_ir as ir
from onnx.defs import OpSchema

from trueport.ir.schemas import canonical_schema, operators
from trueport.operators.record import Kind, Randomness
from trueport.operators.table import facts
from trueport.reference.walk import Hypothesis, NodeCase
from trueport.verifying.causes.hypothesis import OPERATOR, among, copied, hypothesis, likelihood, pause, run_on

__all__ = ["inner_operators"]

_MOST_NODES = 8
_LEFT_OUT = frozenset(
    {Kind.CONTROL, Kind.CONTAINER, Kind.RANDOM, Kind.TRAINING, Kind.CLASSIC, Kind.TEXT, Kind.CUSTOM, Kind.LOSS}
)


def inner_operators(case: NodeCase) -> Iterator[Hypothesis]:
    """One node of a graph inside the node with another operator that takes as many inputs, the likest first."""
    yield pause(OPERATOR + 2)
    found = []
    for name, attribute in case.node.attributes.items():
        nodes = list(attribute.as_graph()) if attribute.type == ir.AttributeType.GRAPH else []
        for position, inner in enumerate(nodes[:_MOST_NODES]):
            at = f"in its {name}, {inner.op_type} {inner.name or inner.outputs[0].name!r}"
            for number, op in enumerate(_candidates(inner)):
                words = f"{at} behaves as {op}, the source has {inner.op_type}"
                predict = functools.partial(_with_operator, name=name, position=position, op=op)
                bits = OPERATOR + 2 + among(len(nodes)) + among(number + 1) + likelihood(case, op)
                found.append(hypothesis(case, "operator", words, predict, bits))
    yield from sorted(found, key=lambda one: one.bits)


def _candidates(inner: ir.Node) -> list[str]:
    """Operators with the same number of inputs, none of which needs an attribute: first what is easily confused."""
    own = facts(inner.op_type, inner.domain)
    if inner.domain or len(inner.outputs) != 1 or own.kind in _LEFT_OUT:
        return []
    names = [name for domain, name in operators() if not domain and name != inner.op_type]
    fitting = [name for name in names if _takes(canonical_schema(name), inner, name)]
    group, kind = own.confusable, own.kind
    return sorted(fitting, key=lambda n: (group is None or facts(n).confusable is not group, facts(n).kind is not kind))


def _takes(schema: OpSchema | None, inner: ir.Node, name: str) -> bool:
    known = facts(name)
    if schema is None or schema.deprecated or known.kind in _LEFT_OUT or known.random is not Randomness.NEVER:
        return False
    if any(attribute.required for attribute in schema.attributes.values()) or schema.min_output > 1:
        return False
    return bool(schema.min_input <= len(inner.inputs) <= schema.max_input and all(v is not None for v in inner.inputs))


def _with_operator(case: NodeCase, name: str, position: int, op: str) -> Any:
    """The node with another operator, and the attributes that both have, at a position in one of its graphs."""
    graph = case.node.attributes[name].as_graph().clone(allow_outer_scope_values=True)
    inner = list(graph)[position]
    schema = canonical_schema(op)
    for key in [key for key in inner.attributes if schema is None or key not in schema.attributes]:
        inner.attributes.pop(key)
    inner.op_type = op
    return run_on(case, copied(case.node, {name: graph}), case.inputs)
