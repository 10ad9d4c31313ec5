"""Comparisons and logic."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Equal", domain=TF, fidelity=BITWISE)
def equal(t: Translation, x: ir.Value, y: ir.Value, *, incompatible_shape_error: bool) -> ir.Value:
    if not incompatible_shape_error and not _fit(x, y):
        return t.op.const(np.array(False))
    return t.op.Equal(x, y)


@maps("NotEqual", domain=TF, fidelity=BITWISE)
def not_equal(t: Translation, x: ir.Value, y: ir.Value, *, incompatible_shape_error: bool) -> ir.Value:
    return t.op.Not(equal(t, x, y, incompatible_shape_error=incompatible_shape_error))


def _fit(x: ir.Value, y: ir.Value) -> bool:
    """Whether shapes may broadcast, as far as they are known: those that don't are unequal for Python's ==."""
    if x.shape is None or y.shape is None:
        return True
    pairs = zip(reversed(x.shape.dims), reversed(y.shape.dims), strict=False)
    return all(not (isinstance(a, int) and isinstance(b, int)) or a == b or 1 in (a, b) for a, b in pairs)


@maps("ApproximateEqual", domain=TF, fidelity=BITWISE)
def approximate_equal(t: Translation, x: ir.Value, y: ir.Value, *, tolerance: float) -> ir.Value:
    return t.op.Less(t.op.Abs(t.op.Sub(x, y)), t.op.like(tolerance, x))


@maps("IsFinite", domain=TF, fidelity=BITWISE)
def is_finite(t: Translation, x: ir.Value) -> ir.Value:
    return t.op.Less(t.op.Abs(x), t.op.like(np.inf, x))
