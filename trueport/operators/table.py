"""All records, and the one way to ask for one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Protocol

from trueport.operators import (
    activations,
    classic,
    elementwise,
    images,
    microsoft,
    movement,
    products,
    reductions,
    structures,
)
from trueport.operators.record import Kind, Operator, Trait

__all__ = ["OPERATORS", "build", "facts", "facts_of", "with_trait"]


class _Node(Protocol):
    @property
    def op_type(self) -> str: ...
    @property
    def domain(self) -> str: ...


def build(*families: Iterable[Operator]) -> Mapping[tuple[str, str], Operator]:
    """Return the records by domain and name; two claims to one operator are a mistake and raise `TypeError`."""
    found: dict[tuple[str, str], Operator] = {}
    for family in families:
        for operator in family:
            key = operator.domain, operator.name
            if key in found:
                raise TypeError(f"{operator.name!r} (domain {operator.domain!r}) has two records")
            found[key] = operator
    return MappingProxyType(found)


OPERATORS: Mapping[tuple[str, str], Operator] = build(
    activations.OPERATORS,
    classic.OPERATORS,
    elementwise.OPERATORS,
    images.OPERATORS,
    microsoft.OPERATORS,
    movement.OPERATORS,
    products.OPERATORS,
    reductions.OPERATORS,
    structures.OPERATORS,
)
"""By domain ("" for ai.onnx) and name."""


def facts(name: str, domain: str = "") -> Operator:
    """Return what is known of an operator; of one that is not listed, a record that promises nothing."""
    domain = "" if domain == "ai.onnx" else domain
    return OPERATORS.get((domain, name)) or Operator(name, Kind.UNKNOWN, domain=domain)


def facts_of(node: _Node) -> Operator:
    """Return what is known of a node's operator."""
    return facts(node.op_type, node.domain)


def with_trait(trait: Trait) -> Iterator[Operator]:
    """Yield the operators for which these facts hold."""
    return (operator for operator in OPERATORS.values() if operator.has(trait))
