"""From an ONNX model to the canonical form: one opset, inputs without defaults, constants as initializers, shapes."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes.common import LiftConstantsToInitializersPass, LiftSubgraphInitializersToMainGraphPass

from trueport.fidelity import Loss
from trueport.ir.provenance import mark_origins
from trueport.passes.pass_list import EXACT, Fact, Pass, PassList
from trueport.passes.shapes import INFER_SHAPES
from trueport.passes.upgrade.adapt import upgrade_model

__all__ = [
    "CANONICALIZE",
    "LIFT_CONSTANTS",
    "MARK_ORIGINS",
    "RAISE_OPSETS",
    "canonicalize",
    "lift_constants",
    "raise_opsets",
]

_OVERRIDABLE_SINCE = 4
"""Before IR version 4 every initializer had to be listed as an input, so being one meant nothing."""


def raise_opsets(model: ir.Model) -> None:
    """Upgrade everything in a model to the canonical opsets."""
    upgrade_model(model)


def mark_all_origins(model: ir.Model) -> None:
    """Give every node of a freshly loaded model, and of its functions, its own name as its origin."""
    mark_origins(model.graph)
    for function in model.functions.values():
        mark_origins(function.graph)


def lift_constants(model: ir.Model) -> None:
    """Make constants, those of subgraphs too, initializers of the main graph."""
    LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    LiftSubgraphInitializersToMainGraphPass()(model)


MARK_ORIGINS = Pass("mark origins", mark_all_origins, ensures=(Fact.ORIGINS,)).at(
    "first: everything later is reported under these names"
)
RAISE_OPSETS = Pass(
    "upgrade opsets, inline functions", raise_opsets, needs=(Fact.ORIGINS,), ensures=(Fact.CANONICAL,), keeps=EXACT
).at("both together: a function may import another opset than the model")
LIFT_CONSTANTS = Pass("lift constants", lift_constants, needs=(Fact.CANONICAL,), ensures=(Fact.INITIALIZERS,))

CANONICALIZE = PassList(
    "To the canonical form",
    (
        MARK_ORIGINS,
        RAISE_OPSETS,
        LIFT_CONSTANTS.at("before shapes: Reshape, Slice and Resize have shapes only when their parameters are known"),
        INFER_SHAPES.at("last: it needs one opset, and constants where it looks for them"),
    ),
    given=(Fact.FED,),
)
"""What every ONNX source goes through."""


def canonicalize(model: ir.Model) -> list[Loss]:
    """Bring a model, in place, to the canonical opsets, with its shapes inferred; returns what that cost."""
    losses = settle_defaults(model)
    CANONICALIZE.run(model)
    return losses


def settle_defaults(model: ir.Model) -> list[Loss]:
    """Take inputs with an initializer out of the signature; a default that could be overridden is a loss."""
    graph = model.graph
    defaulted = [value for value in graph.inputs if value.name in graph.initializers]
    for value in defaulted:
        graph.inputs.remove(value)
    if model.ir_version < _OVERRIDABLE_SINCE:
        return []
    return [
        Loss(
            f"input {value.name!r}",
            "its default can no longer be overridden by the caller",
            "a TensorFlow signature has no optional inputs; the default is kept as a weight",
        )
        for value in defaulted
    ]
