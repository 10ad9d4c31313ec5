"""A small builder of ONNX models, and what a model of the catalogue is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["Net", "Sketch", "net"]

Bounds = Mapping[str, tuple[float, float]]


@dataclasses.dataclass(frozen=True)
class Net:
    """A model of the catalogue: how it is made, and what its inputs may be."""

    name: str
    make: Callable[[], onnx.ModelProto]
    bounds: Bounds = dataclasses.field(default_factory=dict)
    """smallest and largest element of inputs that do not take any number; of integers both may occur"""
    texts: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    """elements of string inputs"""
    sizes: tuple[int, ...] = (2, 1, 3, 5)
    """of all dynamic dimensions, the default first"""
    cached: bool = False
    """made by a framework, which takes seconds: kept in a file"""


class Sketch:
    """A graph under construction; values are their names, weights are drawn from a seed."""

    def __init__(self, name: str, opset: int = 21, dtype: Any = np.float32) -> None:
        self.name, self.opset, self.dtype = name, opset, dtype
        self.rng = np.random.default_rng([ord(letter) for letter in name])
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.declared: dict[str, onnx.ValueInfoProto] = {}
        self.prefix = ""
        self._insides = 0

    def input(self, name: str, shape: list[Any], dtype: int = TensorProto.FLOAT) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def weight(self, *shape: int, scale: float = 0.4, shift: float = 0.0) -> str:
        return self.constant((self.rng.normal(size=shape) * scale + shift).astype(self.dtype))

    def positive(self, *shape: int) -> str:
        return self.constant((np.abs(self.rng.normal(size=shape)) + 0.2).astype(self.dtype))

    def constant(self, array: Any) -> str:
        name = f"{self.name}.w{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def number(self, value: float) -> str:
        return self.constant(np.asarray(value, self.dtype))

    def integers(self, *values: int) -> str:
        return self.constant(np.asarray(values, np.int64))

    def __call__(self, op: str, *inputs: str, outputs: int = 1, domain: str = "", **attributes: Any) -> Any:
        """Append a node; return the name of its output, or a list of them."""
        number = f"{self.prefix}{len(self.nodes)}"
        names = [f"{op.lower()}.{number}{f'.{n}' if n else ''}" for n in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=f"n{number}", domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def declare(self, name: str, shape: list[Any], dtype: int = TensorProto.FLOAT) -> str:
        """State type and shape of an output that shape inference does not know."""
        self.declared[name] = helper.make_tensor_value_info(name, dtype, shape)
        return name

    def body(self, inputs: list[onnx.ValueInfoProto], outputs: list[onnx.ValueInfoProto], name: str) -> onnx.GraphProto:
        """Return the nodes so far as a subgraph; constants stay in the outer graph."""
        return helper.make_graph(self.nodes, name, inputs, outputs)

    def inside(self) -> Sketch:
        """Return a sketch for a subgraph; it shares the constants."""
        inner = Sketch(self.name, self.opset, self.dtype)
        self._insides += 1
        inner.prefix = f"{self.prefix}inner{self._insides}."
        inner.initializers, inner.rng = self.initializers, self.rng
        return inner

    def finish(self, *outputs: str) -> onnx.ModelProto:
        """Return the model; output types are inferred unless declared."""
        values = [self.declared.get(name, onnx.ValueInfoProto(name=name)) for name in outputs]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, values, self.initializers)
        versions = [("", self.opset), ("ai.onnx.ml", 3), ("com.microsoft", 1)]
        used = {node.domain for node in self.nodes}
        imports = [helper.make_opsetid(d, v) for d, v in versions if not d or d in used]
        model = helper.make_model(graph, opset_imports=imports, ir_version=10)
        inferred = {value.name: value for value in onnx.shape_inference.infer_shapes(model).graph.output}
        for value in model.graph.output:
            if value.name not in self.declared:
                value.CopyFrom(inferred[value.name])
        return model


def net(
    name: str, draw: Callable[[Sketch], onnx.ModelProto], *, opset: int = 21, dtype: Any = np.float32, **known: Any
) -> Net:
    """Return a model of the catalogue that a function draws into a sketch."""
    return Net(name, lambda: draw(Sketch(name, opset, dtype)), **known)
