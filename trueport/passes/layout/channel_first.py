"""Rules for operators that work on the last axis, where that is the channels' and data are held channel-first.

A dense layer between convolutions is a convolution with a window of one, a layer norm is a mean and a variance over
the channels: so neither wants a transpose before and after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import onnx_ir as ir

from trueport.ir.layouts import Perm
from trueport.passes.layout.plan import Plan, Rule, int_attribute, is_constant, padded, rank_of
from trueport.passes.layout.workshop import Workshop

__all__ = ["CHANNEL_FIRST"]


def _is_channels_first(perm: Perm) -> bool:
    """With two spatial axes at least: sequences have their features last for good."""
    rank = len(perm)
    return rank >= 4 and perm == (0, rank - 1, *range(1, rank - 1))


@dataclass(frozen=True)
class _Product:
    """MatMul of the last axis with a constant matrix."""

    def of_input(self, node: ir.Node, index: int, perm: Perm) -> Plan | None:
        matrix = node.inputs[1]
        if index or not _is_channels_first(perm) or not is_constant(matrix) or rank_of(matrix) != 2:
            return None
        return Plan((perm, None), (perm,), _to_conv)

    def of_output(self, node: ir.Node, perm: Perm) -> Plan | None:
        return self.of_input(node, 0, perm) if rank_of(node.inputs[0]) == len(perm) else None


@dataclass(frozen=True)
class _LayerNorm:
    """LayerNormalization over the last axis alone, in the type it computes in."""

    def of_input(self, node: ir.Node, index: int, perm: Perm) -> Plan | None:
        data = node.inputs[0]
        axis = int_attribute(node, "axis", -1) % len(perm)
        plain = data is not None and data.dtype == ir.DataType.FLOAT and len(node.outputs) == 1
        if index or not plain or axis != len(perm) - 1 or not _is_channels_first(perm):
            return None
        if any(rank_of(value) != 1 for value in node.inputs[1:]):
            return None
        return Plan(padded([perm], len(node.inputs)), (perm,), _to_means)

    def of_output(self, node: ir.Node, perm: Perm) -> Plan | None:
        return self.of_input(node, 0, perm) if rank_of(node.inputs[0]) == len(perm) else None


CHANNEL_FIRST: Mapping[str, Rule] = MappingProxyType({"LayerNormalization": _LayerNorm(), "MatMul": _Product()})
"""For targets whose convolutions are channel-first."""


def _to_conv(node: ir.Node, shop: Workshop) -> None:
    matrix, rank = node.inputs[1], rank_of(node.inputs[0])
    assert matrix is not None and matrix.shape is not None and rank is not None
    rows, columns = matrix.shape
    turned = _before(node, shop, "Transpose", [matrix], {"perm": [1, 0]}, [columns, rows])
    axes = shop.ints(node, "axes", range(2, rank))
    kernel = _before(node, shop, "Unsqueeze", [turned, axes], {}, [columns, rows, *(1,) * (rank - 2)])
    node.op_type = "Conv"
    node.replace_input_with(1, kernel)


def _to_means(node: ir.Node, shop: Workshop) -> None:
    data = node.inputs[0]
    assert data is not None and data.shape is not None and isinstance(node.graph, ir.Graph)
    dims = list(data.shape)
    single = [dims[0], 1, *dims[2:]]
    axes = shop.ints(node, "axes", [1])
    epsilon = node.attributes["epsilon"].as_float() if "epsilon" in node.attributes else 1e-5
    small = shop.constant(node.graph, f"{node.outputs[0].name}.epsilon", np.array(epsilon, np.float32))
    mean = _before(node, shop, "ReduceMean", [data, axes], {}, single)
    centred = _before(node, shop, "Sub", [data, mean], {}, dims)
    square = _before(node, shop, "Mul", [centred, centred], {}, dims)
    variance = _before(node, shop, "ReduceMean", [square, axes], {}, single)
    spread = _before(node, shop, "Add", [variance, small], {}, single)
    root = _before(node, shop, "Sqrt", [spread], {}, single)
    normal = _before(node, shop, "Div", [centred, root], {}, dims)
    weights = [_per_channel(node, shop, value) for value in node.inputs[1:] if value is not None]
    node.attributes.clear()
    node.resize_inputs(2)
    if len(weights) > 1:
        normal = _before(node, shop, "Mul", [normal, weights[0]], {}, dims)
    node.op_type = "Add" if len(weights) > 1 else "Mul"
    node.replace_input_with(0, normal)
    node.replace_input_with(1, weights[-1])


def _per_channel(node: ir.Node, shop: Workshop, vector: ir.Value) -> ir.Value:
    rank = rank_of(node.inputs[0])
    assert rank is not None and vector.shape is not None
    axes = shop.ints(node, "axes", range(1, rank - 1))
    return _before(node, shop, "Unsqueeze", [vector, axes], {}, [vector.shape[0], *(1,) * (rank - 2)])


def _before(
    node: ir.Node,
    shop: Workshop,
    op: str,
    inputs: list[ir.Value],
    attributes: dict[str, list[int]],
    shape: list[ir.SymbolicDim | int],
) -> ir.Value:
    name = f"{node.outputs[0].name}.{op}"
    made = shop.node(op, inputs, attributes, name, shape, inputs[0].dtype, node)
    assert isinstance(node.graph, ir.Graph)
    node.graph.insert_before(node, made)
    return made.outputs[0]
