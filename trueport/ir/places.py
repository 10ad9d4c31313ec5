"""Where in a model something is, in words a person can follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

__all__ = ["NodeLike", "op_id", "place"]


class NodeLike(Protocol):
    """A node of ONNX, or an operation of another framework that is described like one."""

    @property
    def op_type(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def name(self) -> str | None: ...
    @property
    def inputs(self) -> Sequence[Any]: ...
    @property
    def outputs(self) -> Sequence[Any]: ...


def op_id(node: NodeLike) -> str:
    """``Conv``, or ``com.acme::MyOp`` outside ONNX's own domain."""
    return f"{node.domain}::{node.op_type}" if node.domain else node.op_type


def place(node: NodeLike) -> str:
    """The node by name, or by what it makes when it has none, with its operator."""
    if node.name:
        return f"node {node.name!r} ({op_id(node)})"
    made = next((value.name for value in node.outputs if value.name), None)
    return f"the node that makes {made!r} ({op_id(node)})" if made else f"an unnamed {op_id(node)} node"
