"""Variables and tables behind captured handles, read where they are used and not before."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.formulas.texts import numpy_of
from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.source.dtypes import onnx_type, tf_type
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.frontends.tensorflow.translate.values import Resource, Translated
from trueport.ir.build import text_tensor

__all__ = ["inner_variable", "read_table", "read_variable", "variable_type", "write_variable"]

_IN_MEMORY = 1 << 12
"""Bytes up to which a variable is read at once; larger ones are read when the model is written."""
_WITH_VALUES = "convert the model that holds its value, loaded or saved"


def read_variable(t: Translation, resource: Translated, dtype: ir.DataType) -> ir.Value:
    """The variable's value at this point of the program."""
    assert isinstance(resource, Resource), "what is captured or made as a variable is one"
    if resource.value is None and resource.outer is not None:
        resource.value = read_variable(t, resource.outer, dtype)
    if resource.value is None:
        if resource.handle is None:
            raise t.fail(f"reads the variable {resource.name!r}, which nothing has set", _WITH_VALUES)
        resource.value = _stored(t, resource, dtype)
    return resource.value


def variable_type(t: Translation, resource: Resource) -> ir.DataType:
    """A variable's element type."""
    if resource.value is not None and resource.value.dtype is not None:
        return resource.value.dtype
    data = getattr(resource.handle, "_handle_data", None)
    if resource.outer is not None:
        return variable_type(t, resource.outer)
    if data is None or not data.shape_and_type:
        raise t.fail(
            f"sets the variable {resource.name!r} in a branch or a loop, and it has no value before",
            "set it before, or convert the model that holds its value",
        )
    return onnx_type(tf.as_dtype(data.shape_and_type[0].dtype))


def inner_variable(resource: Resource, t: Translation, value: ir.Value | None = None) -> Resource:
    """The variable inside a branch or a loop, which ``t`` builds: what is set there is not yet seen outside."""
    return Resource(resource.name, resource.handle, value, outer=resource, graph=t.op.graph)


def write_variable(t: Translation, resource: Translated, value: ir.Value) -> None:
    """From here on the variable holds this value."""
    assert isinstance(resource, Resource), "what is captured or made as a variable is one"
    if resource.graph is not (None if t.op.is_root else t.op.graph):
        raise t.fail(
            "writes a variable that was not handed into this branch or loop; ONNX has no variables",
            "return the value from the branch or the loop instead",
        )
    resource.value, resource.written = value, True


def _stored(t: Translation, resource: Resource, dtype: ir.DataType) -> ir.Value:
    handle = resource.handle
    kind = tf_type(dtype)
    shape = _shape(handle)

    def read() -> ir.TensorProtocol:
        array = numpy_of(tf.raw_ops.ReadVariableOp(resource=handle, dtype=kind).numpy())
        return text_tensor(array) if dtype == ir.DataType.STRING else ir.tensor(array, dtype=dtype)

    asked = t.node.operation.inputs[0].op.name
    resource.name = resource.name or asked.removesuffix("/resource").removesuffix("/ReadVariableOp")
    large = shape is not None and dtype != ir.DataType.STRING and math.prod(shape) * dtype.bitwidth > 8 * _IN_MEMORY
    tensor: Any = ir.LazyTensor(read, dtype=dtype, shape=ir.Shape(shape or ())) if large else read()
    value = t.op.stored(tensor, resource.name)
    value.meta["weight"] = True
    return value


def _shape(handle: Any) -> tuple[int, ...] | None:
    """The shape that a handle's variable was declared with, where that is complete."""
    data = getattr(handle, "_handle_data", None)
    if data is None or not data.shape_and_type:
        return None
    shape = tf.TensorShape(data.shape_and_type[0].shape)
    return tuple(shape.as_list()) if shape.is_fully_defined() else None


def read_table(t: Translation, resource: Translated, keys: Any, values: Any) -> tuple[np.ndarray, np.ndarray]:
    """All keys and values of a lookup table, by their ONNX types."""
    assert isinstance(resource, Resource), "what is captured or made as a table is one"
    if resource.handle is None and resource.table is None:
        raise t.fail("looks up what is no table", "look up a table that the model holds, or makes and fills")
    if resource.table is None:
        found = tf.raw_ops.LookupTableExportV2(
            table_handle=resource.handle, Tkeys=tf_type(keys), Tvalues=tf_type(values)
        )
        resource.table = numpy_of(found[0].numpy()), numpy_of(found[1].numpy())
    return resource.table
