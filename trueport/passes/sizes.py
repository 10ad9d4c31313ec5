"""Which nodes have data whose first dim is found while running: detections, regions, rows that pass a test."""

from __future__ import annotations

import onnx_ir as ir

from trueport.operators.record import Sizing
from trueport.operators.table import facts_of

__all__ = ["SIZED_BY_DATA", "mark_sized_by_data"]

SIZED_BY_DATA = "sized_by_data"
"""Meta of a node: how many rows its first input has hangs on values, so there may be none at all."""


def mark_sized_by_data(model: ir.Model) -> None:
    """One sweep in the order of execution; dims that are numbers or that the caller names are no such sizes."""
    given = {dim.value for port in model.graph.inputs for dim in port.shape or () if not isinstance(dim, int)}
    _sweep(model.graph, set(), given - {None})


def _sweep(graph: ir.Graph, open_values: set[ir.Value], given: set[str | None]) -> None:
    for node in graph:
        reached = not open_values.isdisjoint(node.inputs)
        if reached and node.inputs[0] in open_values and _has_open_rows(node.inputs[0], given):
            node.meta[SIZED_BY_DATA] = True
        opens = reached or _makes_sizes(node)
        for body in _bodies(node):
            if opens:
                open_values.update(body.inputs)
            _sweep(body, open_values, given)
            opens = opens or not open_values.isdisjoint(body.outputs)
        if opens:
            open_values.update(value for value in node.outputs if _is_open(value, given))


def _makes_sizes(node: ir.Node) -> bool:
    sizing = facts_of(node).sizing
    if sizing is Sizing.PARAMETERS:
        return any(value is not None and value.const_value is None for value in node.inputs[1:])
    return sizing in (Sizing.VALUES, Sizing.STEPS)


def _bodies(node: ir.Node) -> list[ir.Graph]:
    return [a.as_graph() for a in node.attributes.values() if a.type == ir.AttributeType.GRAPH]


def _is_open(value: ir.Value, given: set[str | None]) -> bool:
    """True if any size may follow from data: NonZero has it in its last axis, and rows are gathered by that."""
    if value.shape is None or not value.shape.rank():
        return True
    return any(_may_be_zero(dim, given) for dim in value.shape)


def _has_open_rows(value: ir.Value | None, given: set[str | None]) -> bool:
    if value is None or value.shape is None or not value.shape.rank():
        return value is not None
    return _may_be_zero(value.shape[0], given)


def _may_be_zero(dim: int | ir.SymbolicDim, given: set[str | None]) -> bool:
    return dim == 0 if isinstance(dim, int) else dim.value not in given
