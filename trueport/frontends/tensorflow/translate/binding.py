"""From an operation to a handler's arguments: names and order come from TensorFlow's own OpDef.

A list input (``N * T``, or of several types) binds as one tuple. Type attributes, and those that only count a list,
follow from the inputs: a handler takes them if it names them, all others it must take or ignore with a reason.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from trueport.frontends.tensorflow.source.nodes import SourceNode
from trueport.lazy import load
from trueport.mapping.declare import OpMapping

__all__ = ["arguments", "departures", "input_groups", "optional_attributes"]


def arguments(node: SourceNode, mapping: OpMapping) -> tuple[list[Any], dict[str, Any]]:
    """Positional inputs and keyword attributes for the mapping's handler."""
    named, takes_all = _keywords(mapping.handler)
    optional = optional_attributes(node.definition)
    given = {
        name: value
        for name, value in node.attributes.items()
        if name not in mapping.ignores and (name in named or takes_all or name not in optional)
    }
    return input_groups(node), given


def input_groups(node: SourceNode) -> list[Any]:
    """The inputs by the OpDef's arguments: a value, or a tuple for a list."""
    remaining = iter(node.inputs)
    groups: list[Any] = []
    for arg in node.definition.input_arg:
        if arg.number_attr:
            groups.append(tuple(next(remaining) for _ in range(node.attributes[arg.number_attr])))
        elif arg.type_list_attr:
            groups.append(tuple(next(remaining) for _ in node.attributes[arg.type_list_attr]))
        else:
            groups.append(next(remaining))
    return groups


def optional_attributes(op_def: Any) -> frozenset[str]:
    """Attributes that say no more than the inputs do: their types and how many they are."""
    counts = {arg.number_attr for arg in op_def.input_arg if arg.number_attr}
    return frozenset(a.name for a in op_def.attr if a.type in ("type", "list(type)") or a.name in counts)


@functools.cache
def _keywords(handler: Callable[..., Any]) -> tuple[frozenset[str], bool]:
    parameters = inspect.signature(handler).parameters.values()
    named = frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
    return named, any(p.kind is p.VAR_KEYWORD for p in parameters)


def departures(mapping: OpMapping) -> Iterator[str]:
    """How a declaration differs from TensorFlow's definition of its operator; the tests ask."""
    op_def = _definition(mapping.op)
    if op_def is None:
        yield "TensorFlow has no such operator"
        return
    parameters: Sequence[inspect.Parameter] = list(inspect.signature(mapping.handler).parameters.values())[1:]
    takes = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    spreads = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    inputs = [arg.name for arg in op_def.input_arg]
    if takes != inputs and not (spreads and not takes):
        yield f"takes inputs {takes}, TensorFlow has {inputs}"
    named, takes_all = _keywords(mapping.handler)
    attributes = {a.name for a in op_def.attr}
    wanted = attributes - set(mapping.ignores) - optional_attributes(op_def)
    if named - attributes or (wanted - named and not takes_all):
        yield f"takes attributes {sorted(named)}, TensorFlow has {sorted(wanted)} that are not ignored"
    for name in sorted(set(mapping.ignores) - attributes):
        yield f"ignores {name!r}, which is no attribute"


def _definition(op: str) -> Any:
    # Not public; TensorFlow offers definitions of operators that are not in a graph nowhere else.
    return load("tensorflow.python.framework.op_def_registry").get(op)
