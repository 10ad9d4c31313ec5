"""A short way to write ONNX models: ``g.Relu(g.Conv(x, kernel))``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference

__all__ = ["Dims", "Graph", "Two", "Value", "make_two"]

Two = tuple[onnx.ModelProto, onnx.ModelProto]
Dims = Sequence[int | str]
Port = tuple[Any, Dims]
Value = Any
"""the name of a value, or a tuple of names"""


class Graph:
    """An ONNX graph under construction; values are names.

    Operands may be names, arrays (stored as initializers), lists of integers (stored as int64), floats (stored as
    scalars of type ``real``) and None (an omitted operand).
    """

    def __init__(self, real: Any = np.float32, opset: int = 21, prefix: str = "v") -> None:
        self.real = np.dtype(real)
        self.opset = opset
        self.prefix = prefix
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.stored: list[onnx.TensorProto] = []

    def input(self, name: str, dims: Dims, dtype: Any = None) -> str:
        """Declare an input; ``dtype`` None means the graph's floating-point type, ``str`` means strings."""
        kind = (
            onnx.TensorProto.STRING if dtype is str else helper.np_dtype_to_tensor_dtype(np.dtype(dtype or self.real))
        )
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(dims)))
        return name

    def store(self, value: Any) -> str:
        """Store an array as an initializer; floating-point arrays get the graph's type."""
        if isinstance(value, float):
            value = np.asarray(value, np.float64)
        elif isinstance(value, list):
            value = np.asarray(value, np.int64)
        array = np.asarray(value)
        if array.dtype.kind == "f" or array.dtype == ml_dtypes.bfloat16:
            array = array.astype(self.real)
        name = f"{self.prefix}_stored{len(self.stored)}"
        self.stored.append(numpy_helper.from_array(array, name))
        return name

    def add(self, op: str, *operands: Any, outputs: int = 1, domain: str = "", **attributes: Any) -> Value:
        """Append a node; return the name of its output, or a tuple of names if it has several."""
        names = ["" if o is None else o if isinstance(o, str) else self.store(o) for o in operands]
        results = [f"{self.prefix}{len(self.nodes)}_{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(op, names, results, domain=domain, **attributes))
        return results[0] if outputs == 1 else tuple(results)

    def __getattr__(self, op: str) -> Callable[..., Any]:
        if not op[0].isupper():
            raise AttributeError(op)
        return lambda *operands, **attributes: self.add(op, *operands, **attributes)

    def branch(self, outputs: Mapping[str, Port], inputs: Mapping[str, Port] | None = None) -> onnx.GraphProto:
        """Return the nodes as the body of an If or Loop; inputs and outputs are given with type and dims."""
        ins, outs = (
            [
                helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), list(dims))
                for name, (kind, dims) in side.items()
            ]
            for side in (inputs or {}, outputs)
        )
        return helper.make_graph(self.nodes, f"{self.prefix}_body", ins, outs, self.stored)

    def finish(self, *outputs: str, kinds: Sequence[Any] = ()) -> onnx.ModelProto:
        """Return the model; ``kinds`` are the outputs' types where shape inference cannot tell them."""
        named = [f"y{k}" for k in range(len(outputs))]
        for name, output in zip(named, outputs, strict=True):
            self.nodes.append(helper.make_node("Identity", [output], [name]))
        declared = [onnx.ValueInfoProto(name=name) for name in named]
        for info, kind in zip(declared, kinds, strict=False):
            info.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        graph = helper.make_graph(self.nodes, "graph", self.inputs, declared, self.stored)
        imports = [helper.make_opsetid("", self.opset)]
        if any(node.domain == "ai.onnx.ml" for node in self.nodes):
            imports.append(helper.make_opsetid("ai.onnx.ml", 3))
        model = helper.make_model(graph, opset_imports=imports, ir_version=10)
        model = shape_inference.infer_shapes(model, strict_mode=not kinds)
        del model.graph.value_info[:]
        onnx.checker.check_model(model)
        return model


def make_two(
    inputs: Mapping[str, Dims],
    before: Callable[..., Any],
    after: Callable[..., Any],
    real: Any = np.float32,
    opset: int = 21,
    dtypes: Mapping[str, Any] | None = None,
) -> Two:
    """Return two models of the same inputs; ``before`` and ``after`` get the graph and the inputs' names."""
    models = []
    for write in (before, after):
        graph = Graph(real, opset)
        names = [graph.input(name, dims, (dtypes or {}).get(name)) for name, dims in inputs.items()]
        outputs = write(graph, *names)
        models.append(graph.finish(*([outputs] if isinstance(outputs, str) else outputs)))
    return models[0], models[1]
