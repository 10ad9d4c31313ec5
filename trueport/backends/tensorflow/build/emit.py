"""From the canonical graph to TensorFlow operations: the only loop over nodes in this backend."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import onnx_ir as ir

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.clustering import clustering_of
from trueport.backends.tensorflow.build.context import Emission
from trueport.backends.tensorflow.build.dtypes import onnx_dtype
from trueport.backends.tensorflow.build.passage import captured
from trueport.backends.tensorflow.build.weights import WeightStore
from trueport.errors import EmitError, InvalidModel, TrueportError
from trueport.ir.artifact import InnerValue
from trueport.ir.layouts import source_names
from trueport.ir.places import place
from trueport.ir.schemas import canonical_schema
from trueport.mapping.bind import bind, input_name
from trueport.mapping.declare import OpMapping
from trueport.mapping.registry import Registry
from trueport.quoting import plain_text

__all__ = ["Scope", "emit_graph"]


def emit_graph(
    graph: ir.Graph, inputs: Sequence[Any], registry: Registry, weights: WeightStore
) -> tuple[list[Any], dict[str, InnerValue]]:
    """Build the graph in the current TensorFlow function.

    Returns the outputs, and for each top-level ONNX value the tensor that holds it.
    """
    scope = Scope(registry, weights)
    outputs = scope.run_graph(graph, inputs)
    return outputs, scope.held_values


class Scope:
    """The values known at a place in the graph: this graph's own, then those of the graphs around it."""

    def __init__(self, registry: Registry, weights: WeightStore, outer: Scope | None = None) -> None:
        self.registry = registry
        self.weights = weights
        self._outer = outer
        self._values: dict[ir.Value, Any] = {}
        self._replaced: Mapping[ir.Value, Any] = {}
        self._weights: dict[tuple[Any, ir.Value, tuple[int, ...] | None], Any] = {}

    @property
    def held_values(self) -> dict[str, InnerValue]:
        """The plain tensors made here, by ONNX value name, with the layout they are held in."""
        found: dict[str, InnerValue] = {}
        for value, made in self._values.items():
            for name, perm in source_names(value).items() if value.name and tf.is_tensor(made) else ():
                if perm is None or name not in found:
                    found[name] = InnerValue(made.name, perm)
        return found

    def run_graph(self, graph: ir.Graph, inputs: Sequence[Any]) -> list[Any]:
        """Translate all nodes in order; the values of the graph's outputs."""
        if len(inputs) != len(graph.inputs):
            raise InvalidModel(
                f"its graph {graph.name!r} takes {len(graph.inputs)} inputs, but is given {len(inputs)}",
                remedy="give the graph in its attribute the inputs that the operator passes to it",
            )
        self._bind(graph.inputs, inputs)
        for node in graph:
            self._run_node(node)
        return [self.value(value) for value in graph.outputs]

    def run_subgraph(self, graph: ir.Graph, inputs: Sequence[Any]) -> list[Any]:
        """The same in a scope inside this one (a branch, a loop body)."""
        return Scope(self.registry, self.weights, self).run_graph(graph, inputs)

    def named(self, name: str, before: ir.Node) -> ir.Value | None:
        """The value of this name that is known at a node."""
        graph = before.graph
        if graph is not None and name in graph.initializers:
            return graph.initializers[name]
        found = [value for value in self._values if value.name == name]
        if found or self._outer is None:
            return found[0] if found else None
        return self._outer.named(name, before)

    def recompute(self, target: ir.Value, places: Mapping[ir.Value, Any]) -> Any:
        """``target`` once more, with other tensors in the places of some values; what they do not reach stays."""
        scope = Scope(self.registry, self.weights, self)
        scope._values.update(places)
        scope._replaced = places
        for node in _between(places, target):
            scope._run_node(node)
        return scope.value(target)

    def value(self, value: ir.Value) -> Any:
        """What stands for an ONNX value in TensorFlow."""
        if value in self._values:
            return self._values[value]
        if value.const_value is not None:
            return self.weight(value, None)
        assert self._outer is not None, f"nothing makes the value {value.name!r}: seen when the model is read"
        return captured(self._outer.value(value))

    def weight(self, value: ir.Value, perm: tuple[int, ...] | None) -> Any:
        """An initializer, permuted, read once per TensorFlow function; any other value transposed."""
        if value.const_value is None or self._is_replaced(value):
            made = self.value(value)
            return tf.transpose(made, perm) if perm else made
        # The graph itself, not its id: another one may get the id of a graph that is gone.
        key = (tf.compat.v1.get_default_graph(), value, perm)
        if key not in self._weights:
            self._weights[key] = self.weights.tensor(value, perm)
        return self._weights[key]

    def _is_replaced(self, value: ir.Value) -> bool:
        return value in self._replaced or (self._outer is not None and self._outer._is_replaced(value))

    def _run_node(self, node: ir.Node) -> None:
        mapping = self.registry.find(node.op_type, node.domain)
        assert mapping is not None, "what has no mapping is refused before"
        schema = canonical_schema(node.op_type, node.domain)
        try:
            with tf.name_scope(_scope_name(node)), clustering_of(node, mapping):
                bound = bind(node, schema, mapping.handler, mapping.ignores)
                made = bound.call(mapping.handler, Emission(node, self), self._reader(node, mapping))
        except TrueportError as error:
            if not error.where:
                error.where = place(node)
            raise
        except Exception as error:
            raise EmitError(
                f"its translation failed: {type(error).__name__}: {plain_text(error)}",
                where=place(node),
                remedy="correct its handler, if it is yours (@maps); else report it with the node",
            ) from error
        self._keep(node, made if type(made) in (tuple, list) else (made,))

    def _reader(self, node: ir.Node, mapping: OpMapping) -> Callable[[ir.Value], Any]:
        """Return how the handler's inputs are looked up: weights taken only in the handler's own order are not read."""
        weights = {value for value in node.inputs if value is not None and value.const_value is not None}
        read = {
            value
            for index, value in enumerate(node.inputs)
            if not mapping.reordered or input_name(mapping, index) not in mapping.reordered
        }
        described = weights - read
        return lambda value: self.weights.spec(value) if value in described else self.value(value)

    def _keep(self, node: ir.Node, made: Iterable[Any]) -> None:
        results = list(made)
        if len(results) < len(node.outputs):
            raise EmitError(
                f"its translation gave {len(results)} results for {len(node.outputs)} outputs",
                where=place(node),
                remedy="let its handler (@maps) return as many",
            )
        self._bind(node.outputs, results)

    def _bind(self, values: Iterable[ir.Value], made: Iterable[Any]) -> None:
        for value, result in zip(values, made, strict=False):
            self._values[value] = result
            # ONNX infers no types behind an operator that it does not define, nor into every subgraph: the
            # tensor knows its own.
            if value.type is None and tf.is_tensor(result) and result.dtype != tf.variant:
                value.type = ir.TensorType(onnx_dtype(result.dtype))


def _between(places: Iterable[ir.Value], target: ir.Value) -> list[ir.Node]:
    """The nodes that lead from some values to another, in order."""
    producer = target.producer()
    if producer is None or producer.graph is None:
        return []
    reached = set(places)
    after = []
    for node in producer.graph:
        if not reached.isdisjoint(_uses(node)) and reached.isdisjoint(node.outputs):
            reached.update(node.outputs)
            after.append(node)
    needed, chain = {target}, []
    for node in reversed(after):
        if not needed.isdisjoint(node.outputs):
            needed.update(_uses(node))
            chain.append(node)
    return chain[::-1]


def _uses(node: ir.Node) -> set[ir.Value]:
    """The values a node takes, those that its subgraphs take from outside included."""
    found = {value for value in node.inputs if value is not None}
    for attribute in node.attributes.values():
        if attribute.type == ir.AttributeType.GRAPH:
            inner = attribute.as_graph()
            found.update(value for node in inner.all_nodes() for value in node.inputs if value is not None)
            found.update(inner.outputs)
    return found


def _scope_name(node: ir.Node) -> str:
    plain = re.sub(r"[^A-Za-z0-9_.\-]", "_", node.name or node.op_type)
    return plain if plain[0].isalnum() else "n" + plain
