"""Where in a model something is, in words a person can follow."""

from __future__ import annotations

import onnx_ir as ir

__all__ = ["op_id", "place"]


def op_id(node: ir.Node) -> str:
    """``Conv``, or ``com.acme::MyOp`` outside ONNX's own domain."""
    return f"{node.domain}::{node.op_type}" if node.domain else node.op_type


def place(node: ir.Node) -> str:
    """The node by name, or by what it makes when it has none, with its operator."""
    if node.name:
        return f"node {node.name!r} ({op_id(node)})"
    made = next((value.name for value in node.outputs if value.name), None)
    return f"the node that makes {made!r} ({op_id(node)})" if made else f"an unnamed {op_id(node)} node"
