"""Operations that nothing declares, kept as nodes of the user's own domain: their meaning is the user's to supply."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from trueport.errors import ConversionError
from trueport.fidelity import LOSSY
from trueport.frontends.tensorflow.source.dtypes import is_tensor_type, onnx_type
from trueport.frontends.tensorflow.source.nodes import SourceNode
from trueport.ir.build import Builder
from trueport.ir.places import op_id, place
from trueport.mapping.registry import Finding, Reason

__all__ = ["keep_custom", "kept_finding"]


def keep_custom(node: SourceNode, op: Builder, domain: str) -> list[ir.Value]:
    """A node with the operation's name, inputs, attributes and typed outputs."""
    operation = node.operation
    handles = [tensor for tensor in (*operation.inputs, *operation.outputs) if not _is_plain(tensor.dtype)]
    functions = [a.name for a in operation.op_def.attr if operation.node_def.attr[a.name].WhichOneof("value") == "func"]
    if handles or functions:
        what = f"a {handles[0].dtype.name} tensor" if handles else f"the function in its attribute {functions[0]!r}"
        raise ConversionError(
            f"{what} has no form in a custom node",
            where=place(node),
            remedy=f'declare the operator: @maps("{node.op_type}", domain="{node.domain}") in a module given by --ops',
        )
    attributes = {name: _attribute(name, value) for name, value in node.attributes.items()}
    values = op.add_several(
        node.op_type,
        len(operation.outputs),
        list(node.inputs),  # type: ignore[arg-type]  # no handles and no complex ones: plain values
        {**attributes, "domain": domain},
    )
    for value, tensor in zip(values, operation.outputs, strict=True):
        value.type = ir.TensorType(onnx_type(tensor.dtype))
    return list(values)


def kept_finding(node: SourceNode, domain: str) -> Finding:
    """What the report says of such a node."""
    because = f"{node.op_type} is kept as a node of {domain}; what it computes is not in the file"
    reason = Reason("custom-domain", because, "register a kernel for it where the model runs", LOSSY)
    return Finding(place(node), op_id(node), LOSSY, None, (reason,), node.name, node.location)


def _is_plain(dtype: Any) -> bool:
    return is_tensor_type(dtype) and not dtype.is_complex


def _attribute(name: str, value: Any) -> Any:
    """As ONNX holds it: element types by their number, open dims as -1, truth as an integer; None is left out."""
    if isinstance(value, (ir.DataType, bool)):
        return int(value)
    if isinstance(value, tuple):
        return ir.AttrInt64s(name, [-1 if dim is None else dim for dim in value])
    if isinstance(value, list):
        items = [_attribute(name, item) for item in value if not isinstance(item, tuple)]
        return items if items else ir.AttrInt64s(name, [])
    return value
