"""Operators that TensorFlow has with the same inputs and no attributes: a row each.

The bounds of circular and hyperbolic functions, in their records, are the largest distances of TensorFlow's kernels
from the exact results over every 509th float32, rounded up.
"""

from __future__ import annotations

from operator import attrgetter

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.fidelity import BITWISE, EXACT, Fidelity
from trueport.mapping.declare import OpMapping, declared_by, maps

__all__ = ["ROWS"]


def _row(operator: str, function: str, audited: int, fidelity: Fidelity = EXACT) -> OpMapping:
    """Declare an operator that is one of TensorFlow's functions, ``tf.<function>``, of the same inputs."""
    named = attrgetter(function)

    @maps(operator, audited=audited, fidelity=fidelity)
    def emit(t: Emission, *inputs: Tensor) -> Tensor:
        return named(tf)(*inputs)

    return declared_by(emit)[0]


ROWS: tuple[OpMapping, ...] = (
    _row("Acos", "math.acos", 22),
    _row("Acosh", "math.acosh", 22),
    _row("Asin", "math.asin", 22),
    _row("Asinh", "math.asinh", 22),
    _row("Atan", "math.atan", 22),
    _row("Atanh", "math.atanh", 22),
    _row("Ceil", "math.ceil", 13),
    _row("Cos", "math.cos", 22),
    _row("Cosh", "math.cosh", 22),
    _row("Equal", "equal", 19),
    _row("Exp", "exp", 13),
    _row("Floor", "floor", 13),
    _row("Greater", "greater", 13),
    _row("GreaterOrEqual", "greater_equal", 16),
    _row("Less", "less", 13),
    _row("LessOrEqual", "less_equal", 16),
    _row("Log", "math.log", 13),
    _row("Mul", "multiply", 14),
    _row("Neg", "negative", 13),
    _row("Relu", "nn.relu", 14),
    _row("Round", "round", 22),
    _row("Sigmoid", "sigmoid", 13),
    _row("Sin", "math.sin", 22),
    _row("Sinh", "math.sinh", 22),
    _row("Softplus", "math.softplus", 22),
    _row("Softsign", "nn.softsign", 22),
    _row("Sqrt", "sqrt", 13),
    _row("Sub", "subtract", 14),
    _row("Tan", "math.tan", 22),
    _row("And", "logical_and", 7, BITWISE),
    _row("BitwiseAnd", "bitwise.bitwise_and", 18, BITWISE),
    _row("BitwiseNot", "bitwise.invert", 18, BITWISE),
    _row("BitwiseOr", "bitwise.bitwise_or", 18, BITWISE),
    _row("BitwiseXor", "bitwise.bitwise_xor", 18, BITWISE),
    _row("Not", "logical_not", 1, BITWISE),
    _row("Or", "logical_or", 7, BITWISE),
    _row("Where", "where", 16, BITWISE),
    _row("Xor", "not_equal", 7, BITWISE),
)
