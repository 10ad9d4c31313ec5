"""Cases of an operator that a handler does not carry, asked of the node before anything is converted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx_ir as ir

from trueport.fidelity import UNSUPPORTED, Limit
from trueport.mapping.bind import attribute_value

__all__ = ["attribute", "has_input", "refused"]


def refused(
    label: str, when: Callable[[ir.Node], bool], because: str, remedy: str = "", *, example: Callable[[], Any]
) -> Limit:
    """A limit beyond which there is no translation."""
    return Limit(label, when, UNSUPPORTED, because, remedy, example=example)


def attribute(node: ir.Node, name: str, default: Any = 0) -> Any:
    """An attribute's value, for operators without a schema that would know the default."""
    return attribute_value(node.attributes[name]) if name in node.attributes else default


def has_input(node: ir.Node, index: int) -> bool:
    """Whether an optional input is given."""
    return index < len(node.inputs) and node.inputs[index] is not None
