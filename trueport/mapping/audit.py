"""Whether declarations say what the schemas say: names, order, versions. The tests ask; nothing converts with it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass

from onnx.defs import OpSchema

from trueport.ir.schemas import canonical_schema, has_body, operators
from trueport.mapping.declare import OpMapping
from trueport.mapping.registry import Registry
from trueport.versions.opsets import knows_all, later_attributes

__all__ = ["Mismatch", "mismatches", "without_mapping"]

_Variadic = OpSchema.FormalParameterOption.Variadic


@dataclass(frozen=True)
class Mismatch:
    """A declaration that departs from its operator's schema."""

    op: str
    by: str
    what: str

    def __str__(self) -> str:
        return f"{self.op} in {self.by}: {self.what}"


def mismatches(registry: Registry) -> list[Mismatch]:
    """All departures of a registry's declarations from ONNX's schemas; operators of other domains have none."""
    return [
        Mismatch(mapping.op, mapping.by, what)
        for mapping in registry
        if (schema := canonical_schema(mapping.op, mapping.domain)) is not None
        for what in _departures(mapping, schema)
    ]


def _departures(mapping: OpMapping, schema: OpSchema) -> Iterator[str]:
    parameters = list(inspect.signature(mapping.handler).parameters.values())[1:]
    takes = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD or p.kind is p.POSITIONAL_ONLY]
    spreads = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    inputs = [p.name for p in schema.inputs if p.option != _Variadic]
    variadic = len(inputs) < len(schema.inputs)
    # A shared handler may take all inputs spread.
    if (takes != inputs or spreads != variadic) and not (spreads and not takes):
        yield f"takes inputs {takes}, the schema has {inputs}{' and more' * variadic}"
    yield from _attribute_departures(mapping, schema, parameters)
    newer = mapping.audited is not None and mapping.audited > schema.since_version
    if mapping.audited != schema.since_version and not (newer and not knows_all()):
        yield f"was compared with version {mapping.audited}, the newest is {schema.since_version}"
    for name in sorted((mapping.static | mapping.state) - {p.name for p in schema.inputs}):
        yield f"declares {name!r}, which is no input"
    for name in sorted(set(mapping.dtypes) - {c.type_param_str for c in schema.type_constraints}):
        yield f"restricts {name!r}, which is no type parameter"


def _attribute_departures(mapping: OpMapping, schema: OpSchema, parameters: list[inspect.Parameter]) -> Iterator[str]:
    named = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    rest = any(p.kind is p.VAR_KEYWORD for p in parameters)
    wanted = set(schema.attributes) - set(mapping.ignores) | set(later_attributes(mapping.op, mapping.domain))
    if named - wanted or (wanted - named and not rest):
        yield f"takes attributes {sorted(named)}, the schema has {sorted(wanted)} that are not ignored"
    for name in sorted(set(mapping.ignores) - set(schema.attributes)):
        yield f"ignores {name!r}, which is no attribute"


def without_mapping(registry: Registry) -> list[tuple[str, str]]:
    """Operators of the canonical opsets, as (domain, name), that have neither a mapping nor a function body."""
    found = []
    for domain, op in operators():
        schema = canonical_schema(op, domain)
        if schema is None or schema.deprecated or has_body(schema):
            continue
        if registry.find(op, domain) is None:
            found.append((domain, op))
    return found
