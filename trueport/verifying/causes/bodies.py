"""Graphs inside a node (branches, loop bodies) beside those of the target's node, node by node."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.ir.schemas import canonical_schema
from trueport.mapping.bind import bind_by_schema
from trueport.reference.walk import Hypothesis, NodeCase, TargetPart
from trueport.verifying.causes.attributes import attribute_alternatives, bound_attributes
from trueport.verifying.causes.hypothesis import (
    ATTRIBUTE,
    NUMBER,
    STRUCTURE,
    among,
    copied,
    formal,
    hypothesis,
    pause,
    run_on,
    text,
)
from trueport.verifying.causes.relation import relation
from trueport.verifying.causes.solving import decimals, is_overdetermined, solve

__all__ = ["body_constants", "body_differences", "inner_attributes"]


_PUT = "trueport.constant."
"""How the names of constants begin that are put into a graph."""


def body_differences(case: NodeCase, part: TargetPart, node: ir.Node) -> Iterator[Hypothesis]:
    """What nodes in the target's branch or body have otherwise; evaluated with the whole of it."""
    said = [
        words for name, mine in _graphs(case.node) for words in _compared(name, mine, dict(_graphs(node)).get(name))
    ]
    if not said:
        return

    def predict() -> Any:
        inputs = [None if v is None else _value(part, v) for v in node.inputs]
        return part.step(node, inputs)[[v.name for v in case.node.outputs].index(case.output)]

    words = "; ".join(said[:3])
    evidence = "the target's own graph, tried in float64 on the same inputs, gives its numbers"
    yield Hypothesis("body", words, predict, evidence, bits=STRUCTURE)


def inner_attributes(case: NodeCase) -> Iterator[Hypothesis]:
    """One node in a branch or a body with another attribute; numbers are solved for."""
    yield pause(ATTRIBUTE + 4)
    for name, graph in _graphs(case.node):
        nodes = list(graph)
        for position, inner in enumerate(nodes):
            stub = replace(case, node=inner, inputs=())
            at = f"in its {name}, {inner.op_type} {inner.name or inner.outputs[0].name!r}"
            has = bound_attributes(stub)
            listed = [(key, value, bits) for key, value, bits in attribute_alternatives(stub)]
            for key in (key for key, value in has.items() if isinstance(value, float)):
                listed += [(key, value, NUMBER) for value in _solved(case, name, position, key, has[key])]
            for key, value, bits in listed:
                words = f"{at} behaves as with {key} = {text(value)}, the source has {text(has[key])}"
                predict = functools.partial(_with_inner, name=name, position=position, key=key, value=value)
                yield hypothesis(case, "attribute", words, predict, ATTRIBUTE + 4 + among(len(nodes)) + bits)


def _solved(case: NodeCase, name: str, position: int, key: str, now: float) -> list[float]:
    if not is_overdetermined(case, 1):
        return []
    found = solve(case, lambda numbers: _with_inner(case, name, position, key, float(numbers[0])), [[now]])
    return list(decimals(found[0])) if found else []


def _with_inner(case: NodeCase, name: str, position: int, key: str, value: Any) -> Any:
    """The node with one attribute changed of the node at a position in one of its graphs."""
    graph = case.node.attributes[name].as_graph().clone(allow_outer_scope_values=True)
    inner = list(graph)[position]
    inner.attributes.pop(key, None)
    if value is not None:
        inner.attributes.update(copied(inner, {key: value}).attributes)
    return run_on(case, copied(case.node, {name: graph}), case.inputs)


def body_constants(case: NodeCase) -> Iterator[tuple[str, np.ndarray, Callable[[NodeCase, np.ndarray], NodeCase]]]:
    """Constants that nodes in the node's graphs read: where each is, its elements, and what puts others there."""
    for name, graph in _graphs(case.node):
        for position, inner in enumerate(graph):
            for index, value in enumerate(inner.inputs):
                held = ir.convenience.get_const_tensor(value) if value is not None else None
                if held is not None:
                    where = f"{formal(inner, index)} of {inner.op_type} {inner.name or inner.outputs[0].name}"
                    place = functools.partial(_with_constant, name=name, position=position, index=index)
                    yield f"{where} in its {name}", np.asarray(held.numpy()), place


