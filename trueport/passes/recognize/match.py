"""Words for patterns in a graph: who makes a value, which constant stands behind it, what takes its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import onnx_ir as ir

from trueport.ir.replace import replace_node
from trueport.passes.layout.workshop import Workshop

__all__ = ["behind_views", "dims_of", "ints_of", "is_constant", "maker", "orders", "put", "scalar_of"]

MADE_BY = "pass:recognize"
_VIEWS = ("Identity", "Reshape", "Squeeze", "Unsqueeze")


def maker(value: ir.Value | None, *ops: str) -> ir.Node | None:
    """The node that makes a value, if it is one of these operators of ONNX."""
    node = value.producer() if value is not None else None
    return node if node is not None and not node.domain and node.op_type in ops else None


def orders(node: ir.Node) -> Iterator[tuple[ir.Value, ir.Value]]:
    """The two operands of a commutative operator, either first."""
    first, second = node.inputs
    if first is not None and second is not None:
        yield first, second
        yield second, first


def is_constant(value: ir.Value | None) -> bool:
    return value is not None and value.const_value is not None and not value.is_graph_input()


def scalar_of(value: ir.Value | None) -> float | None:
    """The number that a constant of one element holds."""
    if value is None or not is_constant(value) or value.const_value is None or value.const_value.size != 1:
        return None
    return float(np.asarray(value.const_value.numpy()).ravel()[0])


def ints_of(value: ir.Value | None) -> list[int] | None:
    """The integers of a constant."""
    if value is None or not is_constant(value) or value.const_value is None:
        return None
    return [int(item) for item in np.asarray(value.const_value.numpy()).ravel()]


def behind_views(value: ir.Value) -> ir.Value | None:
    """The constant that a value is, seen in another shape; one that is cast or dequantized counts as one."""
    node = maker(value, *_VIEWS)
    while node is not None and node.inputs[0] is not None:
        value = node.inputs[0]
        node = maker(value, *_VIEWS)
    made = maker(value, "Cast", "DequantizeLinear")
    return value if is_constant(value) or (made is not None and all(map(is_constant, made.inputs))) else None


def dims_of(value: ir.Value | None) -> tuple[int | None, ...] | None:
    """Dims as numbers, None where open; None for an unknown rank."""
    if value is None or value.shape is None:
        return None
    return tuple(dim if isinstance(dim, int) else None for dim in value.shape)


def put(shop: Workshop, old: ir.Node, steps: Sequence[ir.Node], *origins: ir.Node) -> None:
    """New nodes in the place of one; the last makes its output, under its name."""
    made, result = old.outputs[0], steps[-1].outputs[0]
    result.shape, result.type = made.shape, made.type  # the names of dynamic dimensions are kept
    replace_node(old, [result], steps, origins=origins, by=MADE_BY)
