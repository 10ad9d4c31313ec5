"""How large results are, known before they are computed.

A file of a few bytes can describe gigabytes: Range, Expand or Tile of constants. The shapes that a file declares may be
wrong; only the operands count here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import onnx
import onnx_ir as ir
from onnx.shape_inference import InferenceError, infer_node_outputs

from trueport.ir.dtypes import STRINGS
from trueport.ir.schemas import schema_at

__all__ = ["bytes_of_result"]

_AT_MOST_THE_RANK = frozenset({"Compress", "NonZero"})
"""How many elements they give depends on values: at most one per element and axis of the operands."""


def bytes_of_result(node: ir.Node, opset: int) -> float:
    """Return the bytes of all results of a node whose operands are constants; infinite where nothing bounds them."""
    operands = {
        value.name or "": value.const_value
        for value in node.inputs
        if value is not None and value.const_value is not None
    }
    longest = max((_bytes_per_element(tensor) for tensor in operands.values()), default=8)
    if node.op_type in _AT_MOST_THE_RANK:
        return longest * sum(tensor.size * max(len(tensor.shape), 1) for tensor in operands.values())
    sizes = _inferred_sizes(node, operands, opset)
    return math.inf if sizes is None else max(longest, 8) * sum(sizes)


def _bytes_per_element(tensor: ir.TensorProtocol) -> int:
    if tensor.dtype in STRINGS:
        return max((len(text) for text in tensor.numpy().ravel()), default=1)
    return max(1, math.ceil(tensor.dtype.itemsize))


def _inferred_sizes(node: ir.Node, operands: Mapping[str, ir.TensorProtocol], opset: int) -> list[int] | None:
    """Return the elements of each result, by ONNX's inference on the operands alone; None where one is not known."""
    schema = schema_at(node.op_type, node.domain, opset)
    if schema is None:
        return None
    types = {
        name: onnx.helper.make_tensor_type_proto(int(tensor.dtype), tensor.shape.numpy())
        for name, tensor in operands.items()
    }
    data = {name: ir.serde.serialize_tensor(tensor) for name, tensor in operands.items()}
    try:
        found = infer_node_outputs(schema, ir.serde.serialize_node(node), types, input_data=data)
    except InferenceError:
        return None
    shapes = [found[value.name].tensor_type.shape for value in node.outputs if value.name and value.name in found]
    known = [math.prod(dim.dim_value for dim in shape.dim) for shape in shapes]
    stated = all(dim.HasField("dim_value") for shape in shapes for dim in shape.dim)
    has_rank = all(found[value.name].tensor_type.HasField("shape") for value in node.outputs if value.name in found)
    return known if stated and has_rank and len(shapes) == sum(bool(value.name) for value in node.outputs) else None
