"""The target's own node beside the source's, where the target is a model of ONNX: what differs is tried first."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.ir.schemas import canonical_schema
from trueport.mapping.bind import bind_by_schema
from trueport.reference.onnx.widen import widened_array
from trueport.reference.walk import Hypothesis, NodeCase, TargetPart
from trueport.verifying.causes.attributes import bound_attributes, changed_attributes
from trueport.verifying.causes.bodies import body_differences
from trueport.verifying.causes.hypothesis import (
    STRUCTURE,
    Predict,
    formal,
    hypothesis,
    instead,
    run_on,
    text,
    with_attributes,
)
from trueport.verifying.causes.quantization import role
from trueport.verifying.causes.relation import relation
from trueport.verifying.causes.solving import REFUSED
from trueport.verifying.locate.result import Cause

__all__ = ["differences", "differences_as_read", "nodes_as_read", "other_nodes", "target_constants"]

_EVIDENCE = "so it is in the target's node {}; tried in float64 on the same inputs, it gives the target's numbers"
_MOST = 8
"""Nodes of the target that are compared with one of the source's."""


def target_constants(case: NodeCase) -> Iterator[tuple[str, Any]]:
    """Constants that the target's nodes read, under its own names."""
    seen: dict[str, Any] = {}
    for node in case.target_part.nodes if case.target_part is not None else ():
        for value in node.inputs:
            if value is not None and value.const_value is not None and value.name:
                seen[value.name] = value.const_value
    for name, held in seen.items():
        if held.dtype != ir.DataType.STRING:
            yield name, held.numpy()


def differences(case: NodeCase) -> Iterator[Hypothesis]:
    """What the target's nodes of the same operator have otherwise, then its nodes of other operators."""
    part = case.target_part
    if part is None:
        return
    alike = [node for node in part.nodes if _family(node) == _family(case.node)]
    for node in _likely(case, part, alike)[:_MOST]:
        yield from _node_differences(case, part, node)
        yield from body_differences(case, part, node)
    if not alike and len(part.nodes) >= len(part.source):  # one for several is a fused one, whatever is wrong in it
        yield from _other_nodes(case, part)


def differences_as_read(case: NodeCase) -> list[Cause]:
    """What the target's node of the same operator has otherwise, though no number tells.

    What changes the result in float64 comes first; then what the float64 evaluation refuses, or leaves as it is.
    """
    part = case.target_part
    if part is None or len(part.source) > 1:  # of several nodes each may have differences that are harmless
        return []
    alike = [node for node in part.nodes if _family(node) == _family(case.node)]
    if len(alike) != 1:
        return []
    read, place = [], f"read in the target's node {alike[0].name or alike[0].outputs[0].name!r}"
    has = bound_attributes(case)
    for name, value in _attributes(case.node, alike[0]).items():
        words = f"{name} = {text(value)}, the source has {text(has[name])}"
        read.append(_as_read("attribute", words, place, with_attributes({name: value}), case))
    for kind, words, changes in _operands(case, part, alike[0]):
        read.append(_as_read(kind, words, place, _changed({}, changes), case))
    return [cause for _, cause in sorted(read, key=lambda item: item[0])]


def _as_read(kind: str, words: str, place: str, predict: Predict, case: NodeCase) -> tuple[int, Cause]:
    try:
        made, truth = np.asarray(predict(case)), np.asarray(case.truth)
    except REFUSED:
        unknown = "it can't be evaluated in float64, so it is not known to give the target's numbers"
        return 1, Cause(kind, words, f"{place}; {unknown}")
    if made.dtype.kind in "OUS":
        same = np.array_equal(made, truth)
    else:
        same = made.shape == truth.shape and np.allclose(made, truth, equal_nan=True)
    if same:
        return 2, Cause(kind, words, f"{place}; evaluated in float64 it makes no difference on these inputs")
    return 0, Cause(kind, words, f"{place}; by itself it does not give the target's numbers")


def nodes_as_read(case: NodeCase) -> Iterator[Cause]:
    """Operators that only the target has; nothing where it has fewer nodes, which are fused ones."""
    part = case.target_part
    if part is None or len(part.nodes) < len(part.source):
        return
    own = {_family(node) for node in part.source}
    fresh = [node for node in part.nodes if _family(node) not in own]
    if not fresh:
        return
    ops, sources = (", ".join(node.op_type for node in nodes[-_MOST:]) for nodes in (fresh, part.source))
    names = ", ".join(repr(node.name or node.outputs[0].name) for node in fresh[-_MOST:])
    evidence = f"read in the target's nodes {names}; it is not known to give the target's numbers"
    yield Cause("nodes", f"the target has {ops}, the source has {sources}", evidence)


