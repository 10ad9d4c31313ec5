"""The target's own nodes behind a value that departs: what a structural difference is read from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx_ir as ir

from trueport.errors import NoOracle, TrueportError
from trueport.mapping.registry import Registry
from trueport.reference.onnx.evaluate import captured
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.reference.onnx.widen import widened_array
from trueport.reference.walk import TargetPart
from trueport.runtimes.base import Model
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.verifying.align.values import AlignedModel
from trueport.verifying.locate.result import Part

__all__ = ["target_part"]

_MOST_BYTES = 1 << 28
"""Bytes of a target that is read once more."""


def target_part(
    part: Part, region: Sequence[ir.Node], model: Model, feeds: Mapping[str, Any], registry: Registry
) -> TargetPart | None:
    """Return the target's nodes between the values of a part; None where it is not a model of ONNX.

    ``region``: the source's nodes between the same values.
    """
    if not isinstance(model, OnnxRuntimeModel) or not isinstance(part.target, AlignedModel):
        return None
    if model.proto.ByteSize() > _MOST_BYTES:
        return None
    try:
        oracle = OnnxOracle.of(model.proto, registry)
    except TrueportError:
        return None  # it cannot be raised to the canonical opsets: nothing can be said of its nodes
    target, ports = part.target, {name: name for name in feeds}
    given = {**target.own_arrays(feeds, ports), **target.own_arrays(part.given, part.ports)}
    wanted = target.own_names(part.value)[0]
    nodes = _between(oracle.model.graph, given, wanted)
    if not nodes or wanted in given:
        return None
    held = {v: widened_array(given[v.name]) for v in _read(nodes) if v.name in given}

    def step(node: ir.Node, inputs: Sequence[Any]) -> Sequence[Any]:
        return oracle.exact.step(node, inputs, held)

    for node in nodes:
        try:
            inputs = [None if v is None else oracle.exact.value(v, held) for v in node.inputs]
            held.update(zip(node.outputs, step(node, inputs), strict=False))
        except NoOracle:
            continue  # what is made of it is left out, too
    values = {v.name: array for v, array in held.items() if v.name}
    own = {tensor: name for name in feeds for tensor in target.own_arrays({name: feeds[name]}, ports)}
    return TargetPart(tuple(nodes), values, {**own, **target.source_names()}, tuple(region), step)


def _read(nodes: Sequence[ir.Node]) -> list[ir.Value]:
    return [v for node in nodes for v in (*node.inputs, *captured(node)) if v is not None]


def _between(graph: ir.Graph, given: Mapping[str, Any], wanted: str) -> list[ir.Node]:
    """The nodes that make a value out of given ones, in the graph's order."""
    made = {v.name: node for node in graph for v in node.outputs if v.name}
    needed: set[ir.Node] = set()
    waiting = [wanted]
    while waiting:
        node = made.get(waiting.pop())
        if node is not None and node not in needed:
            needed.add(node)
            waiting += [v.name for v in _read([node]) if v.name and v.name not in given]
    return [node for node in graph if node in needed]
