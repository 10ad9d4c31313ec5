"""A Transpose makes no new data: its output is its input, seen in another order.

So every order of a value and of its transposes is an order of one *root*, and a Transpose node is nothing but a name.
"""

from __future__ import annotations

import math

import onnx_ir as ir

from trueport.ir.layouts import Perm, compose, identity, lift
from trueport.passes.layout.plan import Form, dims_of, rank_of

__all__ = ["Roots", "same_but_for_units", "volume"]

_OPEN_DIM = 64
"""Stands for a dim that is not known, where sizes are compared."""


class Roots:
    """The Transpose nodes of one graph, resolved."""

    def __init__(self, graph: ir.Graph) -> None:
        self._alias: dict[ir.Value, tuple[ir.Value, Perm]] = {}
        self.names: dict[ir.Value, dict[Perm, str]] = {}
        """for each root, the names that the model gives to its other orders"""
        self.nodes: list[ir.Node] = []
        for node in graph:
            self._add(node)

    def _add(self, node: ir.Node) -> None:
        source = node.inputs[0] if node.op_type == "Transpose" and not node.domain else None
        rank = rank_of(source)
        if source is None or rank is None or rank_of(node.outputs[0]) != rank:
            return
        given = node.attributes.get("perm")
        perm = tuple(given.as_ints()) if given else tuple(reversed(range(rank)))
        root, before = self._alias.get(source, (source, identity(rank)))
        self._alias[node.outputs[0]] = root, compose(before, perm)
        self.names.setdefault(root, {}).setdefault(compose(before, perm), node.outputs[0].name or "")
        self.nodes.append(node)

    def __contains__(self, value: ir.Value) -> bool:
        return value in self._alias

    def aliases(self) -> list[tuple[ir.Value, ir.Value, Perm]]:
        """Each transposed value, its root, and the root's order that it is."""
        return [(value, root, perm) for value, (root, perm) in self._alias.items()]

    def of(self, value: ir.Value, form: Form) -> tuple[ir.Value, Form]:
        """A value in some order as an order of its root; None only where the rank is not known."""
        rank = rank_of(value)
        if rank is None:
            return value, None
        wanted = identity(rank) if form is None else form
        if value not in self._alias:
            return value, wanted
        root, perm = self._alias[value]
        return root, compose(lift(perm, len(wanted)), wanted)


def same_but_for_units(dims: tuple[int | str | None, ...], one: Perm, other: Perm) -> bool:
    """Whether two orders of a value lay out the same bytes: they differ only in where axes of size 1 stand."""
    rank = max(len(one), len(other))
    lifted = (1,) * (rank - len(dims)) + dims
    return [a for a in lift(one, rank) if lifted[a] != 1] == [a for a in lift(other, rank) if lifted[a] != 1]


def volume(value: ir.Value) -> int:
    """About how many bits a value holds: what moving it costs."""
    dims = dims_of(value) if value.shape is not None else (None,)
    return math.prod(dim if isinstance(dim, int) else _OPEN_DIM for dim in dims) * (
        value.dtype.bitwidth if value.dtype is not None and value.dtype != ir.DataType.STRING else 128
    )
