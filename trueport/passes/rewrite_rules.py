"""The form of all rewrites: a pattern, a check with a reason for each "no", and the rewrite.

It is that of onnxscript's rewriter (``pattern``, ``check``, ``rewrite``, and a reason where a match fails). Its engine
does not serve here: it belongs to PyTorch's exporter, which a conversion of an ONNX file does not load, it matches
operators by a graph of fixed shape, where half of these patterns read a value in several ways, and new nodes would lose
names, aliases and origins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import onnx_ir as ir

from trueport.ir.places import place
from trueport.passes.layout.workshop import Workshop

__all__ = ["Refusal", "Rule", "apply_at", "apply_rules", "explain"]

M = TypeVar("M")


@dataclass(frozen=True)
class Rule(Generic[M]):
    """One rewrite; ``M`` is what a match holds."""

    name: str
    roots: frozenset[str]
    """operators of ONNX at whose nodes a match ends"""
    pattern: Callable[[ir.Node], Iterable[M]]
    """yields the ways to read a node; nothing where it has another form"""
    check: Callable[[M], str | None]
    """returns why a match is not rewritten, None where it is; changes nothing"""
    rewrite: Callable[[M, Any], None]
    """changes the graph; its second argument makes new nodes: a workshop of the model"""

    def apply(self, node: ir.Node, shop: object) -> bool:
        """Rewrite the first match at a node that nothing speaks against; return whether there is one."""
        for match in self.pattern(node):
            if self.check(match) is None:
                self.rewrite(match, shop)
                return True
        return False


class Refusal(NamedTuple):
    """A match that was not rewritten."""

    rule: str
    where: str
    reason: str


def apply_rules(model: ir.Model, rules: Sequence[Rule[Any]], *, backward: bool = False) -> int:
    """Apply at each node the first rule that fits, in place; return how many nodes were rewritten."""
    shop = Workshop(model)
    found = 0
    for graph in model.graphs():
        for node in reversed(list(graph)) if backward else list(graph):
            found += apply_at(node, rules, shop)
    return found


def apply_at(node: ir.Node, rules: Sequence[Rule[Any]], shop: object) -> bool:
    """Apply the first rule that fits a node; return whether there is one."""
    return any(rule.apply(node, shop) for rule in _rules_at(node, rules))


def explain(model: ir.Model, rules: Sequence[Rule[Any]]) -> list[Refusal]:
    """Return the matches of rules in a model that would not be rewritten, with their reasons; changes nothing."""
    return [
        Refusal(rule.name, place(node), reason)
        for graph in model.graphs()
        for node in graph
        for rule in _rules_at(node, rules)
        for match in rule.pattern(node)
        if (reason := rule.check(match)) is not None
    ]


def _rules_at(node: ir.Node, rules: Sequence[Rule[Any]]) -> Iterator[Rule[Any]]:
    # A node that an earlier rewrite has removed has no graph.
    return (rule for rule in rules if node.op_type in rule.roots and not node.domain and node.graph is not None)
