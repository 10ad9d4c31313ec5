"""Facts that a handler needs and that may show only while the target is built: check says so instead of promising.

    @maps("Conv", needs=[known_rank(1, 0, of="its kernel and data")], ...)

Shape inference may know less than the target's own, so a need that it does not meet is no refusal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir

__all__ = ["NOT_KNOWN", "Need", "known_kernel", "known_length", "known_rank"]

NOT_KNOWN = "not-known-before-conversion"
"""Label of the reason that is given for a need that is not met."""


@dataclass(frozen=True)
class Need:
    """A fact about a node, and what to say where it is not known."""

    is_known: Callable[[Any], bool]
    what: str
    remedy: str = ""

    @property
    def because(self) -> str:
        return f"{self.what} is not known before conversion: convert refuses the node if TensorFlow cannot derive it"


def known_rank(*inputs: int, of: str = "its data", when: Callable[[ir.Node], bool] = lambda _: True) -> Need:
    """Return the need for the rank (number of dims) of one of these inputs, by index; ``when``: of which nodes."""
    return Need(
        lambda node: not when(node) or any(_has_rank(node, index) for index in inputs),
        f"the rank (number of dims) of {of}",
        "declare the model's inputs with shapes, make the shape that it depends on a constant, or put a Reshape with a "
        "constant shape behind it",
    )


def known_kernel(weight: int, when: Callable[[ir.Node], bool] = lambda _: True) -> Need:
    """Return the need for the spatial sizes of a kernel, by its attribute or by the shape of input ``weight``."""

    def is_known(node: ir.Node) -> bool:
        value = node.inputs[weight] if weight < len(node.inputs) else None
        shape = None if value is None else value.shape
        held = value is not None and value.const_value is not None
        sized = shape is not None and all(isinstance(dim, int) for dim in list(shape)[2:])
        return not when(node) or "kernel_shape" in node.attributes or held or sized

    return Need(is_known, "the size of its kernel", "give the node a kernel_shape")


def known_length(*inputs: int, of: str, when: Callable[[ir.Node], bool] = lambda _: True) -> Need:
    """Return the need for the number of elements of one of these vectors, by index."""

    def is_known(node: ir.Node) -> bool:
        return not when(node) or any(_has_length(node, index) for index in inputs)

    return Need(is_known, f"the length of {of}", f"make {of} a constant, or an input of fixed length")


def _has_length(node: ir.Node, index: int) -> bool:
    value = node.inputs[index] if index < len(node.inputs) else None
    if value is None:
        return False
    return value.const_value is not None or (value.shape is not None and value.shape.is_static())


def _has_rank(node: ir.Node, index: int) -> bool:
    value = node.inputs[index] if index < len(node.inputs) else None
    return value is not None and (value.shape is not None or value.const_value is not None)
