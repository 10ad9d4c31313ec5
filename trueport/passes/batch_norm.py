"""A batch norm joins the grouped convolution before it.

TensorFlow fuses the two by itself: without oneDNN into a kernel that rejects groups, at the first run. Kept apart, they
run everywhere but slower than fused. With the batch norm in the weights there is nothing left to fuse.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.ir.build import known_array
from trueport.ir.insert import Inserter, Workshop
from trueport.ir.provenance import inherit
from trueport.ir.replace import remove_node, replace_node

__all__ = ["join_batch_norms"]


def join_batch_norms(model: ir.Model) -> int:
    """Scale the weights of grouped convolutions by the batch norms after them, in place; how many batch norms went."""
    pairs = [(conv, norm) for graph in model.graphs() for norm in graph if (conv := _convolution_of(norm)) is not None]
    shop = Workshop(model)
    return sum(_join(shop, conv, norm) for conv, norm in pairs)


def _convolution_of(norm: ir.Node) -> ir.Node | None:
    """Return the grouped convolution over two axes, in float32, whose result goes into this batch norm only."""
    if norm.op_type != "BatchNormalization" or norm.domain or len(norm.outputs) != 1 or norm.inputs[0] is None:
        return None
    made = norm.inputs[0]
    conv = made.producer()
    if conv is None or conv.op_type != "Conv" or conv.domain or conv.graph is not norm.graph:
        return None
    kernel = conv.inputs[1]
    if len(made.uses()) != 1 or made.is_graph_output() or kernel is None or kernel.dtype != ir.DataType.FLOAT:
        return None
    grouped = "group" in conv.attributes and conv.attributes["group"].as_int() > 1
    # With one channel to a group it is a depthwise convolution: another kernel, which no batch norm is fused into.
    return conv if grouped and kernel.shape is not None and len(kernel.shape) == 4 and kernel.shape[1] != 1 else None


def _join(shop: Workshop, conv: ir.Node, norm: ir.Node) -> bool:
    has_bias = len(conv.inputs) > 2 and conv.inputs[2] is not None
    given = [known_array(value) for value in (conv.inputs[1], *norm.inputs[1:5], *conv.inputs[2:3])]
    arrays = [array.astype(np.float64) for array in given if array is not None]
    if len(arrays) < 5 + has_bias:
        return False
    kernel, scale, shift, mean, variance = arrays[:5]
    epsilon = norm.attributes["epsilon"].as_float() if "epsilon" in norm.attributes else 1e-5
    with np.errstate(all="ignore"):
        factor = scale / np.sqrt(variance + np.float32(epsilon))
        bias = shift - mean * factor + (arrays[5] * factor if has_bias else 0)
        joined = [array.astype(np.float32) for array in (kernel * factor[:, None, None, None], bias)]
    if not all(np.isfinite(array).all() for array in joined):
        return False
    op = Inserter(shop, norm)
    made = op.add("Conv", [conv.inputs[0], *joined], {name: a.value for name, a in conv.attributes.items()})
    inherit(op.made, conv, norm, by="join_batch_norms")
    replace_node(norm, [made])
    remove_node(conv)
    return True
