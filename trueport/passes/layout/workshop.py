"""New nodes and constants for a graph that is being rewritten, under names that are free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.ir.provenance import inherit

__all__ = ["Workshop"]

MADE_BY = "pass:layout"


class Workshop:
    """One for the whole model, so that names stay unique over all its graphs."""

    def __init__(self, model: ir.Model) -> None:
        self._names: set[str] = set()
        for graph in model.graphs():
            self._names.update(name for name in graph.initializers if name)
            self._names.update(value.name for value in graph.inputs if value.name)
            self._names.update(value.name for node in graph for value in node.outputs if value.name)

    def fresh(self, name: str) -> str:
        """This name, or with a number when it is taken."""
        found, count = name, 1
        while found in self._names:
            count += 1
            found = f"{name}.{count}"
        self._names.add(found)
        return found

    def constant(self, graph: ir.Graph, name: str, array: np.ndarray) -> ir.Value:
        """A new initializer."""
        tensor = ir.tensor(array, name=self.fresh(name))
        value = ir.Value(
            name=tensor.name, shape=ir.Shape(array.shape), type=ir.TensorType(tensor.dtype), const_value=tensor
        )
        graph.register_initializer(value)
        return value

    def ints(self, node: ir.Node, what: str, items: Sequence[int]) -> ir.Value:
        """A new int64 parameter for a node."""
        assert node.graph is not None and isinstance(node.graph, ir.Graph)
        return self.constant(node.graph, f"{node.outputs[0].name}.{what}", np.array(items, np.int64))

    def node(
        self,
        op: str,
        inputs: Sequence[ir.Value],
        attributes: Mapping[str, Any],
        name: str,
        shape: Sequence[Any],
        dtype: ir.DataType | None,
        origin: ir.Node | None,
    ) -> ir.Node:
        """A node with one output, not yet in a graph."""
        made = ir.node(op, inputs, attributes)
        output = made.outputs[0]
        output.name = self.fresh(name)
        output.shape = ir.Shape(shape)
        output.type = None if dtype is None else ir.TensorType(dtype)
        inherit([made], *([origin] if origin else []), by=MADE_BY)
        made.name = f"{op}:{output.name}"
        return made

    def set_input(self, node: ir.Node, index: int, value: ir.Value) -> None:
        """Put a value at an input that may be beyond the present ones."""
        if index >= len(node.inputs):
            node.resize_inputs(index + 1)
        node.replace_input_with(index, value)

    def take(self, node: ir.Node, index: int, what: str, places: Sequence[int]) -> None:
        """Reorder the elements of a vector parameter: now when it is constant, at run time when it is computed."""
        value = node.inputs[index]
        assert value is not None and node.graph is not None and isinstance(node.graph, ir.Graph)
        if value.const_value is not None and not value.is_graph_input():
            array = np.asarray(value.const_value.numpy())[list(places)]
            taken = self.constant(node.graph, f"{node.outputs[0].name}.{what}", array)
        else:
            indices = self.ints(node, f"{what}.places", places)
            name = f"{node.outputs[0].name}.{what}"
            gather = self.node("Gather", [value, indices], {"axis": 0}, name, [len(places)], value.dtype, node)
            node.graph.insert_before(node, gather)
            taken = gather.outputs[0]
        node.replace_input_with(index, taken)
