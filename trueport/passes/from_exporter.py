"""A graph that another exporter wrote, brought to the canonical opset and freed of what does nothing."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes.common import CommonSubexpressionEliminationPass

from trueport.passes.canonical import LIFT_CONSTANTS, MARK_ORIGINS, RAISE_OPSETS
from trueport.passes.known import MAKE_KNOWN
from trueport.passes.pass_list import Fact, Pass, PassList
from trueport.passes.prune import prune
from trueport.passes.shapes import INFER_SHAPES
from trueport.passes.simplify import SIMPLIFY

__all__ = ["SETTLE", "settle"]

SETTLE = PassList(
    "From another exporter",
    (
        MARK_ORIGINS,
        RAISE_OPSETS,
        LIFT_CONSTANTS.at("before shapes, which depend on them"),
        Pass("prune", prune, "before inference and folding, which then have less to look at"),
        INFER_SHAPES.at("folding asks for types and shapes"),
        MAKE_KNOWN.at("before simplifying, which looks at constants"),
        SIMPLIFY.at("before equal nodes are merged: without nodes between that do nothing more of them are equal"),
        Pass(
            "merge equal nodes",
            CommonSubexpressionEliminationPass(),
            "exporters write a size or a mask once for each use",
            needs=(Fact.SIMPLE,),
        ),
        Pass("prune", prune, "last: what the passes before have left unused is dropped"),
    ),
)
"""What a graph of PyTorch's exporter goes through."""


def settle(model: ir.Model) -> None:
    """Newest opset, functions inlined, what is known computed; no weight is changed, no layout turned."""
    SETTLE.run(model)
