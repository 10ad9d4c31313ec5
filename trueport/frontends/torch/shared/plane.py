"""Points of the plane: their distance from the origin and their angle, at any magnitude."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.formulas.special import circular
from trueport.frontends.torch.translate.recording import TorchTranslation

__all__ = ["angle", "hypotenuse", "is_minus"]

Value = ir.Value


def angle(t: TorchTranslation, y: Value, x: Value) -> Value:
    """The angle to the axis in the first quadrant, mirrored into the one where the point lies."""
    height, width = t.op.Abs(y), t.op.Abs(x)
    # Both infinite: 45 degrees; both zero: none. Their quotient would be NaN.
    slope = t.op.Where(t.op.Equal(height, width), t.op.Sign(height), t.op.Div(height, width))
    slant = circular.atan(t, slope)
    mirrored = t.op.Where(is_minus(t, x), t.op.Sub(t.op.like(np.pi, x), slant), slant)
    found = t.op.Where(is_minus(t, y), t.op.Neg(mirrored), mirrored)
    odd = t.op.Or(t.op.IsNaN(x), t.op.IsNaN(y))
    return t.op.Where(odd, t.op.like(np.nan, x), found)


def is_minus(t: TorchTranslation, x: Value) -> Value:
    """Whether a number has a sign; that of zero shows in its reciprocal."""
    zero = t.op.like(0, x)
    return t.op.Or(t.op.Less(x, zero), t.op.Less(t.op.Reciprocal(x), zero))


def hypotenuse(t: TorchTranslation, a: Value, b: Value) -> Value:
    """Scaled by the longer side, so that no square overflows; infinite if one side is, even beside NaN."""
    wide, narrow = t.op.Max(t.op.Abs(a), t.op.Abs(b)), t.op.Min(t.op.Abs(a), t.op.Abs(b))
    none = t.op.Equal(wide, t.op.like(0, a))
    share = t.op.Div(narrow, t.op.Where(none, t.op.like(1, a), wide))
    found = t.op.Mul(wide, t.op.Sqrt(t.op.Add(t.op.like(1, a), t.op.Mul(share, share))))
    endless = t.op.Or(t.op.IsInf(a), t.op.IsInf(b))
    return t.op.Where(endless, t.op.like(np.inf, a), found)
