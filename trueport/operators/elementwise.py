"""Arithmetic, comparisons, logic and casts: functions of single elements."""

from __future__ import annotations

from functools import partial

from trueport.fidelity import AGAINST_ONE, AGAINST_TERMS, accumulation, ulps
from trueport.operators.order import Elementwise
from trueport.operators.record import Confusable, Decision, Folding, Kind, Operator, Role, Trait, Widening

__all__ = ["OPERATORS"]

_AT_ZERO = Decision((0.0,))
_AT_HALVES = Decision(tuple(step + 0.5 for step in range(-3, 3)))
_AT_INTEGERS = Decision(tuple(float(step) for step in range(-2, 3)))
_unary = partial(Operator, kind=Kind.ELEMENTWISE, error=ulps(0), order=Elementwise(), confusable=Confusable.UNARY)
_binary = partial(
    Operator,
    kind=Kind.ELEMENTWISE,
    error=ulps(0),
    order=Elementwise(),
    folds=Folding.ALWAYS,
    confusable=Confusable.BINARY,
)
_function = partial(Operator, kind=Kind.ELEMENTWISE, order=Elementwise())
_comparison = partial(
    Operator,
    kind=Kind.COMPARISON,
    error=ulps(0),
    order=Elementwise(),
    folds=Folding.ALWAYS,
    widening=Widening.ORDERED,
    confusable=Confusable.BINARY,
    decides=Decision(operands=True, inputs=(0, 1)),
)
_logic = partial(Operator, kind=Kind.ELEMENTWISE, error=None, order=Elementwise())
_bits = partial(
    Operator, kind=Kind.ELEMENTWISE, error=None, order=Elementwise(), folds=Folding.INTEGERS, widening=Widening.WRAPS
)
_cast = partial(Operator, kind=Kind.ELEMENTWISE, error=ulps(0), order=Elementwise())

OPERATORS: tuple[Operator, ...] = (
    _unary(
        "Abs",
        error=None,
        folds=Folding.ALWAYS,
        widening=Widening.WRAPS,
        traits=Trait.KEEPS_NAN | Trait.KEEPS_SIZE | Trait.KEEPS_SMALL,
        decides=_AT_ZERO,
    ),
    _unary("Ceil", error=None, folds=Folding.ALWAYS, traits=Trait.KEEPS_NAN, decides=_AT_INTEGERS),
    _unary("Erf", error=ulps(3, AGAINST_ONE)),
    _unary("Exp", error=ulps(1)),
    _unary("Floor", error=None, folds=Folding.ALWAYS, traits=Trait.KEEPS_NAN, decides=_AT_INTEGERS),
    _unary("Log", error=ulps(2, AGAINST_ONE), traits=Trait.MAGNIFIES_SMALL, decides=_AT_ZERO),
    _unary(
        "Neg",
        error=None,
        folds=Folding.ALWAYS,
        widening=Widening.WRAPS,
        traits=Trait.KEEPS_NAN | Trait.KEEPS_SIZE | Trait.KEEPS_SMALL,
    ),
    _unary("Reciprocal", traits=Trait.MAGNIFIES_SMALL),
    _unary("Round", error=None, folds=Folding.ALWAYS, traits=Trait.KEEPS_NAN, decides=_AT_HALVES),
    _unary(
        "Sign",
        error=None,
        folds=Folding.INTEGERS,
        widening=Widening.BY_ZERO,
        traits=Trait.KEEPS_NAN | Trait.MAGNIFIES_SMALL,
        decides=_AT_ZERO,
    ),
    _unary("Sqrt", folds=Folding.ALWAYS, traits=Trait.MAGNIFIES_SMALL, decides=_AT_ZERO),
    _binary("Add", widening=Widening.WRAPS, traits=Trait.KEEPS_SIZE | Trait.ARITHMETIC),
    _binary(
        "Div", widening=Widening.DIVIDES, roles=(Role.DATA, Role.DIVISOR), traits=Trait.KEEPS_SIZE | Trait.ARITHMETIC
    ),
    _binary(
        "Max",
        error=None,
        widening=Widening.ORDERED,
        traits=Trait.KEEPS_NAN | Trait.KEEPS_SIZE | Trait.KEEPS_SMALL | Trait.ARITHMETIC,
        decides=Decision(operands=True, inputs=(0, 1)),
    ),
    _binary(
        "Min",
        error=None,
        widening=Widening.ORDERED,
        traits=Trait.KEEPS_NAN | Trait.KEEPS_SIZE | Trait.KEEPS_SMALL | Trait.ARITHMETIC,
        decides=Decision(operands=True, inputs=(0, 1)),
    ),
    _binary(
        "Mod",
        error=ulps(1),
        folds=Folding.INTEGERS,
        widening=Widening.DIVIDES,
        roles=(Role.DATA, Role.DIVISOR),
        traits=Trait.KEEPS_SIZE,
    ),
    _binary("Mul", widening=Widening.WRAPS, traits=Trait.KEEPS_SIZE | Trait.KEEPS_SMALL | Trait.ARITHMETIC),
    _binary(
        "Pow",
        error=ulps(4),
        folds=Folding.NEVER,
        widening=Widening.WRAPS,
        roles=(Role.DATA, Role.PARAMETER),
        traits=Trait.ARITHMETIC,
    ),
    _binary("Sub", widening=Widening.WRAPS, traits=Trait.KEEPS_SIZE | Trait.ARITHMETIC),
    _function(
        "Clip",
        error=None,
        folds=Folding.INTEGERS,
        widening=Widening.BY_ZERO,
        roles=(Role.DATA, Role.PARAMETER, Role.PARAMETER),
        traits=Trait.KEEPS_NAN | Trait.KEEPS_INDEX | Trait.KEEPS_SMALL,
        decides=Decision(operands=True),
    ),
    _function("Mean", error=accumulation(against=AGAINST_TERMS)),
    _function(
        "Sum", error=accumulation(against=AGAINST_TERMS), folds=Folding.INTEGERS, widening=Widening.WRAPS, family="add"
    ),
    _comparison("Equal"),
    _comparison("Greater"),
    _comparison("GreaterOrEqual"),
    _comparison("Less"),
    _comparison("LessOrEqual"),
    _logic("And", folds=Folding.INTEGERS, confusable=Confusable.BINARY),
    _logic("IsInf"),
    _logic("IsNaN"),
    _logic("Not", folds=Folding.INTEGERS),
    _logic("Or", folds=Folding.INTEGERS, confusable=Confusable.BINARY),
    _logic(
        "Where",
        folds=Folding.ALWAYS,
        widening=Widening.MOVES,
        family="select",
        traits=Trait.KEEPS_SIZE | Trait.KEEPS_SMALL,
    ),
    _logic("Xor", folds=Folding.INTEGERS, confusable=Confusable.BINARY),
    _bits("BitShift", widening=Widening.DIVIDES),
    _bits("BitwiseAnd"),
    _bits("BitwiseNot"),
    _bits("BitwiseOr"),
    _bits("BitwiseXor"),
    _cast("BitCast", error=None, widening=Widening.BITS),
    _cast(
        "Cast",
        folds=Folding.ALWAYS,
        widening=Widening.TYPE,
        traits=Trait.SAME_NUMBERS | Trait.KEEPS_NAN | Trait.KEEPS_INDEX,
        decides=_AT_INTEGERS,
    ),
    _cast("CastLike", order=Elementwise(operands=1)),
)
