"""A few nodes of the canonical graph as a model of their own, which ONNX Runtime runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import onnx_ir as ir

from trueport.ir.schemas import CANONICAL_OPSETS
from trueport.passes.lower.model import lower_model
from trueport.passes.to_onnx import NEWEST_OPSET
from trueport.reference.onnx.evaluate import captured
from trueport.runtimes.ort_kernels import readable_opset

__all__ = ["part_model"]


def part_model(nodes: Sequence[ir.Node], output: str, arrays: Mapping[str, np.ndarray]) -> onnx.ModelProto:
    """Return a model of a few nodes, which takes ``arrays`` by name and gives ``output``."""
    used = [value for node in nodes for value in (*node.inputs, *captured(node)) if value is not None]
    constants = {v.name or "": v.const_value for v in used if v.const_value is not None}
    types = {v.name: v for v in used}
    inputs = [
        onnx.helper.make_tensor_value_info(name, int(_dtype(types[name], array)), array.shape)
        for name, array in arrays.items()
    ]
    made = next(value for node in nodes for value in node.outputs if value.name == output)
    shape = None if made.shape is None else [d if isinstance(d, int) else None for d in made.shape]
    outputs = [onnx.helper.make_tensor_value_info(output, int(made.dtype or 0), shape)]
    graph = onnx.helper.make_graph(
        [ir.to_proto(node) for node in nodes],
        "reproducer",
        inputs,
        outputs,
        [onnx.numpy_helper.from_array(np.asarray(tensor.numpy()), name) for name, tensor in constants.items()],
    )
    opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in CANONICAL_OPSETS.items()]
    own = dict.fromkeys(node.domain for node in nodes if node.domain not in CANONICAL_OPSETS)
    opsets += [onnx.helper.make_opsetid(domain, 1) for domain in own]
    model = ir.from_proto(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10))
    lower_model(model, min(NEWEST_OPSET, readable_opset()))
    return ir.to_proto(model)


def _dtype(value: ir.Value, array: np.ndarray) -> ir.DataType:
    if value.dtype is not None:
        return value.dtype
    return ir.DataType.STRING if array.dtype.kind in "OUS" else ir.DataType.from_numpy(array.dtype)
