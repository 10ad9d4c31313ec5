"""Means over all of a picture: GlobalAveragePool, which runtimes keep in the layout of the convolutions around it."""

from __future__ import annotations

import onnx_ir as ir

from trueport.passes.layout.workshop import Workshop
from trueport.passes.recognize.match import dims_of, ints_of, put

__all__ = ["recognize_global_pools"]

_PICTURE = (2, 3)
"""The axes of height and width, channels first."""


def recognize_global_pools(model: ir.Model) -> int:
    """Replace ReduceMean over height and width, in place; how many. Layouts are settled by now."""
    shop = Workshop(model)
    return sum(
        _replace(node, shop)
        for graph in model.graphs()
        for node in list(graph)
        if node.op_type == "ReduceMean" and not node.domain
    )


def _replace(node: ir.Node, shop: Workshop) -> bool:
    data, made = node.inputs[0], node.outputs[0]
    dims = dims_of(data)
    axes = ints_of(node.inputs[1]) if len(node.inputs) > 1 else None
    if data is None or dims is None or len(dims) != 4 or axes is None or data.dtype != ir.DataType.FLOAT:
        return False
    if tuple(sorted(axis % 4 for axis in axes)) != _PICTURE:
        return False
    pooled = [*_named(data)[:2], 1, 1]
    steps = [shop.node("GlobalAveragePool", [data], {}, f"{made.name}.pooled", pooled, data.dtype, node)]
    if "keepdims" in node.attributes and not node.attributes["keepdims"].as_int():
        flat = [steps[0].outputs[0]]
        steps.append(shop.node("Flatten", flat, {"axis": 1}, f"{made.name}.flat", pooled[:2], data.dtype, node))
    put(shop, node, steps)
    return True


def _named(value: ir.Value) -> list[int | str | None]:
    assert value.shape is not None
    return [dim if isinstance(dim, int) else dim.value for dim in value.shape]
