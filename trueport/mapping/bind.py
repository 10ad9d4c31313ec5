"""From a node to a handler's arguments: names, order and defaults come from the schema.

Attribute defaults are the schema's, as Python values; an optional attribute without one binds to None.
Operators that ONNX does not define (custom domains) bind by the handler's own signature: inputs by
position, attributes by name with the signature's defaults.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import onnx
import onnx_ir as ir
from onnx.defs import OpSchema

from trueport.errors import InvalidModel
from trueport.ir.places import place
from trueport.ir.schemas import canonical_schema
from trueport.mapping.declare import Handler, OpMapping
from trueport.versions.opsets import later_attributes

__all__ = [
    "Bound",
    "attribute_defaults",
    "attribute_value",
    "bind",
    "bind_by_schema",
    "bind_by_signature",
    "input_name",
    "input_names",
]

_Single = OpSchema.FormalParameterOption.Single
_Variadic = OpSchema.FormalParameterOption.Variadic


@dataclass(frozen=True)
class Bound:
    """Arguments for a handler: inputs by position (variadic ones spread), attributes by name."""

    inputs: tuple[ir.Value | None, ...]
    attributes: Mapping[str, Any]

    def call(self, handler: Handler, first: Any, value_of: Callable[[ir.Value], Any]) -> Any:
        """Call ``handler(first, *inputs, **attributes)`` with each value looked up by ``value_of``."""
        inputs = [None if value is None else value_of(value) for value in self.inputs]
        return handler(first, *inputs, **self.attributes)


def bind(node: ir.Node, schema: OpSchema | None, handler: Handler, ignores: Mapping[str, str]) -> Bound:
    """The arguments of ``handler`` for ``node``."""
    if schema is None:
        return bind_by_signature(node, handler)
    bound = bind_by_schema(node, schema)
    for formal, given in zip(schema.inputs, bound.inputs, strict=False):
        if given is None and formal.option == _Single:
            raise InvalidModel(
                f"its input {formal.name!r} is missing, which {node.op_type} needs",
                where=place(node),
                remedy="connect it to a value of the graph",
            )
    attributes = {name: value for name, value in bound.attributes.items() if name not in ignores}
    attributes |= {k: v for k, v in later_attributes(schema.name, schema.domain).items() if k not in schema.attributes}
    return Bound(bound.inputs, attributes)


def bind_by_schema(node: ir.Node, schema: OpSchema) -> Bound:
    """All formal inputs of the schema (None when absent) and all its attributes (default when absent)."""
    given = list(node.inputs)
    formal = schema.inputs
    variadic = bool(formal) and formal[-1].option == _Variadic
    if not variadic:
        if len(given) > len(formal):
            raise InvalidModel(
                f"has {len(given)} inputs, {node.op_type}-{schema.since_version} takes at most {len(formal)}",
                where=place(node),
                remedy="take away the inputs that are too many, or raise the model's opset_import",
            )
        given += [None] * (len(formal) - len(given))
    elif len(given) < len(formal) - 1:
        given += [None] * (len(formal) - 1 - len(given))
    defaults = attribute_defaults(schema)
    unknown = sorted(set(node.attributes) - set(defaults))
    if unknown:
        raise InvalidModel(
            f"attribute {unknown[0]!r} is unknown to {node.op_type}-{schema.since_version}",
            where=place(node),
            remedy=f"known attributes: {', '.join(sorted(defaults)) or 'none'}",
        )
    attributes = defaults | {name: attribute_value(attr) for name, attr in node.attributes.items()}
    missing = [a.name for a in schema.attributes.values() if a.required and a.name not in node.attributes]
    if missing:
        raise InvalidModel(
            f"its attribute {missing[0]!r} is missing, which {node.op_type} needs",
            where=place(node),
            remedy="give the node this attribute",
        )
    return Bound(tuple(given), attributes)


def bind_by_signature(node: ir.Node, handler: Handler) -> Bound:
    """For operators without a schema: the handler's parameters after the first stand for it."""
    parameters = list(inspect.signature(handler).parameters.values())[1:]
    positional = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    named = {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY}
    spread = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    given = list(node.inputs)
    if len(given) > len(positional) and not spread:
        raise InvalidModel(
            f"has {len(given)} inputs, its handler takes {len(positional)}",
            where=place(node),
            remedy="add parameters for all inputs to the handler, or *inputs",
        )
    given += [None] * (len(positional) - len(given))
    unknown = sorted(set(node.attributes) - set(named))
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in parameters):
        raise InvalidModel(
            f"attribute {unknown[0]!r} is not taken by the handler of {node.domain}::{node.op_type}",
            where=place(node),
            remedy="add it to the handler's keyword parameters",
        )
    attributes = {name: p.default for name, p in named.items() if p.default is not p.empty}
    attributes |= {name: attribute_value(attr) for name, attr in node.attributes.items()}
    missing = sorted(set(named) - set(attributes))
    if missing:
        raise InvalidModel(
            f"its attribute {missing[0]!r} is missing, which its handler takes",
            where=place(node),
            remedy="give the handler's parameter a default, or the node this attribute",
        )
    return Bound(tuple(given), attributes)


def input_name(mapping: OpMapping, index: int) -> str:
    """What the schema, or the handler of an operator without one, calls the input at an index."""
    names = input_names(mapping)
    return names[min(index, len(names) - 1)]


def input_names(mapping: OpMapping) -> list[str]:
    """Return the names of an operator's inputs, a variadic one as the last: the schema's, or the handler's own."""
    schema = canonical_schema(mapping.op, mapping.domain)
    if schema is not None:
        return [formal.name for formal in schema.inputs]
    parameters = list(inspect.signature(mapping.handler).parameters.values())[1:]
    return [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]


def attribute_defaults(schema: OpSchema) -> dict[str, Any]:
    """Every attribute of the schema with its default; None where the schema gives none."""
    return {name: _default(attribute) for name, attribute in schema.attributes.items()}


def _default(attribute: OpSchema.Attribute) -> Any:
    proto = attribute.default_value
    if proto.type == onnx.AttributeProto.UNDEFINED:
        return None
    value = onnx.helper.get_attribute_value(proto)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (list, tuple)):
        return [item.decode() if isinstance(item, bytes) else item for item in value]
    return value


def attribute_value(attribute: ir.Attr) -> Any:
    """An attribute as a Python value; tensors, graphs and types stay onnx_ir's."""
    value = attribute.value
    match attribute.type:
        case ir.AttributeType.STRING:
            return value.decode() if isinstance(value, bytes) else value
        case ir.AttributeType.STRINGS:
            return [item.decode() if isinstance(item, bytes) else item for item in value]
        case ir.AttributeType.INTS | ir.AttributeType.FLOATS:
            return list(value)
        case _:
            return value
