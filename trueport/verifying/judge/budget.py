"""How far two faithful float runs of a model may be apart: the declared bounds of its nodes, added up."""

from __future__ import annotations

import math

import onnx_ir as ir

from trueport.mapping.registry import Registry

__all__ = ["allowed_ulps"]

_BOTH_SIDES = 2
"""Each of the two runtimes may be off by the bound, in opposite directions."""


def allowed_ulps(model: ir.Model, registry: Registry) -> float:
    """The sum over all nodes, an accumulation counted with the length of its weight's rows."""
    total = 0.0
    for node in model.graph.all_nodes():
        operator = registry.facts(node.op_type, node.domain)
        if operator.is_known and (bound := operator.error) is not None:
            total += bound.allowed(_terms(node)) if bound.per_term else bound.ulps
    return _BOTH_SIDES * (total + 1)


def _terms(node: ir.Node) -> int:
    """The terms that one element sums up: a weight's size per output channel, or the reduced size where it is known."""
    for value in node.inputs[1:]:
        if value is not None and value.const_value is not None and len(value.const_value.shape) > 1:
            size = math.prod(value.const_value.shape.numpy())
            return max(1, size // max(1, value.const_value.shape.numpy()[0]))
    first = node.inputs[0] if node.inputs else None
    shape = first.shape if first is not None and first.shape is not None else ()
    return max([1, *(dim for dim in shape if isinstance(dim, int))])
