"""Models to convert: the cases of ONNX's suite, and those of one node with other types, constants and dynamic dims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import onnx
import onnx.defs
from onnx import numpy_helper

from tests.backends.xla import fix_parameters
from tests.conformance import suite
from trueport.ir.schemas import history

__all__ = ["copied", "is_newest", "operator_of", "variants_of"]

_TYPE_ATTRIBUTES = ("to", "dtype", "output_dtype")
_DTYPES = dict(onnx.TensorProto.DataType.items())


def copied(model: onnx.ModelProto) -> onnx.ModelProto:
    return onnx.ModelProto.FromString(model.SerializeToString())


def operator_of(model: onnx.ModelProto) -> str | None:
    """The operator of a model of one node; None for larger models."""
    if len(model.graph.node) != 1 or model.functions:
        return None
    (name,) = suite.operators(model)
    return name


def is_newest(model: onnx.ModelProto) -> bool:
    """True if a model of one node holds the newest version of its operator, which allows the most types."""
    node = model.graph.node[0]
    version = _schema(model).since_version
    return all(later.since_version <= version for later in history(node.op_type, node.domain))


def variants_of(name: str) -> Iterator[onnx.ModelProto]:
    """A case of one node as models hold it: parameters as constants, then with dynamic dims, then in every type."""
    case = suite.cases()[name]
    fixed = copied(suite.model_of(case))
    inputs, _ = next(iter(suite.data_of(case, fixed)))
    held = {tensor.name for tensor in fixed.graph.initializer}
    feeds = dict(zip((v.name for v in fixed.graph.input if v.name not in held), inputs, strict=True))
    fix_parameters(fixed, feeds)
    yield fixed
    yield _dynamic(copied(fixed))
    yield from _retyped(fixed)


def _dynamic(model: onnx.ModelProto) -> onnx.ModelProto:
    for value in (*model.graph.input, *model.graph.output):
        for index, dim in enumerate(value.type.tensor_type.shape.dim):
            dim.dim_param = f"{value.name}_{index}"
    return model


def _retyped(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """The model once for each other type of each type parameter of its node."""
    node, schema = model.graph.node[0], _schema(model)
    for constraint in schema.type_constraints:
        names = set(_named(node.input, schema.inputs, constraint.type_param_str))
        made = set(_named(node.output, schema.outputs, constraint.type_param_str))
        for kind in constraint.allowed_type_strs:
            word = kind.removeprefix("tensor(").removesuffix(")").upper()
            if word in _DTYPES:
                changed = _with_type(copied(model), names | made, _DTYPES[word], not names)
                if changed is not None and _is_valid(changed):
                    yield changed


def _schema(model: onnx.ModelProto) -> onnx.defs.OpSchema:
    node = model.graph.node[0]
    opset = next(entry.version for entry in model.opset_import if entry.domain == node.domain)
    return onnx.defs.get_schema(node.op_type, opset, node.domain)


def _named(values: Any, declared: Any, parameter: str) -> Iterator[str]:
    for index, name in enumerate(values):
        if name and declared[min(index, len(declared) - 1)].type_str == parameter:
            yield name


def _with_type(model: onnx.ModelProto, names: set[str], dtype: int, only_made: bool) -> onnx.ModelProto | None:
    """Change the type of some values; None if they have it, or if the model takes or gives other than tensors."""
    values = [value for value in (*model.graph.input, *model.graph.output) if value.name in names]
    if any(value.type.WhichOneof("value") != "tensor_type" for value in (*model.graph.input, *model.graph.output)):
        return None
    if all(value.type.tensor_type.elem_type == dtype for value in values):
        return None
    for value in values:
        value.type.tensor_type.elem_type = dtype
    for tensor in model.graph.initializer:
        if tensor.name in names:
            if tensor.data_type == onnx.TensorProto.STRING:
                return None
            array = numpy_helper.to_array(tensor)
            if dtype == onnx.TensorProto.STRING:
                array = array.astype(str).astype(object)
            else:
                array = array.astype(onnx.helper.tensor_dtype_to_np_dtype(dtype))
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    for attribute in model.graph.node[0].attribute if only_made else ():
        if attribute.name in _TYPE_ATTRIBUTES:
            attribute.i = dtype
    return model


def _is_valid(model: onnx.ModelProto) -> bool:
    """True if ONNX's own inference agrees with the types."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return False
    return True
