"""Which nodes ONNX's inference may follow by value, and which only by type and shape.

Inference that propagates data holds every element of a vector as a message, known or not: one of 10⁹ elements takes all
memory, and so does a chain of Concat that doubles a vector each time. Such nodes are hidden from it.
"""

from __future__ import annotations

import functools
from collections.abc import Collection

import onnx
import onnx_ir as ir

from trueport.ir.schemas import history, operators

__all__ = ["hide", "nodes_to_hide"]

_LONGEST = 1 << 14
"""Elements of a vector that is followed; shapes are shorter."""
_HIDDEN = "trueport.not_followed"


def nodes_to_hide(model: ir.Model, hidden_before: Collection[ir.Node] | None) -> frozenset[ir.Node]:
    """Return the nodes whose operands are large vectors, or may turn out to be while values are propagated.

    ``hidden_before``: what was hidden when the shapes that the model has were inferred; None if they were not, so that
    no dim without a number can be relied on.
    """
    hidden: set[ir.Node] = set()
    lengths: dict[ir.Value, int] = {}
    open_ended: set[ir.Value] = set()
    """values whose shapes depend on a node that was hidden"""
    for node in model.graph.all_nodes():
        operands = [value for value in node.inputs if value is not None]
        has_graphs = any(attribute.type == ir.AttributeType.GRAPH for attribute in node.attributes.values())
        was_hidden = hidden_before is None or node in hidden_before or (has_graphs and len(hidden_before) > 0)
        if was_hidden or any(value in open_ended for value in operands):
            open_ended.update(node.outputs)
        if node.domain or node.op_type not in _followed():
            continue
        if node.op_type == "Shape":
            lengths[node.outputs[0]] = 1
            continue
        found = [lengths[v] if v in lengths else _length(v, v in open_ended) for v in operands]
        length = sum(found) if node.op_type == "Concat" else max(found, default=1)
        if length > _LONGEST:
            hidden.add(node)
        else:
            lengths.update((value, length) for value in node.outputs)
    return frozenset(hidden)


def _length(value: ir.Value, is_open_ended: bool) -> int:
    """Return the elements that inference would hold of a value; too many where that is not known yet."""
    if value.const_value is not None:
        dims: tuple[int | ir.SymbolicDim, ...] = tuple(value.const_value.shape.numpy())
    elif value.shape is None:
        return _LONGEST + 1 if is_open_ended else 1
    else:
        dims = tuple(value.shape)
    if len(dims) != 1:
        return 1
    if isinstance(dims[0], int):
        return max(dims[0], 1)
    return _LONGEST + 1 if is_open_ended else 1


def hide(model: ir.Model, proto: onnx.ModelProto, hidden: Collection[ir.Node]) -> onnx.ModelProto:
    """Return a copy in which some nodes are unknown to inference; what they give keeps its declared type and shape."""
    if not hidden:
        return proto
    copy: onnx.ModelProto = onnx.ModelProto.FromString(proto.SerializeToString())
    copy.opset_import.append(onnx.OperatorSetIdProto(domain=_HIDDEN, version=1))
    _hide(model.graph, copy.graph, hidden)
    return copy


def _hide(graph: ir.Graph, twins: onnx.GraphProto, hidden: Collection[ir.Node]) -> None:
    """Mark them in a message whose nodes stand in the same order."""
    for node, twin in zip(graph, twins.node, strict=True):
        if node in hidden:
            twin.domain = _HIDDEN
        for attribute in twin.attribute:
            if attribute.HasField("g"):
                _hide(node.attributes[attribute.name].as_graph(), attribute.g, hidden)


@functools.cache
def _followed() -> frozenset[str]:
    """Return the operators whose values ONNX's inference propagates."""
    schemas = [(op, schema) for domain, op in operators() if not domain for schema in history(op)]
    return frozenset(op for op, schema in schemas if schema.has_data_propagation_function)
