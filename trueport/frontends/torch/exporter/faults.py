"""What PyTorch's exporter gets wrong: dtypes behind a type promotion, digits of numbers, bounds of two kinds.

The exporter computes some operators of 16-bit floats in float32 and casts back, but names the value before that cast
as the output. A Python number whose type is not settled by its operator becomes a float32 constant, also where a cast
to float64 follows. Of the bounds of a clamp, one an integer and the other not, it makes one a tensor, which no operator
takes.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.frontends.torch._torch import torch
from trueport.ir.replace import replace_node

__all__ = ["exact_numbers", "exporter_mended"]

_PASSES = "torch.onnx._internal.exporter._fx_passes"
_BUILDING = "torch.onnx._internal.exporter._building"
_NUMBER = "trueport.number"
_D = ir.DataType
_STEPS: Mapping[str, Callable[..., Any]] = {
    "Add": np.add,
    "Div": np.divide,
    "Exp": np.exp,
    "Identity": lambda x: x,
    "Log": np.log,
    "Mul": np.multiply,
    "Neg": np.negative,
    "Reciprocal": np.reciprocal,
    "Sqrt": np.sqrt,
    "Sub": np.subtract,
}
"""What the exporter computes of numbers before it casts them."""


@contextlib.contextmanager
def exporter_mended() -> Iterator[None]:
    """Within it exported programs keep the dtypes of their outputs, and constants know the number they stand for."""
    passes: Any = importlib.import_module(_PASSES)
    building: Any = importlib.import_module(_BUILDING)
    promote, constant = passes.insert_type_promotion_nodes, building._get_or_create_constant

    def promoted(graph_module: Any) -> None:
        _bounds_of_one_kind(graph_module.graph)
        before = _output_nodes(graph_module)
        dtypes = {node: _dtype(node) for node in graph_module.graph.nodes}
        promote(graph_module)
        for node, dtype in dtypes.items():
            if _dtype(node) != dtype:
                _cast_back(graph_module.graph, node, dtype)
        for old, new in zip(before, _output_nodes(graph_module), strict=True):
            if old is not new and hasattr(old, "name"):
                _take_name(old, new)

    def numbered(farm: Any, number: Any, *rest: Any) -> Any:
        made = constant(farm, number, *rest)
        if isinstance(made, ir.Value) and _is_float(number):
            made.meta[_NUMBER] = number
        return made

    passes.insert_type_promotion_nodes, building._get_or_create_constant = promoted, numbered
    try:
        yield
    finally:
        passes.insert_type_promotion_nodes, building._get_or_create_constant = promote, constant


def _bounds_of_one_kind(graph: Any) -> None:
    """Write an integer bound of a clamp as a float, if the other one is a float."""
    for node in graph.nodes:
        if node.op == "call_function" and node.target is torch.ops.aten.clamp.default:
            data, *bounds = node.args
            given = [*bounds, *node.kwargs.values()]
            if {type(bound) for bound in given} >= {int, float}:
                node.args = (data, *(_as_float(bound) for bound in bounds))
                node.kwargs = {name: _as_float(bound) for name, bound in node.kwargs.items()}


def _as_float(bound: Any) -> Any:
    return float(bound) if type(bound) is int else bound


def _dtype(node: Any) -> Any:
    return getattr(node.meta.get("val"), "dtype", None)


def _cast_back(graph: Any, node: Any, dtype: Any) -> None:
    """Cast a node's result to the type that it had, where the exporter's pass has not done so."""
    convert = torch.ops.prims.convert_element_type.default
    users = [user for user in node.users if not (user.target is convert and user.kwargs.get("dtype") == dtype)]
    if not users or dtype is None or not isinstance(node.meta.get("val"), torch.Tensor):
        return
    with graph.inserting_after(node):
        cast = graph.call_function(convert, (node,), {"dtype": dtype})
    cast.meta.update(node.meta)
    cast.meta["val"] = node.meta["val"].to(dtype)
    for user in users:
        user.replace_input_with(node, cast)


def _output_nodes(graph_module: Any) -> list[Any]:
    output = next(iter(reversed(graph_module.graph.nodes)))
    return list(output.args[0]) if isinstance(output.args[0], (tuple, list)) else [output.args[0]]


def _take_name(old: Any, new: Any) -> None:
    """Swap the names of two nodes: the exporter finds outputs by the name that the signature has."""
    old.name, new.name = new.name, old.name


def _is_float(number: Any) -> bool:
    return isinstance(number, float) or (
        isinstance(number, (tuple, list)) and any(isinstance(item, float) for item in number)
    )


def exact_numbers(model: ir.Model) -> None:
    """Replace float32 constants that are cast to float64 by constants of the number that they stand for."""
    for graph in (model.graph, *(function.graph for function in model.functions.values())):
        for node in list(graph.all_nodes()):
            if _to_double(node) and node.inputs[0] is not None and node.inputs[0].dtype != _D.DOUBLE:
                _widen(node)


def _to_double(node: ir.Node) -> bool:
    if node.op_type == "Cast":
        return node.attributes["to"].as_int() == _D.DOUBLE.value
    return node.op_type == "CastLike" and node.inputs[1] is not None and node.inputs[1].dtype == _D.DOUBLE


def _widen(node: ir.Node) -> None:
    value = node.inputs[0]
    assert value is not None and node.graph is not None
    number = _number(value)
    if number is None:
        return
    made = ir.node("Constant", [], {"value": ir.tensor(np.asarray(number, np.float64))}, name=node.name)
    made.metadata_props.update(node.metadata_props)
    made.outputs[0].type = ir.TensorType(_D.DOUBLE)
    node.graph.insert_before(node, made)
    replace_node(node, made.outputs)


def _number(value: ir.Value) -> np.ndarray | None:
    """What a value stands for in float64 if it is made of constants alone, else None."""
    node = value.producer()
    if node is None:
        return None
    if node.op_type == "Constant":
        return _constant(value, node)
    step = _STEPS.get(node.op_type)
    operands = [_number(operand) if operand is not None else None for operand in node.inputs]
    if step is None or any(operand is None for operand in operands):
        return None
    with np.errstate(all="ignore"):
        return np.asarray(step(*operands))


def _constant(value: ir.Value, node: ir.Node) -> np.ndarray | None:
    if _NUMBER in value.meta:
        return np.asarray(value.meta[_NUMBER], np.float64)
    for name in ("value_float", "value_floats"):
        if name in node.attributes:
            return np.asarray(node.attributes[name].value, np.float64)
    tensor = node.attributes["value"].as_tensor() if "value" in node.attributes else None
    return tensor.numpy().astype(np.float64) if tensor is not None and tensor.dtype == _D.FLOAT else None
