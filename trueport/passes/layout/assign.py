"""The pass: decide, then rewrite each graph with transposes only where regions meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import onnx_ir as ir

from trueport.ir.layouts import (
    Perm,
    add_alias,
    compose,
    held_names,
    identity,
    inverse,
    is_identity,
    lift,
    rewrite_held,
)
from trueport.passes.layout.decide import decide, rules_of, subgraphs_of
from trueport.passes.layout.plan import Form, Plan, Rule, dims_of
from trueport.passes.layout.roots import Roots, same_but_for_units
from trueport.passes.layout.rules import RULES
from trueport.passes.layout.workshop import Workshop

__all__ = ["assign_layouts"]


def assign_layouts(
    model: ir.Model, honours_channels_last: Callable[[ir.Node], bool], rules: Mapping[str, Rule] = RULES
) -> None:
    """Run operators with a channel axis, and what lies between them, on channel-last data, in place.

    ``honours_channels_last`` says of a node whether the target's handler takes input 0 and makes output 0
    channel-last when ``node.meta["channels_last"]`` is set. Shapes must be inferred. The graph's inputs and
    outputs stay as they are; an inner value that is held in another order says so (see trueport.ir.layouts).
    ``rules``: how the target's operators carry an order of axes, by name.
    """
    shop = Workshop(model)
    _assign(model.graph, shop, rules_of(honours_channels_last, rules))


def _assign(graph: ir.Graph, shop: Workshop, rule_of: Callable[[ir.Node], Rule | None]) -> None:
    roots = Roots(graph)
    _Rewrite(graph, shop, roots).run(decide(graph, roots, rule_of))
    for node in graph:
        for subgraph in subgraphs_of(node):
            _assign(subgraph, shop, rule_of)


class _Rewrite:
    """One graph's rewriting: which value holds which order of each root."""

    def __init__(self, graph: ir.Graph, shop: Workshop, roots: Roots) -> None:
        self._graph = graph
        self._shop = shop
        self._roots = roots
        self._values: dict[ir.Value, dict[Perm, ir.Value]] = {}
        self._dims: dict[ir.Value, tuple[int | str | None, ...]] = {}
        self._original_names: dict[ir.Value, str] = {}
        self._first = next(iter(graph), None)

    def run(self, plans: dict[ir.Node, Plan]) -> None:
        for node in list(self._graph):
            if not node.outputs or node.outputs[0] not in self._roots:
                self._rewrite(node, plans.get(node))
        for place, value in enumerate(self._graph.outputs):
            self._graph.outputs[place] = self._output(value)
        self._note_aliases()
        for node in reversed(self._roots.nodes):
            self._graph.remove(node, safe=True)

    def _rewrite(self, node: ir.Node, plan: Plan | None) -> None:
        forms = plan.inputs if plan else (None,) * len(node.inputs)
        for index, (value, form) in enumerate(zip(node.inputs, forms, strict=True)):
            if value is not None:
                node.replace_input_with(index, self._get(value, form))
        self._restore_captured(node)
        if plan is None:
            return
        for value, made in zip(node.outputs, plan.outputs, strict=True):
            if made is not None and not is_identity(made) and value.shape is not None:
                self._turn(value, made)
        if plan.edit:
            plan.edit(node, self._shop)

    def _restore_captured(self, node: ir.Node) -> None:
        """Subgraphs see outer values in the model's order.

        All places are collected before any is changed: what is put in place of one value may be another value
        that the subgraph uses too.
        """
        graphs = [graph for inside in subgraphs_of(node) for graph in (inside, *inside.subgraphs())]
        inputs = [
            (user, index, value)
            for graph in graphs
            for user in graph
            for index, value in enumerate(user.inputs)
            if value is not None and value.graph is self._graph
        ]
        outputs = [
            (graph, place, value)
            for graph in graphs
            for place, value in enumerate(graph.outputs)
            if value.graph is self._graph
        ]
        for user, index, value in inputs:
            user.replace_input_with(index, self._get(value, None))
        for graph, place, value in outputs:
            graph.outputs[place] = self._get(value, None)

    def _turn(self, value: ir.Value, perm: Perm) -> None:
        """A node's output is from now on the permuted data; its old name is free for the model's order."""
        dims = dims_of(value)
        name = value.name or ""
        self._dims[value] = dims
        self._original_names[value] = name
        self._values[value] = {perm: value}
        value.shape = ir.Shape([dims[axis] for axis in perm])
        self._name(value, value, perm)
        # Names of values that were found to be this one are held as it is.
        aliases = {alias: compose(order, perm) for alias, order in held_names(value).items()}
        rewrite_held(value, {name: perm, **aliases})

    def _name(self, held: ir.Value, root: ir.Value, perm: Perm) -> None:
        """The model's own name for this order of the root if it has one, else the root's with the order."""
        original = self._original_names.get(root, root.name or "value")
        alias = self._roots.names.get(root, {}).get(perm)
        rank = len(self._dims.get(root) or dims_of(root))
        if is_identity(perm) and len(perm) == rank:
            held.name = original
        elif alias:
            held.name = alias
        else:
            held.name = self._shop.fresh(f"{original}@{''.join(map(str, perm))}")
            if held is not root and len(perm) == rank:
                add_alias(held, original, perm)

    def _get(self, value: ir.Value, form: Form) -> ir.Value:
        """The value that holds this order, made by a transpose when there is none."""
        root, perm = self._roots.of(value, form)
        if perm is None:
            return value
        dims = self._dims.get(root) or dims_of(root)
        known = self._values.setdefault(root, {identity(len(dims)): root})
        if perm not in known:
            known[perm] = self._move(root, dims, known, perm)
        return known[perm]

    def _move(
        self, root: ir.Value, dims: tuple[int | str | None, ...], known: dict[Perm, ir.Value], perm: Perm
    ) -> ir.Value:
        orders = [order for order in known if len(order) == len(dims)]
        alike = [order for order in orders if same_but_for_units(dims, order, perm)]
        source = (alike or [order for order in orders if is_identity(order)] or orders)[0]
        lifted = (1,) * (len(perm) - len(dims)) + dims
        shape = [lifted[axis] for axis in perm]
        open_dims = sum(not isinstance(dim, int) for dim in shape)
        origin = root.producer()
        if alike and open_dims <= 1 and 0 not in shape:
            target = self._shop.constant(
                self._graph,
                f"{self._original_names.get(root, root.name)}.shape",
                np.array([dim if isinstance(dim, int) else -1 for dim in shape], np.int64),
            )
            made = self._shop.node("Reshape", [known[source], target], {}, "moved", shape, root.dtype, origin)
            self._place([made], known[source])
        else:
            made = self._transpose(known[source], source, lifted, perm, origin)
        self._name(made.outputs[0], root, perm)
        made.name = f"{made.op_type}:{made.outputs[0].name}"
        return made.outputs[0]

    def _transpose(
        self,
        held: ir.Value,
        order: Perm,
        lifted: tuple[int | str | None, ...],
        perm: Perm,
        origin: ir.Node | None,
    ) -> ir.Node:
        steps = []
        added = len(perm) - len(order)
        start = lift(order, len(perm))
        if added:
            axes = self._shop.constant(self._graph, f"{held.name}.axes", np.arange(added, dtype=np.int64))
            shape = [lifted[axis] for axis in start]
            steps.append(
                self._shop.node("Unsqueeze", [held, axes], {}, f"{held.name}.lifted", shape, held.dtype, origin)
            )
        data = steps[-1].outputs[0] if steps else held
        relative = compose(inverse(start), perm)
        shape = [lifted[axis] for axis in perm]
        steps.append(self._shop.node("Transpose", [data], {"perm": relative}, "moved", shape, held.dtype, origin))
        self._place(steps, held)
        return steps[-1]

    def _place(self, nodes: list[ir.Node], source: ir.Value) -> None:
        """Right behind what makes the source, so that all later users can share it."""
        producer = source.producer()
        if producer is not None and producer.graph is self._graph:
            self._graph.insert_after(producer, nodes)
        else:
            assert self._first is not None
            self._graph.insert_before(self._first, nodes)

    def _output(self, value: ir.Value) -> ir.Value:
        """A graph's output in the model's order and under the model's name."""
        name = self._original_names.get(value, value.name)
        held = self._get(value, None)
        if held.name == name and (held is value or not held.is_graph_output()):
            return held
        made = self._shop.node("Identity", [held], {}, name or "output", [], held.dtype, held.producer())
        made.outputs[0].name = name
        made.outputs[0].shape = held.shape
        self._graph.append(made)
        return made.outputs[0]

    def _note_aliases(self) -> None:
        """A transposed value of the model that no node makes any more is found through its root."""
        for alias, root, perm in self._roots.aliases():
            known = self._values.get(root, {identity(len(perm)): root})
            if perm in known and known[perm].name == alias.name:
                continue
            order, value = next((order, value) for order, value in known.items() if len(order) == len(perm))
            add_alias(value, alias.name or "", compose(inverse(perm), order))
