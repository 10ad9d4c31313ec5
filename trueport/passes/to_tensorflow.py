"""From the canonical form to the form that TensorFlow's handlers are written for."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes.common import (
    RemoveUnusedNodesPass,
)

from trueport.mapping.registry import Registry
from trueport.passes.batch_norm import join_batch_norms
from trueport.passes.canonical import lift_constants, raise_opsets
from trueport.passes.expand import expand_functions
from trueport.passes.fold import fold_constants
from trueport.passes.known import MAKE_KNOWN
from trueport.passes.layout import assign_layouts
from trueport.passes.pass_list import EXACT, Fact, Pass, PassList
from trueport.passes.shapes import infer_shapes
from trueport.passes.simplify import SIMPLIFY
from trueport.passes.sizes import mark_sized_by_data

__all__ = ["arrange_for_tensorflow", "passes_for_tensorflow"]

_MAX_NESTED_BODIES = 8
"""Function bodies that use operators with bodies: three levels are the most in ONNX 1.23."""


def passes_for_tensorflow(registry: Registry) -> PassList:
    """Return the passes from a canonical model to the form that a registry's handlers are written for."""
    given = (Fact.FED, Fact.ORIGINS, Fact.CANONICAL, Fact.INITIALIZERS, Fact.SHAPES)
    return PassList("To TensorFlow", (*_before_layouts(registry), *_from_layouts_on(registry)), given)


def _before_layouts(registry: Registry) -> tuple[Pass, ...]:
    return (
        Pass(
            "expand functions",
            lambda model: _expand_unmapped(model, registry),
            "after shapes: some function bodies depend on input types",
            needs=(Fact.CANONICAL, Fact.SHAPES),
            ensures=(Fact.MAPPED,),
            keeps=EXACT,
        ),
        Pass(
            "remove unused nodes",
            RemoveUnusedNodesPass(),
            "bodies compute results that nothing asks for",
            needs=(Fact.MAPPED,),
        ),
        MAKE_KNOWN.at("after expansion: bodies compute with sizes and axes, which handlers want to know"),
        SIMPLIFY.at("after folding: whether a node does nothing is seen from its constants"),
        Pass(
            "join batch norms",
            join_batch_norms,
            "after paddings have joined their convolutions, which it builds anew",
            needs=(Fact.SIMPLE,),
            keeps=EXACT,
        ),
    )


def _from_layouts_on(registry: Registry) -> tuple[Pass, ...]:
    return (
        Pass(
            "assign layouts",
            lambda model: assign_layouts(model, registry.honours_channels_last),
            "last of those that look at shapes: from here on a value's shape is the one that it is held in, which "
            "ONNX's inference must not see",
            needs=(Fact.SHAPES, Fact.SIMPLE),
            ensures=(Fact.LAYOUTS,),
            ends=(Fact.SHAPES,),
            keeps=EXACT,
        ),
        Pass(
            "fold constants",
            fold_constants,
            "layouts move constants by nodes; a weight that is used in one order only is stored in it",
            needs=(Fact.LAYOUTS,),
            keeps=EXACT,
        ),
        Pass(
            "mark sizes that depend on data",
            mark_sized_by_data,
            "last: known bounds are constants by now, what is left depends on data",
            needs=(Fact.KNOWN, Fact.LAYOUTS),
            keeps=EXACT,
        ),
    )


def arrange_for_tensorflow(model: ir.Model, registry: Registry) -> None:
    """Bring a canonical model, in place, into the form that handlers are written for."""
    passes_for_tensorflow(registry).run(model)


def _expand_unmapped(model: ir.Model, registry: Registry) -> None:
    """Replace operators without a mapping by their function bodies, which may use such operators again."""
    for _ in range(_MAX_NESTED_BODIES):
        expanded = expand_functions(
            model, lambda node: registry.find(node.op_type, node.domain) is not None, raise_opsets
        )
        if not expanded:
            return
        lift_constants(model)
        infer_shapes(model)
