"""One node of a copy of a model, and the edits that faults are made of."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.defs import OpSchema

__all__ = ["FLOATS", "INTEGERS", "Facts", "Site", "Tensor", "open_site", "subgraphs", "walk"]

FLOATS = frozenset({onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16})
INTEGERS = frozenset(
    getattr(onnx.TensorProto, name)
    for name in ("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64")
)


@dataclasses.dataclass(frozen=True)
class Tensor:
    """What is known of a value: element type and, on the default inputs, its shape (None: unknown)."""

    dtype: int
    shape: tuple[int, ...] | None


Facts = Mapping[str, Tensor]
"""By the value's name, those of subgraphs included."""


def subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """Yield the graphs that a node has as attributes."""
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g


Where = tuple[onnx.GraphProto, int, tuple[onnx.NodeProto, ...]]


def walk(graph: onnx.GraphProto, holders: tuple[onnx.NodeProto, ...] = ()) -> Iterator[Where]:
    """Yield graph, position and holding nodes of every node, those of subgraphs right behind their holder."""
    for position, node in enumerate(graph.node):
        yield graph, position, holders
        for inner in subgraphs(node):
            yield from walk(inner, (*holders, node))


@dataclasses.dataclass
class Site:
    """A node that a fault is put into; all edits are made in place, on the copy ``model``."""

    model: onnx.ModelProto
    graph: onnx.GraphProto
    position: int
    holders: tuple[onnx.NodeProto, ...]
    facts: Facts
    rng: np.random.Generator

    @property
    def node(self) -> onnx.NodeProto:
        node: onnx.NodeProto = self.graph.node[self.position]
        return node

    @property
    def op(self) -> str:
        return self.node.op_type

    @property
    def schema(self) -> OpSchema | None:
        """Return the schema at the model's opset; None for operators that ONNX does not define."""
        return schema_of(self.model, self.node)

    # Attributes.

    def attribute(self, name: str) -> Any:
        """Return an attribute's value, or the schema's default, or None."""
        for attribute in self.node.attribute:
            if attribute.name == name:
                return helper.get_attribute_value(attribute)
        schema = self.schema
        if schema is None or name not in schema.attributes or not schema.attributes[name].default_value.name:
            return None
        return helper.get_attribute_value(schema.attributes[name].default_value)

    def set_attribute(self, name: str, value: Any) -> None:
        self.drop_attribute(name)
        self.node.attribute.append(helper.make_attribute(name, value))

    def drop_attribute(self, name: str) -> bool:
        """Remove an attribute; False if the node did not have it."""
        kept = [attribute for attribute in self.node.attribute if attribute.name != name]
        dropped = len(kept) < len(self.node.attribute)
        kept = [copy.deepcopy(attribute) for attribute in kept]
        del self.node.attribute[:]
        self.node.attribute.extend(kept)
        return dropped

    # Operands.

    def formal(self, slot: int) -> str:
        """Return the name that the schema gives to an input, '' without a schema."""
        schema = self.schema
        if schema is None or not schema.inputs:
            return ""
        return str(schema.inputs[min(slot, len(schema.inputs) - 1)].name)

    def slot_of(self, formal: str) -> int | None:
        """Return the position of a formal input that the node has, None if it is not there."""
        schema = self.schema
        names = [str(item.name) for item in schema.inputs] if schema is not None else []
        slot = names.index(formal) if formal in names else len(self.node.input)
        return slot if slot < len(self.node.input) and self.node.input[slot] else None

    def constant(self, slot: int) -> np.ndarray | None:
        """Return the operand's array where it is an initializer or a Constant node, else None."""
        if slot >= len(self.node.input) or not self.node.input[slot]:
            return None
        return self.constant_named(self.node.input[slot])

    def constant_named(self, name: str) -> np.ndarray | None:
        for graph in self._scopes():
            for tensor in graph.initializer:
                if tensor.name == name:
                    return numpy_helper.to_array(tensor)
            for node in graph.node:
                if node.op_type == "Constant" and node.output[0] == name:
                    return _constant_array(node)
        return None

    def constants(self) -> list[tuple[int, np.ndarray]]:
        """Return position and array of all constant operands."""
        pairs = ((slot, self.constant(slot)) for slot in range(len(self.node.input)))
        return [(slot, array) for slot, array in pairs if array is not None]

    def set_constant(self, slot: int, array: np.ndarray) -> None:
        """Let this node alone read another array: the old one may be shared."""
        self.node.input[slot] = self.add_constant(array)

    def add_constant(self, array: Any) -> str:
        name = self.fresh("constant")
        self.model.graph.initializer.append(
            numpy_helper.from_array(np.ascontiguousarray(array).reshape(np.shape(array)), name)
        )
        return name

    def tensor(self, name: str) -> Tensor | None:
        known = self.facts.get(name)
        if known is None and (array := self.constant_named(name)) is not None:
            return Tensor(helper.np_dtype_to_tensor_dtype(array.dtype), tuple(array.shape))
        return known

    def input(self, slot: int) -> Tensor | None:
        """Return what is known of an operand, None if it is absent or unknown."""
        if slot >= len(self.node.input) or not self.node.input[slot]:
            return None
        return self.tensor(self.node.input[slot])

    def output(self, slot: int = 0) -> Tensor | None:
        return self.facts.get(self.node.output[slot]) if slot < len(self.node.output) else None

    # Nodes.

    def fresh(self, base: str) -> str:
        """Return a value name that is not used in the model."""
        taken = {name for graph, at, _ in walk(self.model.graph) for name in graph.node[at].output}
        taken |= {tensor.name for tensor in self.model.graph.initializer} | set(self.facts)
        return next(name for name in (f"{base}_{n}" for n in range(10**6)) if name not in taken)

    def before(self, slot: int, op: str, *extra: str, outputs: int = 1, **attributes: Any) -> str:
        """Let operand ``slot`` pass through a new node first; return the new operand's name."""
        name = self.insert(op, [self.node.input[slot], *extra], **attributes)
        self.node.input[slot] = name
        return name

    def insert(self, op: str, inputs: Sequence[str], domain: str = "", **attributes: Any) -> str:
        """Put a node ahead of this one; return its output."""
        name = self.fresh(op.lower())
        self.graph.node.insert(
            self.position, helper.make_node(op, inputs, [name], name=name, domain=domain, **attributes)
        )
        self.position += 1
        return name

    def after(self, op: str, *extra: str, slot: int = 0, **attributes: Any) -> None:
        """Let an output pass through a new node, which takes over its name."""
        name, inner = self.node.output[slot], self.fresh("before")
        self.node.output[slot] = inner
        made = helper.make_node(op, [inner, *extra], [name], name=self.fresh(op.lower()), **attributes)
        self.graph.node.insert(self.position + 1, made)

    def become(self, op: str, inputs: Sequence[str], **attributes: Any) -> None:
        """Replace the node by another one with the same first output; further outputs are removed."""
        made = helper.make_node(op, inputs, [self.node.output[0]], name=self.node.name, **attributes)
        del self.graph.node[self.position]
        self.graph.node.insert(self.position, made)

    def visible_before(self) -> list[str]:
        """Return values that the node could read instead: of its own graph, computed earlier, and graph inputs."""
        names = [value.name for value in self.graph.input]
        return names + [name for node in list(self.graph.node)[: self.position] for name in node.output if name]

    def pick(self, items: Sequence[Any]) -> Any:
        """Draw one of the items, None if there are none."""
        return items[int(self.rng.integers(len(items)))] if items else None

    def _scopes(self) -> list[onnx.GraphProto]:
        inner = [graph for holder in self.holders for graph in subgraphs(holder)]
        return [self.model.graph, *inner, self.graph]


def schema_of(model: onnx.ModelProto, node: onnx.NodeProto) -> OpSchema | None:
    versions = {item.domain if item.domain != "ai.onnx" else "": item.version for item in model.opset_import}
    domain = "" if node.domain == "ai.onnx" else node.domain
    try:
        return onnx.defs.get_schema(node.op_type, versions.get(domain, 1), domain)
    except onnx.defs.SchemaError:
        return None


def open_site(model: onnx.ModelProto, index: int, facts: Facts, rng: np.random.Generator) -> Site:
    """Return node ``index`` (as `walk` counts) of a copy of the model."""
    changed = copy.deepcopy(model)
    for number, (graph, position, holders) in enumerate(walk(changed.graph)):
        if number == index:
            return Site(changed, graph, position, holders, facts, rng)
    raise IndexError(f"the model has no node {index}")


def _constant_array(node: onnx.NodeProto) -> np.ndarray | None:
    for attribute in node.attribute:
        value = helper.get_attribute_value(attribute)
        if attribute.name == "value":
            return numpy_helper.to_array(value)
        if attribute.name in ("value_float", "value_floats"):
            return np.asarray(value, np.float32)
        if attribute.name in ("value_int", "value_ints"):
            return np.asarray(value, np.int64)
    return None