def _family(node: ir.Node) -> str:
    """The operator; one that is fused with what follows it counts as itself."""
    return node.op_type.removeprefix("Fused")


def _likely(case: NodeCase, part: TargetPart, alike: Sequence[ir.Node]) -> list[ir.Node]:
    """Of several nodes of the operator the one at the same position among them first."""
    mine = [node for node in part.source if _family(node) == _family(case.node)]
    at = mine.index(case.node) if case.node in mine else 0
    return sorted(alike, key=lambda node: abs(alike.index(node) - at))


def _node_differences(case: NodeCase, part: TargetPart, node: ir.Node) -> Iterator[Hypothesis]:
    """Each difference by itself, then all of them together."""
    evidence = _EVIDENCE.format(repr(node.name or node.outputs[0].name))
    attributes = _attributes(case.node, node)
    operands = list(_operands(case, part, node))
    for name, value in attributes.items() if len(attributes) > 1 or operands else ():
        yield changed_attributes(case, {name: value}, STRUCTURE, evidence)
    if attributes:
        yield changed_attributes(case, attributes, STRUCTURE + 0.1 * len(attributes), evidence)
    for kind, words, changes in operands if len(operands) > 1 or attributes else ():
        yield hypothesis(case, kind, words, _changed({}, changes), STRUCTURE, evidence)
    if operands:
        together = {index: array for _, _, changes in operands for index, array in changes.items()}
        words = "; ".join(words for _, words, _ in operands)
        if attributes:
            words = f"{words}; {', '.join(f'{name} = {text(value)}' for name, value in attributes.items())}"
        yield hypothesis(case, operands[0][0], words, _changed(attributes, together), STRUCTURE + 0.5, evidence)


def _changed(attributes: Mapping[str, Any], operands: Mapping[int, Any]) -> Any:
    def predict(case: NodeCase) -> Any:
        most = max([len(case.inputs), *(index + 1 for index in operands)])
        given = [*case.inputs, *[None] * (most - len(case.inputs))]
        inputs = [operands.get(i, array) for i, array in enumerate(given)]
        made = with_attributes(attributes)
        if not operands:
            return made(case)
        return run_on(case, _with_more_inputs(case.node, attributes, most), inputs)

    return predict


def _with_more_inputs(node: ir.Node, attributes: Mapping[str, Any], count: int) -> ir.Node:
    kept = {name: attr for name, attr in node.attributes.items() if name not in attributes}
    given = {name: value for name, value in attributes.items() if value is not None}
    inputs = [ir.Value(name=f"in{index}") for index in range(count)]
    outputs = [ir.Value(name=v.name, type=v.type) for v in node.outputs]
    made = ir.node(node.op_type, [], given, outputs=[ir.Value(name="unused")])
    return ir.Node(node.domain, node.op_type, inputs, [*kept.values(), *made.attributes.values()], outputs=outputs)


def _attributes(mine: ir.Node, theirs: ir.Node) -> dict[str, Any]:
    """The target's values of attributes that differ, defaults filled in."""
    schema = canonical_schema(mine.op_type, mine.domain)
    if schema is None:
        return {}
    has = bind_by_schema(mine, schema).attributes
    kept = [attr for name, attr in theirs.attributes.items() if name in schema.attributes]
    like = ir.Node(mine.domain, mine.op_type, list(theirs.inputs)[: len(schema.inputs)], kept, outputs=[ir.Value()])
    gets = bind_by_schema(like, schema).attributes
    return {name: value for name, value in gets.items() if _is_plain(value) and value != has[name]}


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (int, float, str, list))


def _operands(case: NodeCase, part: TargetPart, node: ir.Node) -> Iterator[tuple[str, str, Mapping[int, Any]]]:
    """Operands that are other constants, or other values of the graph: kind, words, and what is put in their place."""
    count = max(len(case.inputs), len(node.inputs))
    for index in range(count):
        mine = case.node.inputs[index] if index < len(case.node.inputs) else None
        theirs = node.inputs[index] if index < len(node.inputs) else None
        name = f"{formal(case.node, index)!r}"
        if mine is None and theirs is None:
            continue
        if theirs is None:
            yield "dropped", f"operand {name} is missing", {index: None}
        elif theirs.const_value is not None and theirs.dtype != ir.DataType.STRING:
            array = widened_array(theirs.const_value.numpy())
            said = _constants_differ(case, index, name, array)
            if said:
                yield role(case, index) or _constant_kind(array), said, {index: array}
        elif theirs.name and theirs.name in part.names and theirs.name in part.values:
            reads = part.names[theirs.name]
            if mine is None or mine.const_value is not None or reads != mine.name:
                was = "nothing" if mine is None else f"{mine.name!r}"
                words = f"operand {name} reads {reads!r}, in the source {was}"
                yield "operand", words, {index: part.values[theirs.name]}


