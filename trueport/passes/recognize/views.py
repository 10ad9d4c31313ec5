"""A weight that is used in one other shape only is stored in that shape: no node reshapes it when the model runs."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.passes.recognize.match import dims_of, is_constant

__all__ = ["store_views"]


def store_views(model: ir.Model) -> int:
    """Store weights in the shape that they are used in, in place; how many nodes went."""
    return sum(_store(node) for graph in model.graphs() for node in list(graph))


def _store(node: ir.Node) -> bool:
    weight = node.inputs[0] if node.op_type in ("Reshape", "Squeeze", "Unsqueeze") and not node.domain else None
    made = node.outputs[0] if node.outputs else None
    shape = dims_of(made)
    if weight is None or made is None or shape is None or not is_constant(weight) or made.is_graph_output():
        return False
    tensor, sizes = weight.const_value, [dim for dim in shape if dim is not None]
    if tensor is None or len(weight.uses()) != 1 or weight.is_graph_output() or len(sizes) < len(shape):
        return False
    weight.const_value = ir.LazyTensor(
        lambda: ir.tensor(np.reshape(tensor.numpy(), sizes), dtype=tensor.dtype),
        dtype=tensor.dtype,
        shape=ir.Shape(sizes),
        name=weight.name,
        cache=True,
    )
    weight.shape = ir.Shape(sizes)
    made.replace_all_uses_with(weight)
    assert node.graph is not None
    node.graph.remove(node, safe=True)
    return True
