"""Operators that ONNX defines by a function body are replaced by it where the target has no mapping."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import onnx_ir as ir
from onnx_ir.passes.common import InlinePass

from trueport.ir.provenance import ORIGIN, origins
from trueport.ir.schemas import CANONICAL_OPSETS, canonical_schema

__all__ = ["expand_functions", "function_body"]


def expand_functions(
    model: ir.Model, has_mapping: Callable[[ir.Node], bool], upgrade: Callable[[ir.Model], None]
) -> bool:
    """Replace each unmapped node by its schema's body, as calls of functions that are raised and then inlined.

    Returns whether anything was replaced: a body may use operators with bodies of their own.
    """
    calls = 0
    for node in list(model.graph.all_nodes()):
        if has_mapping(node):
            continue
        body = function_body(node)
        if body is None:
            continue
        calls += 1
        _call(model, node, body, f"trueport.body.{calls}")
    if calls:
        upgrade(model)
        InlinePass()(model)
    return calls > 0


def function_body(node: ir.Node) -> onnx.FunctionProto | None:
    """The body that the schema gives for this node with its input types, if it gives one."""
    schema = canonical_schema(node.op_type, node.domain)
    if schema is None:
        return None
    opset = CANONICAL_OPSETS[node.domain]
    if schema.has_function:  # type: ignore[attr-defined]  # not in onnx's stubs, like those below
        return schema.function_body
    if not schema.has_context_dependent_function:  # type: ignore[attr-defined]
        return None
    types = [onnx.TypeProto() if v is None or v.type is None else _type_proto(v) for v in node.inputs]
    known = schema.context_dependent_function_opset_versions  # type: ignore[attr-defined]
    body = schema.get_context_dependent_function_with_opset_version(  # type: ignore[attr-defined]
        max(v for v in known if v <= opset),
        ir.to_proto(node).SerializeToString(),
        [t.SerializeToString() for t in types],
    )
    return onnx.FunctionProto.FromString(body) if body else None


def _type_proto(value: ir.Value) -> onnx.TypeProto:
    return ir.to_proto(value).type


def _call(model: ir.Model, node: ir.Node, body: onnx.FunctionProto, domain: str) -> None:
    body.domain = domain
    _make_all_outputs(body)
    function = ir.serde.deserialize_function(body)
    came_from = "\n".join(origins(node))
    for inner in function.graph.all_nodes():
        inner.metadata_props[ORIGIN] = came_from
    _fill_in_defaults(node)
    node.resize_outputs(len(function.outputs))
    for index, value in enumerate(node.outputs):
        value.name = value.name or f"{node.outputs[0].name}.{index}"
    node.domain = domain
    model.functions[function.identifier()] = function
    model.opset_imports[domain] = 1


def _make_all_outputs(body: onnx.FunctionProto) -> None:
    """A body may leave out an output that the node does not have."""
    made = {name for inner in body.node for name in inner.output}
    for name in body.output:
        if name not in made:
            body.node.add(op_type="Identity", input=[next(iter(made))], output=[name])


def _fill_in_defaults(node: ir.Node) -> None:
    """A body may refer to an attribute that the node leaves to its default."""
    schema = canonical_schema(node.op_type, node.domain)
    assert schema is not None
    for name, attribute in schema.attributes.items():
        if name not in node.attributes and attribute.default_value.type != onnx.AttributeProto.UNDEFINED:
            node.attributes[name] = ir.serde.deserialize_attribute(attribute.default_value)
