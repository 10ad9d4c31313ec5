"""A graph that another exporter wrote, brought to the canonical opset and freed of what does nothing."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes.common import CommonSubexpressionEliminationPass

from trueport.passes.canonical import lift_constants, mark_all_origins, raise_opsets
from trueport.passes.known import make_known
from trueport.passes.pass_list import EXACT, Fact, Pass, PassList
from trueport.passes.prune import prune
from trueport.passes.shapes import infer_shapes
from trueport.passes.simplify import simplify

__all__ = ["SETTLE", "settle"]

SETTLE = PassList(
    "From another exporter",
    (
        Pass(
            "mark origins",
            mark_all_origins,
            "first: everything later is reported under these names",
            ensures=(Fact.ORIGINS,),
        ),
        Pass(
            "upgrade opsets, inline functions",
            raise_opsets,
            "both together: a function may import another opset than the model",
            needs=(Fact.ORIGINS,),
            ensures=(Fact.CANONICAL,),
            keeps=EXACT,
        ),
        Pass(
            "lift constants",
            lift_constants,
            "before shapes, which depend on them",
            needs=(Fact.CANONICAL,),
            ensures=(Fact.INITIALIZERS,),
        ),
        Pass("prune", prune, "before inference and folding, which then have less to look at"),
        Pass(
            "infer shapes",
            infer_shapes,
            "folding asks for types and shapes",
            needs=(Fact.CANONICAL, Fact.INITIALIZERS),
            ensures=(Fact.SHAPES,),
        ),
        Pass(
            "fold constants, infer shapes",
            make_known,
            "before simplifying, which looks at constants",
            needs=(Fact.INITIALIZERS, Fact.SHAPES),
            ensures=(Fact.KNOWN,),
        ),
        Pass(
            "simplify",
            simplify,
            "before equal nodes are merged: without nodes between that do nothing more of them are equal",
            needs=(Fact.KNOWN,),
            ensures=(Fact.SIMPLE,),
        ),
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
