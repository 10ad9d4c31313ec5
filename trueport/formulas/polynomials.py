"""Polynomials, series and integrals of one variable as ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx_ir as ir

from trueport.formulas.writer import Writer

__all__ = ["horner", "integral", "power_sum", "unit_interval", "weighted"]


def horner(t: Writer, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
    """A polynomial, the coefficient of the constant term first."""
    *rest, result = (t.op.like(c, x) for c in coefficients)
    for coefficient in reversed(rest):
        result = t.op.Add(t.op.Mul(result, x), coefficient)
    return result


def power_sum(t: Writer, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
    """A long polynomial in few nodes: all powers at once, along an axis of their own."""
    return integral(t, x, lambda v: t.op.Pow(v, t.op.like(np.arange(len(coefficients)), x)), coefficients)


def integral(
    t: Writer, x: ir.Value, function: Callable[[ir.Value], ir.Value], weights: Sequence[float] | np.ndarray
) -> ir.Value:
    """A weighted sum of a function's values along an axis of their own; the function gets x with that axis at its end.

    With the nodes and weights of a rule for integrals it is the integral, to the rule's accuracy.
    """
    values = function(t.op.Unsqueeze(x, [-1]))
    return weighted(t, values, weights)


def weighted(t: Writer, values: ir.Value, weights: Sequence[float] | np.ndarray) -> ir.Value:
    """The weighted sum over the last axis."""
    # Weights as a column: runtimes fail on a vector where there are no values.
    return t.op.Squeeze(t.op.MatMul(values, t.op.like(np.asarray(weights)[:, None], values)), [-1])


def unit_interval(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss's rule for integrals from 0 to 1, with more digits than doubles where there are."""
    nodes: np.ndarray = np.polynomial.legendre.leggauss(count)[0].astype(np.longdouble)
    for _ in range(2):
        value, before = nodes, np.ones_like(nodes)
        for k in range(2, count + 1):
            value, before = ((2 * k - 1) * nodes * value - (k - 1) * before) / k, value
        slope = count * (before - nodes * value) / (1 - nodes**2)
        nodes = nodes - value / slope
    return (nodes + 1) / 2, 1 / ((1 - nodes**2) * slope**2)
