"""Means over all of a picture: GlobalAveragePool, which runtimes keep in the layout of the convolutions around it."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir

from trueport.passes.layout.workshop import Workshop
from trueport.passes.recognize.match import dims_of, ints_of, put
from trueport.passes.rewrite_rules import Rule, apply_rules

__all__ = ["GLOBAL_POOLS", "recognize_global_pools"]

_PICTURE = (2, 3)
"""The axes of height and width, channels first."""


def recognize_global_pools(model: ir.Model) -> int:
    """Replace ReduceMean over height and width, in place; return how many. Layouts are settled by now."""
    return apply_rules(model, GLOBAL_POOLS)


def _means(node: ir.Node) -> Iterator[ir.Node]:
    if node.inputs[0] is not None:
        yield node


def _why_not_pooled(node: ir.Node) -> str | None:
    data = node.inputs[0]
    dims = dims_of(data)
    axes = ints_of(node.inputs[1]) if len(node.inputs) > 1 else None
    if data is None or dims is None or len(dims) != 4 or data.dtype != ir.DataType.FLOAT:
        return "it is not a mean of float32 data with 4 axes"
    if axes is None or tuple(sorted(axis % 4 for axis in axes)) != _PICTURE:
        return "it is not a mean over height and width"
    return None


def _pool(node: ir.Node, shop: Workshop) -> None:
    data, made = node.inputs[0], node.outputs[0]
    assert data is not None
    pooled = [*_named(data)[:2], 1, 1]
    steps = [shop.node("GlobalAveragePool", [data], {}, f"{made.name}.pooled", pooled, data.dtype, node)]
    if "keepdims" in node.attributes and not node.attributes["keepdims"].as_int():
        flat = [steps[0].outputs[0]]
        steps.append(shop.node("Flatten", flat, {"axis": 1}, f"{made.name}.flat", pooled[:2], data.dtype, node))
    put(shop, node, steps)


def _named(value: ir.Value) -> list[int | str | None]:
    assert value.shape is not None
    return [dim if isinstance(dim, int) else dim.value for dim in value.shape]


GLOBAL_POOLS = (Rule("global pool", frozenset({"ReduceMean"}), _means, _why_not_pooled, _pool),)
