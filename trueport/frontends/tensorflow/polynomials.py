"""Polynomials, series and integrals of one variable as ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx_ir as ir

from trueport.frontends.tensorflow.context import Translation

__all__ = ["horner", "integral", "power_sum"]


def horner(t: Translation, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
    """A polynomial, the coefficient of the constant term first."""
    *rest, result = (t.op.like(c, x) for c in coefficients)
    for coefficient in reversed(rest):
        result = t.op.Add(t.op.Mul(result, x), coefficient)
    return result


def power_sum(t: Translation, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
    """A long polynomial in few nodes: all powers at once, along an axis of their own."""
    return integral(t, x, lambda v: t.op.Pow(v, t.op.like(np.arange(len(coefficients)), x)), coefficients)


def integral(
    t: Translation, x: ir.Value, function: Callable[[ir.Value], ir.Value], weights: Sequence[float] | np.ndarray
) -> ir.Value:
    """A weighted sum of a function's values along an axis of their own; the function gets x with that axis at its end.

    With the nodes and weights of a rule for integrals it is the integral, to the rule's accuracy.
    """
    values = function(t.op.Unsqueeze(x, [-1]))
    weighted = t.op.Mul(values, t.op.like(np.asarray(weights), x))
    made: ir.Value = t.op.ReduceSum(weighted, [-1], keepdims=0)
    return made
