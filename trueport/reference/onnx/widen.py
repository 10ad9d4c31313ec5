"""A node with its floats widened to float64: what it means without the rounding of its types."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from trueport.ir.dtypes import FLOATS

__all__ = ["unit_roundoff", "widened_array", "widened_node"]

_TYPE_ATTRIBUTES = frozenset({"to", "dtype", "output_dtype", "stash_type", "output_datatype"})
"""Attributes that name an element type."""

_ROUNDOFF = {
    ir.DataType.FLOAT: 2.0**-24,
    ir.DataType.FLOAT16: 2.0**-11,
    ir.DataType.BFLOAT16: 2.0**-8,
    ir.DataType.DOUBLE: 2.0**-53,
}


def unit_roundoff(dtype: ir.DataType | None) -> float | None:
    """Half a unit of the last place, relative; None for what is not a float."""
    return _ROUNDOFF.get(dtype) if dtype is not None else None


def widened_array(array: Any) -> Any:
    """Floats as float64; lists element by element, everything else as it is."""
    if isinstance(array, (list, tuple)):
        return [widened_array(item) for item in array]
    if isinstance(array, (np.ndarray, np.generic)) and _is_float(array.dtype):
        return np.asarray(array).astype(np.float64)
    return array


def _is_float(dtype: np.dtype) -> bool:
    return dtype in (np.float32, np.float16) or dtype.name == "bfloat16"


def widened_node(node: ir.Node) -> onnx.NodeProto:
    """The node's form in ONNX with every float type named in it, and in its graphs, made float64."""
    proto = ir.to_proto(node)
    _widen(proto)
    return proto


def _widen(proto: onnx.NodeProto) -> None:
    if proto.op_type == "Constant" and not proto.domain:
        _widen_constant(proto)
    for attribute in proto.attribute:
        if attribute.name in _TYPE_ATTRIBUTES and ir.DataType(attribute.i) in FLOATS:
            attribute.i = onnx.TensorProto.DOUBLE
        if attribute.type == onnx.AttributeProto.TENSOR:
            _widen_tensor(attribute.t)
        graphs = [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else list(attribute.graphs)
        for graph in graphs:
            for inner in graph.node:
                _widen(inner)
            for tensor in graph.initializer:
                _widen_tensor(tensor)
            for value in (*graph.input, *graph.output, *graph.value_info):
                _widen_type(value.type)


def _widen_constant(proto: onnx.NodeProto) -> None:
    """Numbers that stand in an attribute of their own are float32 by definition."""
    for attribute in list(proto.attribute):
        if attribute.name in ("value_float", "value_floats"):
            single = attribute.name == "value_float"
            array = np.asarray(attribute.f if single else list(attribute.floats), dtype=np.float64)
            proto.attribute.remove(attribute)
            proto.attribute.append(onnx.helper.make_attribute("value", onnx.numpy_helper.from_array(array)))


def _widen_tensor(tensor: onnx.TensorProto) -> None:
    if tensor.data_type in (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16):
        name = tensor.name
        array = onnx.numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, name))


def _widen_type(kind: onnx.TypeProto) -> None:
    if kind.HasField("tensor_type") and ir.DataType(kind.tensor_type.elem_type) in FLOATS:
        kind.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    for field in ("sequence_type", "optional_type"):
        if kind.HasField(field):
            _widen_type(getattr(kind, field).elem_type)
