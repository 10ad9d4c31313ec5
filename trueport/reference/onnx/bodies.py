"""What an operator is made of: the function by which ONNX defines it, with types, ready to be evaluated."""

from __future__ import annotations

import onnx
import onnx_ir as ir
from onnx_ir.passes.common import LiftConstantsToInitializersPass

from trueport.ir.schemas import CANONICAL_OPSETS
from trueport.passes.expand import expand_functions
from trueport.passes.pipeline import raise_opsets
from trueport.passes.shapes import infer_shapes

__all__ = ["body_of"]


def body_of(node: ir.Node) -> ir.Graph | None:
    """The body of one node of the canonical opsets; None where ONNX gives none for it."""
    model = ir.from_proto(_alone(node))
    if not expand_functions(model, lambda inner: inner.op_type != node.op_type, raise_opsets):
        return None
    LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    infer_shapes(model)
    return model.graph


def _alone(node: ir.Node) -> onnx.ModelProto:
    """A model of the node, which takes its inputs in their order."""
    proto = ir.to_proto(node)
    given = {value.name or "": value for value in node.inputs if value is not None}
    made = [value for value in node.outputs if value.name]
    inputs, outputs = ([ir.to_proto(value) for value in listed] for listed in (given.values(), made))
    graph = onnx.helper.make_graph([proto], "body", inputs, outputs)
    opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in CANONICAL_OPSETS.items()]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)
