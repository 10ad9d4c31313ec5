"""What can be known of a graph without running it: constants and shapes, each making more of the other known."""

from __future__ import annotations

import onnx_ir as ir

from trueport.passes.fold import fold_constants
from trueport.passes.pass_list import Fact, Pass
from trueport.passes.shapes import infer_shapes

__all__ = ["MAKE_KNOWN", "make_known"]

_MAX_ROUNDS = 8
"""Each round lets shapes be known that depend on the constants of the round before."""


def make_known(model: ir.Model) -> None:
    """Fold constants and infer shapes in turn, in place, until there is nothing left to fold."""
    for _ in range(_MAX_ROUNDS):
        if not fold_constants(model):
            return
        infer_shapes(model)


MAKE_KNOWN = Pass(
    "fold constants, infer shapes", make_known, needs=(Fact.INITIALIZERS, Fact.SHAPES), ensures=(Fact.KNOWN,)
)
