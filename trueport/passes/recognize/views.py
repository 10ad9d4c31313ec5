"""A weight that is used in one other shape or precision only is stored so: no node changes it when the model runs."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.ir.dtypes import numpy_dtype
from trueport.ir.replace import remove_node, replace_value
from trueport.passes.recognize.match import dims_of, is_constant

__all__ = ["store_casts", "store_views"]


_HALVES = frozenset({ir.DataType.FLOAT16, ir.DataType.BFLOAT16})


def store_views(model: ir.Model) -> int:
    """Store weights in the shape that they are used in, in place; how many nodes went."""
    return sum(_store(node) for graph in model.graphs() for node in list(graph) if _reshapes(node))


def store_casts(model: ir.Model) -> int:
    """Store weights in the half precision that they are used in, in place; how many nodes went."""
    return sum(_store(node) for graph in model.graphs() for node in list(graph) if _halves(node))


def _reshapes(node: ir.Node) -> bool:
    return node.op_type in ("Reshape", "Squeeze", "Unsqueeze") and not node.domain


def _halves(node: ir.Node) -> bool:
    source = node.inputs[0] if node.op_type == "Cast" and not node.domain else None
    return source is not None and source.dtype == ir.DataType.FLOAT and node.outputs[0].dtype in _HALVES


def _store(node: ir.Node) -> bool:
    weight, made = node.inputs[0], node.outputs[0]
    shape = dims_of(made)
    if weight is None or shape is None or not is_constant(weight) or made.is_graph_output():
        return False
    tensor, sizes = weight.const_value, [dim for dim in shape if dim is not None]
    if tensor is None or len(weight.uses()) != 1 or weight.is_graph_output() or len(sizes) < len(shape):
        return False
    dtype = made.dtype or tensor.dtype
    weight.const_value = ir.LazyTensor(
        lambda: ir.tensor(np.reshape(tensor.numpy(), sizes).astype(numpy_dtype(dtype)), dtype=dtype),
        dtype=dtype,
        shape=ir.Shape(sizes),
        name=weight.name,
        cache=True,
    )
    weight.shape, weight.type = ir.Shape(sizes), ir.TensorType(dtype)
    replace_value(made, weight, keep_name=True)
    remove_node(node)
    return True
