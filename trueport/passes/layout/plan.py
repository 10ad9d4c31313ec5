"""How one node can run on permuted data: the words that rules and the driver share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import onnx_ir as ir

from trueport.ir.layouts import Perm, is_identity
from trueport.passes.layout.workshop import Workshop

__all__ = [
    "Edit",
    "Form",
    "Plan",
    "Rule",
    "broadcast_form",
    "constant_ints",
    "dims_of",
    "int_attribute",
    "is_constant",
    "rank_of",
]

Form = Perm | None
"""The order a value is needed or made in; None is the order that the model gives it."""

Edit = Callable[[ir.Node, Workshop], None]
"""Makes a node say the same about permuted data: called after its inputs were replaced."""


@dataclass(frozen=True)
class Plan:
    """The order of each input and output with which a node computes the same, and how it must change for that."""

    inputs: tuple[Form, ...]
    outputs: tuple[Form, ...]
    edit: Edit | None = None

    @property
    def key(self) -> tuple[tuple[Form, ...], tuple[Form, ...]]:
        return self.inputs, self.outputs


class Rule(Protocol):
    """How operators of one kind carry an order of axes; None where they can't."""

    def of_input(self, node: ir.Node, index: int, perm: Perm) -> Plan | None:
        """The plan in which input ``index`` comes permuted."""

    def of_output(self, node: ir.Node, perm: Perm) -> Plan | None:
        """The plan in which the first output is made permuted."""


def rank_of(value: ir.Value | None) -> int | None:
    """The rank of a tensor where it is known; sequences and optionals have none."""
    if value is None or (shape := value.shape) is None:
        return None
    kind = value.type
    return shape.rank() if kind is None or isinstance(kind, ir.TensorType) else None


def dims_of(value: ir.Value) -> tuple[int | str | None, ...]:
    """Dims as numbers, symbols, or None."""
    assert value.shape is not None
    return tuple([dim if isinstance(dim, int) else dim.value for dim in value.shape.dims])


def is_constant(value: ir.Value | None) -> bool:
    """Fixed in the model: an initializer that a caller can't override."""
    return value is not None and value.const_value is not None and not value.is_graph_input()


def constant_ints(node: ir.Node, index: int) -> tuple[int, ...] | None:
    """A constant integer input as a flat tuple; None when it is absent or computed."""
    value = node.inputs[index] if index < len(node.inputs) else None
    if value is None or value.const_value is None or value.is_graph_input():
        return None
    return tuple(int(item) for item in np.asarray(value.const_value.numpy()).ravel())


def int_attribute(node: ir.Node, name: str, default: int) -> int:
    return node.attributes[name].as_int() if name in node.attributes else default


def broadcast_form(value: ir.Value | None, perm: Perm) -> Form:
    """How an operand must be held to broadcast against data that is held permuted by ``perm``.

    Longer than the operand's rank where unit axes have to be added first; leading axes that stay need none.
    """
    rank = rank_of(value)
    if value is None or rank is None or all(dim == 1 for dim in dims_of(value)):
        return None
    while len(perm) > rank and perm[0] == 0:
        perm = tuple(axis - 1 for axis in perm[1:])
    return None if is_identity(perm) else perm


def padded(forms: Sequence[Form], count: int) -> tuple[Form, ...]:
    """The forms of the first inputs or outputs, and the model's own order for the rest."""
    return (*forms, *(None,) * (count - len(forms)))[:count]
