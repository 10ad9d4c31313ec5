"""In which order each node of a graph runs: decided for all nodes before anything is changed.

First, backward, what each value is wanted as: channel-last by the operators that gain from it, in the model's
order by the graph's outputs and by operators without a rule. A want passes up through operators with one data
input that is no larger than the output: there a transpose may as well stand before it. Then, forward, each node
takes the plan for which least data must be moved, counting orders that exist already as free; on a tie, the one
that its users want, or, for an operator on each element of one tensor, the order that this tensor has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import onnx_ir as ir

from trueport.ir.layouts import Perm, channels_last, identity, is_identity
from trueport.passes.layout.carry import Elementwise
from trueport.passes.layout.plan import Form, Plan, Rule, dims_of, is_constant, rank_of
from trueport.passes.layout.roots import Roots, same_but_for_units, volume
from trueport.passes.layout.rules import CHANNELS, gains_from_channels_last

__all__ = ["captured", "decide", "rules_of", "subgraphs_of"]

RuleOf = Callable[[ir.Node], Rule | None]
Orders = dict[ir.Value, dict[Perm, None]]
"""Ordered sets of the orders of each root."""


def decide(graph: ir.Graph, roots: Roots, rule_of: RuleOf) -> dict[ir.Node, Plan]:
    """The plans of all nodes that run on permuted data; the others run as they are."""
    wants = _wants(graph, roots, rule_of)
    held: Orders = {}
    plans: dict[ir.Node, Plan] = {}
    for node in graph:
        if node.outputs and node.outputs[0] in roots:
            continue
        plan = _chosen(node, roots, rule_of, wants, held)
        if any(plan.inputs) or any(plan.outputs):
            plans[node] = plan
        for value, form in _needs(node, plan):
            _hold(held, *roots.of(value, form))
        for value, form in zip(node.outputs, plan.outputs, strict=True):
            _hold(held, *roots.of(value, form), first=True)
    return plans


def captured(node: ir.Node, graph: ir.Graph) -> Iterator[ir.Value]:
    """Values of ``graph`` that the subgraphs of one of its nodes use."""
    for subgraph in subgraphs_of(node):
        used = [value for inner in subgraph.all_nodes() for value in inner.inputs]
        outputs = [output for inner in (subgraph, *subgraph.subgraphs()) for output in inner.outputs]
        yield from (value for value in (*used, *outputs) if value is not None and value.graph is graph)


def subgraphs_of(node: ir.Node) -> Iterator[ir.Graph]:
    """The graphs directly in a node's attributes."""
    for attribute in node.attributes.values():
        if attribute.type == ir.AttributeType.GRAPH:
            yield attribute.as_graph()
        elif attribute.type == ir.AttributeType.GRAPHS:
            yield from attribute.as_graphs()


def _as_is(node: ir.Node) -> Plan:
    return Plan((None,) * len(node.inputs), (None,) * len(node.outputs))


def rules_of(honours: Callable[[ir.Node], bool], rules: Mapping[str, Rule]) -> RuleOf:
    """Which rule a node follows: one by its operator, or that of operators with a channel axis of their own."""

    def rule_of(node: ir.Node) -> Rule | None:
        if node.meta.get("channels_last"):
            return None  # it has its layout already
        return (rules.get(node.op_type) if not node.domain else None) or (CHANNELS if honours(node) else None)

    return rule_of


def _seed(node: ir.Node, rule: Rule | None) -> Plan | None:
    """The plan of a node that would have to transpose by itself if its data did not come channel-last."""
    rank = rank_of(node.inputs[0]) if node.inputs else None
    if rule is not CHANNELS or rank is None or rank < 3 or not gains_from_channels_last(node):
        return None
    return _fitting(node, CHANNELS.of_output(node, channels_last(rank)))


def _fitting(node: ir.Node, plan: Plan | None) -> Plan | None:
    """A plan is kept only where every permuted output has the rank that the plan gives it."""
    if plan is None:
        return None
    pairs = zip(node.outputs, plan.outputs, strict=True)
    return plan if all(form is None or _fits(value, form) for value, form in pairs) else None


def _fits(value: ir.Value, form: Perm) -> bool:
    return rank_of(value) == len(form) or not (value.uses() or value.is_graph_output())


def _needs(node: ir.Node, plan: Plan) -> list[tuple[ir.Value, Form]]:
    pairs = zip(node.inputs, plan.inputs, strict=True)
    needs = [(value, form) for value, form in pairs if value is not None]
    if isinstance(node.graph, ir.Graph):
        needs += [(value, None) for value in captured(node, node.graph)]
    return needs


def _hold(held: Orders, root: ir.Value, perm: Form, *, first: bool = False) -> None:
    if perm is not None and not is_constant(root):
        known = {} if first else held.setdefault(root, {identity(rank_of(root) or 0): None})
        known[perm] = None
        held[root] = known


