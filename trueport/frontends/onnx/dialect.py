"""ONNX Runtime's optimizer writes some operators of its own into ONNX's domain; here they go to the runtime's.

ONNX's checker refuses such files, yet they are common: the runtime's graph optimizer and its quantization tools
make them. Under their own domain they are operators like any other.
"""

from __future__ import annotations

import onnx_ir as ir

from trueport.ir.schemas import schema_at

__all__ = ["rehome_runtime_operators"]

_DOMAIN = "com.microsoft"
_OPERATORS = frozenset({"LayerNormalization", "SimplifiedLayerNormalization"})
"""LayerNormalization became ONNX's at opset 17; the runtime uses it in older models too."""


def rehome_runtime_operators(model: ir.Model) -> None:
    """Move, in place, what ONNX does not define at the model's opset and the runtime does."""
    opset = model.opset_imports.get("", 1)
    for node in model.graph.all_nodes():
        if node.domain == "" and node.op_type in _OPERATORS and schema_at(node.op_type, "", opset) is None:
            node.domain = _DOMAIN
            model.opset_imports.setdefault(_DOMAIN, 1)
