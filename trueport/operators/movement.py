"""Operators that move, choose or make elements, and those that read shapes."""

from __future__ import annotations

from functools import partial

from trueport.fidelity import AGAINST_TERMS, accumulation, ulps
from trueport.operators.order import (
    Along,
    Elementwise,
    Gathered,
    Inserted,
    PerAxis,
    Reshaped,
    ShapeOnly,
    Sliced,
    Squeezed,
)
from trueport.operators.record import Confusable, Folding, Kind, Operator, Role, Sizing, Trait, Widening

__all__ = ["OPERATORS"]

_TAKEN = Trait.MOVES_FIRST | Trait.KEEPS_SMALL
_VIEW = _TAKEN | Trait.SAME_NUMBERS | Trait.KEEPS_INDEX
_shaped = partial(Operator, kind=Kind.MOVEMENT, error=None, folds=Folding.ALWAYS, widening=Widening.MOVES)
_size = partial(Operator, kind=Kind.SHAPE, error=None, widening=Widening.MOVES, traits=Trait.MAKES_INDEX)
_indexed = partial(Operator, kind=Kind.MOVEMENT, error=None, widening=Widening.MOVES)
_generated = partial(Operator, kind=Kind.GENERATION, error=None, widening=Widening.MOVES)
_chosen = partial(Operator, kind=Kind.SELECTION, error=None)

OPERATORS: tuple[Operator, ...] = (
    _shaped(
        "Concat",
        order=Along(operands=None),
        traits=Trait.KEEPS_NAN | Trait.KEEPS_INDEX | Trait.KEEPS_SIZE | Trait.KEEPS_SMALL,
    ),
    _shaped("Expand", roles=(Role.DATA, Role.COUNT), traits=_TAKEN | Trait.KEEPS_INDEX),
    _shaped("Flatten", order=Reshaped(), family="reshape", traits=_TAKEN | Trait.KEEPS_INDEX),
    _shaped("Identity", order=Elementwise(), confusable=Confusable.UNARY, traits=_VIEW),
    _shaped("Reshape", order=Reshaped(), roles=(Role.DATA, Role.SHAPE), traits=_VIEW),
    _shaped("Split", order=Along(), roles=(Role.DATA, Role.COUNT), sizing=Sizing.PARAMETERS, traits=_TAKEN),
    _shaped("Squeeze", order=Squeezed(), roles=(Role.DATA, Role.AXES), family="reshape", traits=_VIEW),
    _shaped("Tile", order=PerAxis(((1, 1),)), roles=(Role.DATA, Role.EXTENT), traits=_TAKEN),
    _shaped("Transpose", traits=_VIEW),
    _shaped("Unsqueeze", order=Inserted(), roles=(Role.DATA, Role.AXES), family="reshape", traits=_VIEW),
    _size("Shape", order=ShapeOnly()),
    _size("Size", order=ShapeOnly(counts=True), folds=Folding.INTEGERS),
    _indexed("CenterCropPad", roles=(Role.DATA, Role.PARAMETER)),
    _indexed("DepthToSpace", traits=Trait.MOVES_FIRST),
    _indexed("Gather", order=Gathered(), folds=Folding.ALWAYS, roles=(Role.DATA, Role.INDEX), traits=_TAKEN),
    _indexed(
        "GatherElements", order=Along(operands=2), folds=Folding.ALWAYS, roles=(Role.DATA, Role.INDEX), traits=_TAKEN
    ),
    _indexed("GatherND", folds=Folding.ALWAYS, roles=(Role.DATA, Role.INDEX_TUPLE), family="gather", traits=_TAKEN),
    _indexed(
        "Pad",
        order=PerAxis(((1, 2),), axes_input=3),
        folds=Folding.ALWAYS,
        roles=(Role.DATA, Role.START, Role.PARAMETER, Role.PARAMETER),
        traits=Trait.KEEPS_SMALL,
    ),
    _indexed("ReverseSequence", roles=(Role.DATA, Role.LENGTHS), traits=Trait.MOVES_FIRST),
    _indexed("Scatter", error=accumulation(against=AGAINST_TERMS)),
    _indexed(
        "ScatterElements",
        error=accumulation(against=AGAINST_TERMS),
        order=Along(operands=3),
        folds=Folding.ALWAYS,
        roles=(Role.DATA, Role.INDEX, Role.DATA),
    ),
    _indexed(
        "ScatterND",
        error=accumulation(against=AGAINST_TERMS),
        folds=Folding.ALWAYS,
        roles=(Role.DATA, Role.INDEX_TUPLE, Role.DATA),
    ),
    _indexed(
        "Slice",
        order=Sliced(),
        folds=Folding.ALWAYS,
        roles=(Role.DATA, Role.START, Role.END, Role.AXES, Role.STEP),
        sizing=Sizing.PARAMETERS,
        traits=_TAKEN,
    ),
    _indexed("SpaceToDepth", traits=Trait.MOVES_FIRST),
    _indexed("TensorScatter"),
    _generated("Constant", widening=Widening.NOT_INTEGERS),
    _generated("ConstantOfShape", folds=Folding.INTEGERS, roles=(Role.EXTENT,)),
    _generated("EyeLike", folds=Folding.INTEGERS, type_attribute="dtype"),
    _generated(
        "Range",
        error=ulps(1),
        folds=Folding.ALWAYS,
        widening=Widening.WRAPS,
        roles=(Role.START, Role.END, Role.STEP),
        sizing=Sizing.STEPS,
    ),
    _generated("Trilu", kind=Kind.MOVEMENT, folds=Folding.ALWAYS, roles=(Role.DATA, Role.PARAMETER)),
    _chosen(
        "ArgMax",
        order=Along(keeps=False),
        folds=Folding.INTEGERS,
        widening=Widening.ORDERED,
        traits=Trait.MAKES_INDEX | Trait.ORDERS,
    ),
    _chosen(
        "ArgMin",
        order=Along(keeps=False),
        folds=Folding.INTEGERS,
        widening=Widening.ORDERED,
        traits=Trait.MAKES_INDEX | Trait.ORDERS,
    ),
    _chosen(
        "Compress",
        folds=Folding.INTEGERS,
        widening=Widening.MOVES,
        roles=(Role.DATA, Role.PARAMETER),
        sizing=Sizing.VALUES,
        traits=_TAKEN,
    ),
    _chosen(
        "NonMaxSuppression",
        error=ulps(0),
        roles=(Role.DATA, Role.DATA, Role.PARAMETER, Role.PARAMETER, Role.PARAMETER),
        sizing=Sizing.VALUES,
    ),
    _chosen(
        "NonZero",
        folds=Folding.INTEGERS,
        widening=Widening.BY_ZERO,
        sizing=Sizing.VALUES,
        traits=Trait.MAKES_INDEX | Trait.MAGNIFIES_SMALL,
    ),
    _chosen("OneHot", folds=Folding.INTEGERS, widening=Widening.MOVES, roles=(Role.CLASS, Role.EXTENT, Role.PARAMETER)),
    _chosen(
        "TopK",
        order=Along(-1),
        widening=Widening.ORDERED,
        roles=(Role.DATA, Role.COUNT),
        sizing=Sizing.PARAMETERS,
        traits=Trait.KEEPS_NAN | Trait.KEEPS_SMALL | Trait.ORDERS,
    ),
    _chosen("Unique", widening=Widening.ORDERED, sizing=Sizing.VALUES, traits=Trait.ORDERS),
)