def _wants(graph: ir.Graph, roots: Roots, rule_of: RuleOf) -> Orders:
    wants: Orders = {}

    def want(value: ir.Value, form: Form) -> None:
        root, perm = roots.of(value, form)
        if perm is not None and len(perm) == rank_of(root):
            wants.setdefault(root, {})[perm] = None

    for value in graph.outputs:
        want(value, None)
    for node in reversed(graph):
        if node.outputs and node.outputs[0] in roots:
            continue
        plan = _leaning(node, rule_of, wants)
        for value, form in _needs(node, plan) if plan else ():
            want(value, form)
    return wants


def _leaning(node: ir.Node, rule_of: RuleOf, wants: Orders) -> Plan | None:
    """What a node would have its inputs be; None where it does not mind."""
    rule = rule_of(node)
    if rule is None:
        return _as_is(node)
    seed = _seed(node, rule)
    if seed is not None:
        return seed
    data = [value for value in node.inputs if value is not None and not is_constant(value)]
    wanted = [perm for value in node.outputs for perm in wants.get(value, ())]
    if len(data) != 1 or not wanted or volume(data[0]) > volume(node.outputs[0]):
        return None
    special = [perm for perm in wanted if not is_identity(perm)]
    return _fitting(node, rule.of_output(node, special[0])) if special else _as_is(node)


def _chosen(node: ir.Node, roots: Roots, rule_of: RuleOf, wants: Orders, held: Orders) -> Plan:
    rule = rule_of(node)
    if rule is None:
        return _as_is(node)
    seed = _seed(node, rule)
    if seed is not None:
        return seed
    candidates = list(_candidates(node, rule, roots, wants, held))
    if len(candidates) == 1:
        return candidates[0]
    return min(candidates, key=lambda plan: _cost(node, plan, roots, wants, held))


def _candidates(node: ir.Node, rule: Rule, roots: Roots, wants: Orders, held: Orders) -> Iterator[Plan]:
    """Plans worth a look, each once; earlier ones win ties."""
    as_is = _as_is(node)
    seen = {as_is.key}
    wanted = wants.get(node.outputs[0], {})
    if len(wanted) == 1 and is_identity(next(iter(wanted))) and not _follows(node, rule, roots):
        yield as_is
    options = [rule.of_output(node, perm) for perm in wanted if not is_identity(perm)]
    tried: set[Perm] = set()
    for index, value in enumerate(node.inputs):
        if value is None or is_constant(value):
            continue
        for perm in _orders(value, roots, held):
            if not is_identity(perm) and perm not in tried:
                tried.add(perm)
                options.append(rule.of_input(node, index, perm))
    for plan in options:
        if plan is not None and plan.key not in seen and _fitting(node, plan) is not None:
            seen.add(plan.key)
            yield plan
    yield as_is


def _follows(node: ir.Node, rule: Rule, roots: Roots) -> bool:
    """An activation stays with what makes its data, so that a runtime can do both at once; the move comes after it.

    Only where it alone uses this data: else the one move before it serves all users.
    """
    data = [value for value in node.inputs if value is not None and not is_constant(value)]
    if not isinstance(rule, Elementwise) or len(data) != 1:
        return False
    root, _ = roots.of(data[0], None)
    return all(len(value.uses()) == 1 and not value.is_graph_output() for value in {data[0], root})


def _orders(value: ir.Value, roots: Roots, held: Orders) -> Iterator[Perm]:
    """The orders in which a value exists already, as its own, not as its root's."""
    root, own = roots.of(value, None)
    if own is None:
        return
    places = {axis: place for place, axis in enumerate(own)}
    for perm in held.get(root, {identity(len(own)): None}):
        if len(perm) == len(own):
            yield tuple(places[axis] for axis in perm)


def _cost(node: ir.Node, plan: Plan, roots: Roots, wants: Orders, held: Orders) -> int:
    """Bits that must be moved for a plan, and a trifle for each move."""
    total = 0
    for value, form in _needs(node, plan):
        root, perm = roots.of(value, form)
        if perm is not None and not is_constant(root):
            total += _move(root, held.get(root, {identity(rank_of(root) or 0): None}), perm)
    for value, form in zip(node.outputs, plan.outputs, strict=True):
        root, made = roots.of(value, form)
        if made is not None:
            total += sum(_move(root, {made: None}, perm) for perm in wants.get(root, ()))
    return total


def _move(root: ir.Value, existing: dict[Perm, None], perm: Perm) -> int:
    if perm in existing:
        return 0
    dims = dims_of(root)
    return 1 if any(same_but_for_units(dims, known, perm) for known in existing) else 1 + volume(root)
