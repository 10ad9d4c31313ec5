"""How a rule is declared: a function that names places, and what is to be said of each.

    @rule("random-operator", NOTE, "values come from the target's own generator", remedy="…")
    def random_operators(subject):
        yield from (Hit(node) for node in …)

Importing a module of rules registers nothing: :func:`trueport.checking.rules.all_rules` collects them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import onnx_ir as ir

from trueport.checking.remarks import Remark, Severity
from trueport.ir.places import op_id, place
from trueport.ir.ports import Port
from trueport.ir.provenance import location
from trueport.mapping.registry import Finding

__all__ = ["Hit", "Rule", "Subject", "rule", "rules_of"]

_ATTRIBUTE = "__trueport_rule__"


@dataclass(frozen=True)
class Hit:
    """A place that a rule applies to, and what to say of it where the rule's own text is not enough."""

    at: ir.Node | Finding | str
    """a node of the graph, a node of the source by its finding, or words"""
    because: str = ""


@dataclass(frozen=True)
class Subject:
    """What rules look at: the graph in the form that is assessed, and what is known around it."""

    model: ir.Model
    target: str
    findings: tuple[Finding, ...] = ()
    inputs: tuple[Port, ...] = ()
    """as the target will have them"""
    outputs: tuple[Port, ...] = ()
    described: Mapping[str, Any] = field(default_factory=dict)
    """what the source says of itself: opsets, metadata, doc strings"""
    needs: tuple[Hit, ...] = ()
    """nodes of an ONNX file that need a newer runtime than the oldest one that files are written for"""
    contradictions: tuple[Hit, ...] = ()
    """nodes for whose results the source declares other shapes than they have"""

    @property
    def graph(self) -> ir.Graph:
        return self.model.graph

    def border(self) -> Iterator[tuple[str, Port]]:
        """All inputs and outputs, each with words for it."""
        yield from ((f"input {port.name!r}", port) for port in self.inputs)
        yield from ((f"output {port.name!r}", port) for port in self.outputs)

    @functools.cached_property
    def nodes(self) -> tuple[ir.Node, ...]:
        """All nodes, those of inner graphs included."""
        return tuple(self.graph.all_nodes())


Look = Callable[[Subject], Iterable[Hit]]


@dataclass(frozen=True)
class Rule:
    """A known cause of loss or surprise, and how it is found."""

    id: str
    severity: Severity
    because: str
    remedy: str
    targets: frozenset[str]
    """empty for all"""
    look: Look

    def remarks(self, subject: Subject) -> Iterator[Remark]:
        """What the rule says of a model; nothing where it is not about the target."""
        if self.targets and subject.target not in self.targets:
            return
        for hit in self.look(subject):
            yield self._remark(hit)

    def _remark(self, hit: Hit) -> Remark:
        because = hit.because or self.because
        if isinstance(hit.at, str):
            return Remark(self.id, self.severity, because, self.remedy, hit.at)
        if isinstance(hit.at, Finding):
            found = hit.at
            return Remark(self.id, self.severity, because, self.remedy, found.where, found.node, found.op, found.source)
        node = hit.at
        return Remark(
            self.id, self.severity, because, self.remedy, place(node), node.name or "", op_id(node), location(node)
        )


def rule(
    id: str, severity: Severity, because: str, *, remedy: str = "", targets: Iterable[str] = ()
) -> Callable[[Look], Look]:
    """Declare that the decorated function finds the places of which ``because`` is true."""

    def declare(look: Look) -> Look:
        setattr(look, _ATTRIBUTE, Rule(id, severity, because, remedy, frozenset(targets), look))
        return look

    return declare


def rules_of(*modules: ModuleType) -> tuple[Rule, ...]:
    """All rules that stand in modules, in their order; two of one name are a mistake."""
    found: dict[str, Rule] = {}
    for module in modules:
        for item in vars(module).values():
            declared = getattr(item, _ATTRIBUTE, None)
            if declared is None or getattr(item, "__module__", None) != module.__name__:
                continue
            if declared.id in found:
                raise TypeError(f"the rule {declared.id!r} is declared twice")
            found[declared.id] = declared
    return tuple(found.values())