def _with_constant(case: NodeCase, array: np.ndarray, name: str, position: int, index: int) -> NodeCase:
    """The node with another constant for an input of the node at a position in one of its graphs."""
    graph = case.node.attributes[name].as_graph().clone(allow_outer_scope_values=True)
    inner = [node for node in graph if not (node.name or "").startswith(_PUT)][position]
    value = inner.inputs[index]
    held = ir.convenience.get_const_tensor(value) if value is not None else None
    kept = array if held is None else array.astype(held.numpy().dtype)
    made = ir.node("Constant", [], {"value": ir.tensor(kept)}, name=f"{_PUT}{position}.{index}")
    graph.insert_before(next(iter(graph)), made)
    inner.replace_input_with(index, made.outputs[0])
    return replace(case, node=copied(case.node, {name: graph}))


def _value(part: TargetPart, value: ir.Value) -> Any:
    return value.const_value.numpy() if value.const_value is not None else part.values[value.name or ""]


def _graphs(node: ir.Node) -> Iterator[tuple[str, ir.Graph]]:
    for name, attribute in node.attributes.items():
        if attribute.type == ir.AttributeType.GRAPH:
            yield name, attribute.as_graph()


def _compared(name: str, mine: ir.Graph, theirs: ir.Graph | None) -> Iterator[str]:
    """Differences in words; nothing where the graphs are not node for node of the same operators."""
    if theirs is None:
        return
    one, other = list(mine), list(theirs)
    if len(one) != len(other):
        mine_ops, their_ops = (Counter(node.op_type for node in nodes) for nodes in (one, other))
        more, fewer = (", ".join((a - b).elements()) for a, b in ((their_ops, mine_ops), (mine_ops, their_ops)))
        said = f"in its {name} there are {len(other)} nodes, the source has {len(one)}"
        yield said + (f"; only the target has {more}" if more else "") + (f"; it leaves out {fewer}" if fewer else "")
        return
    same: dict[ir.Value, ir.Value] = dict(zip(mine.inputs, theirs.inputs, strict=False))
    for source, target in zip(one, other, strict=True):
        at = f"in its {name}, {source.op_type} {source.name or source.outputs[0].name!r}: "
        if source.op_type != target.op_type:
            yield f"{at}the target has {target.op_type}, the source has {source.op_type}"
        else:
            yield from (at + words for words in _node(source, target, same))
        for sub, graph in _graphs(source):
            yield from _compared(sub, graph, dict(_graphs(target)).get(sub))
        same.update(zip(source.outputs, target.outputs, strict=False))


def _node(source: ir.Node, target: ir.Node, same: Mapping[ir.Value, ir.Value]) -> Iterator[str]:
    schema = canonical_schema(source.op_type, source.domain)
    if schema is not None:
        has, gets = (bind_by_schema(node, schema).attributes for node in (source, target))
        for name, value in gets.items():
            if isinstance(value, (int, float, str, list)) and value != has[name]:
                yield f"{name} = {text(value)}, the source has {text(has[name])}"
    for index, (mine, theirs) in enumerate(zip(source.inputs, target.inputs, strict=False)):
        name = formal(source, index)
        if mine is None or theirs is None:
            if mine is not theirs:
                yield f"input {name} is {'missing' if theirs is None else 'given, the source has none'}"
        elif mine.const_value is not None and theirs.const_value is not None:
            yield from _constants(name, np.asarray(mine.const_value.numpy()), np.asarray(theirs.const_value.numpy()))
        elif mine in same and same[mine] is not theirs:
            what = "the state " if mine.is_graph_input() else ""
            yield f"input {name} reads another value of the graph, in the source {what}{mine.name!r}"
        elif (mine.const_value is None) != (theirs.const_value is None):
            yield f"input {name} reads {theirs.name!r}, in the source {mine.name!r}"


def _constants(name: str, mine: np.ndarray, theirs: np.ndarray) -> Iterator[str]:
    if mine.shape == theirs.shape and np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f"):
        return
    if mine.shape != theirs.shape or mine.size <= 8:
        how = relation(mine, theirs) if mine.shape == theirs.shape else ""
        yield f"constant {name} is {text(theirs)}, the source has {text(mine)}{': ' + how if how else ''}"
        return
    differ = int(np.sum(mine != theirs))
    how = relation(mine, theirs)
    yield f"weight {name} differs in {differ} of {mine.size} elements{': ' + how if how else ''}"
