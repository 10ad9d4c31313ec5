"""Activations and functions of angles."""

from __future__ import annotations

from functools import partial

from trueport.fidelity import AGAINST_INPUT, AGAINST_ONE, accumulation, ulps
from trueport.operators.order import Along, Elementwise
from trueport.operators.record import Confusable, Decision, Kind, Operator, Trait, Widening

__all__ = ["OPERATORS"]

_AT_ZERO = Decision((0.0,))
_activation = partial(Operator, kind=Kind.ELEMENTWISE, order=Elementwise(), confusable=Confusable.UNARY)
_gated = partial(Operator, kind=Kind.ELEMENTWISE, order=Elementwise())
_along = partial(Operator, kind=Kind.NORMALIZATION, order=Along(-1), confusable=Confusable.ALONG)
_trigonometric = partial(Operator, kind=Kind.ELEMENTWISE, order=Elementwise())

OPERATORS: tuple[Operator, ...] = (
    _activation("Celu", error=accumulation(against=AGAINST_ONE), decides=_AT_ZERO),
    _activation("Elu", error=accumulation(against=AGAINST_ONE), decides=_AT_ZERO),
    _activation("Gelu", error=accumulation(against=AGAINST_INPUT)),
    _activation("HardSigmoid", error=accumulation(against=AGAINST_ONE), decides=Decision((-2.5, 2.5))),
    _activation("HardSwish", error=accumulation(against=AGAINST_INPUT), decides=Decision((-3.0, 3.0))),
    _activation("LeakyRelu", decides=_AT_ZERO),
    _activation("Mish", error=ulps(8, AGAINST_INPUT)),
    _activation("Relu", error=None, widening=Widening.BY_ZERO, traits=Trait.KEEPS_NAN, decides=_AT_ZERO),
    _activation("Selu", error=accumulation(against=AGAINST_ONE), decides=_AT_ZERO),
    _activation("Sigmoid", error=ulps(6, AGAINST_ONE)),
    _activation("Softplus", error=ulps(4, AGAINST_ONE)),
    _activation("Softsign"),
    _activation("Swish", error=ulps(6, AGAINST_INPUT)),
    _activation("ThresholdedRelu", error=None, decides=Decision(attribute=("alpha", 1.0))),
    _gated("PRelu", decides=_AT_ZERO),
    _gated("Shrink", decides=Decision(attribute=("lambd", 0.5))),
    _gated("SwiGLU", error=ulps(7), order=None),
    _along("Hardmax", error=None, widening=Widening.BY_ZERO),
    _along("LogSoftmax", error=accumulation(against=AGAINST_ONE)),
    _along("Softmax", error=accumulation()),
    _trigonometric("Acos", error=ulps(3)),
    _trigonometric("Acosh", error=ulps(2, AGAINST_ONE)),
    _trigonometric("Asin", error=ulps(4)),
    _trigonometric("Asinh", error=ulps(2, AGAINST_ONE)),
    _trigonometric("Atan", error=ulps(3)),
    _trigonometric("Atanh", error=ulps(2, AGAINST_ONE)),
    _trigonometric("Cos", error=ulps(2)),
    _trigonometric("Cosh", error=ulps(2)),
    _trigonometric("Sin", error=ulps(2)),
    _trigonometric("Sinh", error=ulps(2)),
    _trigonometric("Tan"),
    _trigonometric("Tanh", error=ulps(4), confusable=Confusable.UNARY),
)
