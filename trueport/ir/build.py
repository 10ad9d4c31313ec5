"""Building an ONNX graph node by node, types and shapes known as soon as a node stands.

    op = Builder(graph)
    y = op.Add(x, op.like(1.0, x))          # an ir.Value
    values, indices = op.several(2).TopK(x, [3])

An input may be a value, None (absent), an array, a list of integers or an integer (int64). Attributes are
keywords; None leaves one out. Nodes mean what they mean at the canonical opsets. Constants stand in the outermost
graph, once each.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import onnx
import onnx_ir as ir
from onnx.defs import OpSchema
from onnx.shape_inference import InferenceError, infer_node_outputs

from trueport.errors import EmitError
from trueport.ir.dtypes import numpy_dtype
from trueport.ir.schemas import CANONICAL_OPSETS, canonical_schema
from trueport.quoting import one_line

__all__ = ["Builder", "Several", "known_array", "text_tensor"]

Operand = ir.Value | np.ndarray | np.generic | Sequence[int] | int | None

_SMALL = 1024
"""Elements up to which a constant is looked at by shape inference, and stored once however often it is made."""


class Builder:
    """Appends nodes to one graph; ``inside()`` makes one for a graph in an attribute."""

    def __init__(self, graph: ir.Graph, outer: Builder | None = None) -> None:
        self.graph = graph
        self._root: Builder = outer._root if outer else self
        self._names: set[str] = outer._names if outer else {value.name or "" for value in graph.inputs}
        self._constants: dict[Any, ir.Value] = outer._constants if outer else {}
        self._counts: dict[str, int] = outer._counts if outer else {}
        self.metadata: dict[str, str] = outer.metadata if outer else {}
        """stamped on each node that is made"""

    @property
    def is_root(self) -> bool:
        """Whether it builds the main graph, not one in an attribute."""
        return self._root is self

    def inside(self, inputs: Sequence[ir.Value] = ()) -> Builder:
        """A builder for a subgraph with these inputs; it sees all values of the graphs around it."""
        for value in inputs:
            value.name = self.fresh(value.name or "input")
        return Builder(ir.Graph(inputs, [], nodes=[], name=self.fresh("body")), self)

    def __getattr__(self, op_type: str) -> Callable[..., ir.Value]:
        if op_type.startswith("_"):
            raise AttributeError(op_type)
        return lambda *inputs, **options: self.add(op_type, inputs, options)

    def several(self, count: int) -> Several:
        """Nodes of several outputs: ``op.several(2).TopK(x, k)`` gives a tuple of two values."""
        return Several(self, count)

    def add(self, op_type: str, inputs: Sequence[Operand], options: Mapping[str, Any]) -> ir.Value:
        """One node; its value."""
        return self.add_several(op_type, 1, inputs, options)[0]

    def add_several(
        self, op_type: str, count: int, inputs: Sequence[Operand], options: Mapping[str, Any]
    ) -> tuple[ir.Value, ...]:
        """One node; its values."""
        attributes = {name: value for name, value in options.items() if value is not None}
        domain = attributes.pop("domain", "")
        values = [self.value(operand) for operand in inputs]
        while values and values[-1] is None:
            values.pop()
        node = ir.node(
            op_type,
            values,
            attributes,
            domain=domain,
            num_outputs=count,
            name=self.fresh(op_type),
            metadata_props=dict(self.metadata),
        )
        for value in node.outputs:
            value.name = self.fresh(node.name or op_type)
        self._place(node)
        self._infer(node, canonical_schema(op_type, domain))
        return tuple(node.outputs)

    def _place(self, node: ir.Node) -> None:
        self.graph.append(node)

    def value(self, operand: Operand) -> ir.Value | None:
        """An operand as a value of the graph."""
        if operand is None or isinstance(operand, ir.Value):
            return operand
        if isinstance(operand, (np.ndarray, np.generic)):
            return self.const(operand)
        return self.const(np.array(operand, np.int64))

    def const(self, array: Any, name: str = "const") -> ir.Value:
        """An initializer; small equal ones are made once."""
        found = np.asarray(array)
        key = (found.dtype, found.shape, repr(found.tolist()) if found.dtype == object else found.tobytes())
        if found.size > _SMALL or key not in self._constants:
            made = self.stored(text_tensor(found) if found.dtype == object else ir.tensor(found), name)
            if found.size > _SMALL:
                return made
            self._constants[key] = made
        return self._constants[key]

    def shared(self, key: Hashable, make: Callable[[], np.ndarray], name: str = "const") -> ir.Value:
        """A constant of any size that is made once for a key of the caller's."""
        if key not in self._constants:
            self._constants[key] = self.stored(ir.tensor(make()), name)
        return self._constants[key]

    def stored(self, tensor: ir.TensorProtocol, name: str) -> ir.Value:
        """An initializer that holds a tensor, which need not be in memory."""
        value = ir.Value(
            name=self.fresh(name),
            shape=ir.Shape(tensor.shape.numpy()),
            type=ir.TensorType(tensor.dtype),
            const_value=tensor,
        )
        self._root.graph.register_initializer(value)
        return value

    def like(self, number: Any, value: ir.Value) -> ir.Value:
        """A constant of another value's element type."""
        assert value.dtype is not None
        with np.errstate(over="ignore"):
            return self.const(np.asarray(number).astype(numpy_dtype(value.dtype)))

    def fresh(self, base: str) -> str:
        """A name that nothing in the model has yet."""
        name = base
        while name in self._names:
            self._counts[base] = self._counts.get(base, 0) + 1
            name = f"{base}_{self._counts[base]}"
        self._names.add(name)
        return name

    def _infer(self, node: ir.Node, schema: OpSchema | None) -> None:
        if schema is None or any(a.type == ir.AttributeType.GRAPH for a in node.attributes.values()):
            return  # who makes a node with graphs knows the types
        given = [value for value in node.inputs if value is not None]
        known = [value for value in given if value.type is not None]
        if len(known) < len(given):
            return
        try:
            found = infer_node_outputs(
                schema,
                ir.serde.serialize_node(node),
                {value.name or "": ir.serde.serialize_value(value).type for value in known},
                input_data=_data(known),
                opset_imports=_opset_imports(),
            )
        except InferenceError as error:
            raise EmitError(
                f"makes {node.op_type} of {' and '.join(f'{v.dtype}{v.shape}' for v in known)}, which ONNX refuses: "
                f"{one_line(error, 300)}",
                remedy="correct the handler that makes it, if it is yours (@maps); else report it with the model",
            ) from error
        for value in node.outputs:
            proto = found.get(value.name or "")
            if proto is not None:
                value.type = ir.serde.deserialize_type_proto_for_type(proto)
                value.shape = ir.serde.deserialize_type_proto_for_shape(proto)


