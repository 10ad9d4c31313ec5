"""The passes in their order, with the reason for each one's place."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes.common import (
    LiftConstantsToInitializersPass,
    LiftSubgraphInitializersToMainGraphPass,
    RemoveUnusedNodesPass,
)

from trueport.fidelity import Loss
from trueport.ir.provenance import mark_origins
from trueport.mapping.registry import Registry
from trueport.passes.batch_norm import join_batch_norms
from trueport.passes.expand import expand_functions
from trueport.passes.fold import fold_constants
from trueport.passes.fuse import simplify
from trueport.passes.inputs import settle_defaults
from trueport.passes.known import make_known
from trueport.passes.layout import assign_layouts
from trueport.passes.shapes import infer_shapes
from trueport.passes.sizes import mark_sized_by_data
from trueport.passes.upgrade.adapt import upgrade_model

__all__ = ["arrange_for_tensorflow", "canonicalize", "raise_opsets"]

_MAX_NESTED_BODIES = 8
"""Function bodies that use operators with bodies: three levels are the most in ONNX 1.23."""


def canonicalize(model: ir.Model) -> list[Loss]:
    """Bring a model, in place, to the canonical opsets, with its shapes inferred; returns what that cost."""
    losses = settle_defaults(model)
    # Names first: everything later is reported under them.
    mark_origins(model.graph)
    for function in model.functions.values():
        mark_origins(function.graph)
    # Opsets and inlining go together: a function may import another opset than the model.
    upgrade_model(model)
    # Constants before shapes: Reshape, Slice and Resize have shapes only when their parameters are known.
    LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    LiftSubgraphInitializersToMainGraphPass()(model)
    infer_shapes(model)
    return losses


def arrange_for_tensorflow(model: ir.Model, registry: Registry) -> None:
    """Bring a canonical model, in place, into the form that handlers are written for."""
    # Shapes before bodies: some function bodies depend on input types.
    for _ in range(_MAX_NESTED_BODIES):
        expanded = expand_functions(
            model, lambda node: registry.find(node.op_type, node.domain) is not None, raise_opsets
        )
        if not expanded:
            break
        LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
        LiftSubgraphInitializersToMainGraphPass()(model)
        infer_shapes(model)
    RemoveUnusedNodesPass()(model)
    make_known(model)
    simplify(model)
    # After paddings have joined their convolutions: it makes these anew.
    join_batch_norms(model)
    # Layouts last: from here on a value's shape is the one it is held in, which ONNX's inference must not see.
    assign_layouts(model, registry.honours_channels_last)
    # Layouts move constants by nodes; a weight that is used in one order only is stored in it.
    fold_constants(model)
    # Known bounds are constants by now; what is left hangs on data.
    mark_sized_by_data(model)


def raise_opsets(model: ir.Model) -> None:
    """Upgrade everything in a model to the canonical opsets."""
    upgrade_model(model)
