"""A weight that is used in one other shape or precision only is stored so: no node changes it when the model runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx_ir as ir

from trueport.ir.dtypes import numpy_dtype
from trueport.ir.replace import remove_node, replace_value
from trueport.passes.layout.workshop import Workshop
from trueport.passes.recognize.match import dims_of, is_constant
from trueport.passes.rewrite_rules import Rule, apply_rules

__all__ = ["CASTS", "VIEWS", "store_casts", "store_views"]


_HALVES = frozenset({ir.DataType.FLOAT16, ir.DataType.BFLOAT16})


def store_views(model: ir.Model) -> int:
    """Store weights in the shape that they are used in, in place; return how many nodes were removed."""
    return apply_rules(model, VIEWS)


def store_casts(model: ir.Model) -> int:
    """Store weights in the half precision that they are used in, in place; return how many nodes were removed."""
    return apply_rules(model, CASTS)


def _of_constants(node: ir.Node) -> Iterator[ir.Node]:
    if is_constant(node.inputs[0]):
        yield node


def _halves(node: ir.Node) -> Iterator[ir.Node]:
    source = node.inputs[0]
    if source is not None and source.dtype == ir.DataType.FLOAT and node.outputs[0].dtype in _HALVES:
        yield from _of_constants(node)


def _why_not_stored(node: ir.Node) -> str | None:
    weight, made = node.inputs[0], node.outputs[0]
    assert weight is not None
    if made.is_graph_output() or weight.is_graph_output():
        return "the weight, or what is made of it, is an output of the graph"
    if len(weight.uses()) != 1:
        return "the weight is used elsewhere in the form that it has"
    shape = dims_of(made)
    return "the shape is not known" if shape is None or None in shape else None


def _store(node: ir.Node, shop: Workshop) -> None:
    weight, made = node.inputs[0], node.outputs[0]
    assert weight is not None and weight.const_value is not None
    tensor, sizes = weight.const_value, [dim for dim in dims_of(made) or () if dim is not None]
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


VIEWS = (Rule("view", frozenset({"Reshape", "Squeeze", "Unsqueeze"}), _of_constants, _why_not_stored, _store),)
CASTS = (Rule("cast", frozenset({"Cast"}), _halves, _why_not_stored, _store),)
