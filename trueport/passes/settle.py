"""A graph that another exporter wrote, brought to the canonical opset and freed of what does nothing."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes.common import (
    CommonSubexpressionEliminationPass,
    LiftConstantsToInitializersPass,
    LiftSubgraphInitializersToMainGraphPass,
)

from trueport.ir.provenance import mark_origins
from trueport.passes.fuse import simplify
from trueport.passes.known import make_known
from trueport.passes.pipeline import raise_opsets
from trueport.passes.prune import prune
from trueport.passes.shapes import infer_shapes

__all__ = ["settle"]


def settle(model: ir.Model) -> None:
    """Newest opset, functions inlined, what is known computed; no weight is changed, no layout turned."""
    for function in model.functions.values():
        mark_origins(function.graph)
    mark_origins(model.graph)
    raise_opsets(model)
    LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    LiftSubgraphInitializersToMainGraphPass()(model)
    prune(model)
    infer_shapes(model)
    make_known(model)
    simplify(model)
    CommonSubexpressionEliminationPass()(model)
    prune(model)