def known_array(value: ir.Value | None) -> np.ndarray | None:
    """The array of a constant, else None."""
    if value is None or value.const_value is None or value.is_graph_input():
        return None
    return np.asarray(value.const_value.numpy())


class _AddsSeveral(Protocol):
    def add_several(
        self, op_type: str, count: int, inputs: Sequence[Any], options: Mapping[str, Any]
    ) -> tuple[ir.Value, ...]: ...


@dataclass(frozen=True)
class Several:
    """A builder of nodes with ``count`` outputs."""

    builder: _AddsSeveral
    count: int

    def __getattr__(self, op_type: str) -> Callable[..., tuple[ir.Value, ...]]:
        if op_type.startswith("_"):
            raise AttributeError(op_type)
        return lambda *inputs, **options: self.builder.add_several(op_type, self.count, inputs, options)


@functools.cache
def _opset_imports() -> list[onnx.OperatorSetIdProto]:
    return [onnx.helper.make_opsetid(domain, version) for domain, version in CANONICAL_OPSETS.items()]


def _data(values: Iterable[ir.Value]) -> dict[str, onnx.TensorProto]:
    return {
        value.name or "": ir.serde.serialize_tensor(value.const_value)
        for value in values
        if value.const_value is not None and value.const_value.size <= _SMALL
    }


def text_tensor(array: np.ndarray) -> ir.StringTensor:
    """A tensor of strings; bytes that are not UTF-8 stay what they are."""
    return ir.StringTensor(_encoded(array))


def _encoded(array: np.ndarray) -> np.ndarray:
    flat = [item if isinstance(item, bytes) else str(item).encode(errors="surrogateescape") for item in array.ravel()]
    encoded = np.empty(len(flat), object)
    encoded[:] = flat
    return encoded.reshape(array.shape)