def _constant_kind(array: Any) -> str:
    return "weight" if array.dtype.kind == "f" and array.size > 1 else "constant"


def _constants_differ(case: NodeCase, index: int, name: str, array: Any) -> str:
    mine = case.inputs[index] if index < len(case.inputs) else None
    if not isinstance(mine, np.ndarray):
        return f"operand {name} is {text(array)}, the source has none"
    if mine.shape != array.shape:
        shown = text(array) if array.size <= 8 and mine.size <= 8 else f"of shape {list(array.shape)}"
        was = text(mine) if array.size <= 8 and mine.size <= 8 else f"shape {list(mine.shape)}"
        return f"operand {name} is {shown}, the source has {was}"
    if mine.dtype.kind != array.dtype.kind or not np.array_equal(mine, array, equal_nan=mine.dtype.kind == "f"):
        if mine.size == 1 or (mine.size <= 8 and mine.dtype.kind not in "f"):
            return f"operand {name} is {text(array)}, the source has {text(mine)}"
        differ = np.argwhere(np.asarray(mine != array))
        place = tuple(int(i) for i in differ[0])
        how = relation(mine, np.asarray(array))
        first = f"first at {list(place)}: {text(array[place].item())}, the source has {text(mine[place].item())}"
        return f"weight {name} differs in {len(differ)} of {mine.size} elements{': ' + how if how else ''}, {first}"
    return ""


def _other_nodes(case: NodeCase, part: TargetPart) -> Iterator[Hypothesis]:
    """The one operator that only the target has, in the node's place."""
    own = {_family(node) for node in part.source}
    fresh = [node for node in part.nodes if _family(node) not in own]
    for node in fresh if len(fresh) == 1 else ():
        if not all(v is None or v.const_value is not None or v.name in part.values for v in node.inputs):
            continue
        values = ", ".join(f"{name} = {text(v)}" for name, v in _own_attributes(node).items())
        shown = f"{node.op_type} with {values}" if values else node.op_type
        words = f"the target has {shown}, the source has {case.node.op_type}"
        name = node.name or node.outputs[0].name
        evidence = f"its node {name!r}, tried in float64 on its inputs, gives the target's numbers"
        on = functools.partial(_theirs, case, part, node)
        # One node for one: a shorter way to say it than what the other operator happens to do.
        alone = len(part.nodes) == len(part.source) == 1
        yield Hypothesis("operator", words, on, evidence, bits=STRUCTURE + (0.5 if alone else 2))


def other_nodes(case: NodeCase) -> Iterator[Hypothesis]:
    """Several nodes of the target that compute it in another way: what is left to say where nothing else fits."""
    part = case.target_part
    own = {_family(node) for node in part.source} if part is not None else set()
    if part is None or max(len(part.nodes), len(part.source)) < 2 or all(_family(node) in own for node in part.nodes):
        return
    last = part.nodes[-1].outputs[0].name
    ops, sources = (", ".join(node.op_type for node in nodes[-_MOST:]) for nodes in (part.nodes, part.source))
    evidence = "evaluated in float64 they give the target's numbers"
    words = f"the target computes it by {ops}, the source by {sources}"
    yield Hypothesis("nodes", words, lambda: part.values[last or ""], evidence)


def _own_attributes(node: ir.Node) -> dict[str, Any]:
    schema = canonical_schema(node.op_type, node.domain)
    has = bind_by_schema(node, schema).attributes if schema is not None else {}
    return {name: value for name, value in has.items() if _is_plain(value) and value is not None}


def _theirs(case: NodeCase, part: TargetPart, node: ir.Node) -> Any:
    """What the target's node makes of its own inputs, and what becomes of it in the source."""
    inputs = [None if v is None else _value(part, v) for v in node.inputs]
    return instead(case, part.step(node, inputs)[0])


def _value(part: TargetPart, value: ir.Value) -> Any:
    if value.const_value is not None:
        return widened_array(value.const_value.numpy())
    return part.values[value.name or ""]
