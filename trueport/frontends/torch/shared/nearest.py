"""Which sample PyTorch's nearest-neighbour kernels take, rounded as they round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from trueport.frontends.torch.shared.resampling import Axis
from trueport.frontends.torch.translate.recording import TorchTranslation

__all__ = ["Rounding", "computed_positions", "is_repetition", "known_positions"]

Value = ir.Value
_D = ir.DataType
_CHECKED = 1 << 16
"""Samples up to which a factor is tried."""


@dataclass(frozen=True)
class Rounding:
    """How a kernel derives positions."""

    exact: bool
    """whether it takes the sample under a new one's centre (nearest-exact), not under its first corner"""
    wide: bool
    """whether it computes in float64"""
    small: bool
    """whether it is the kernel for small images, which copies where the new length is the old one or twice that"""

    def shortcut(self, axis: Axis) -> int:
        """1 or 2: so many times the old length, the kernel for small images ignores a fractional factor; 0: never."""
        if not self.small or self.exact or axis.factor is None or axis.factor == int(axis.factor):
            return 0
        return int(axis.factor) if axis.factor < 3 else 0


def known_positions(axis: Axis, rounding: Rounding) -> np.ndarray:
    """The old sample of each new one, for known lengths."""
    assert axis.old is not None and axis.new is not None
    times = rounding.shortcut(axis)
    if times and axis.new == times * axis.old:
        return np.arange(axis.new) // times
    kind = np.float64 if rounding.wide else np.float32
    ratio = kind(1 / axis.factor) if axis.factor is not None else kind(axis.old) / kind(axis.new)
    return np.asarray(np.minimum(_floor(np.arange(axis.new), ratio, rounding), axis.old - 1))


def _floor(steps: np.ndarray, ratio: np.floating, rounding: Rounding) -> np.ndarray:
    kind = type(ratio)
    at = (steps.astype(kind) + kind(0.5 if rounding.exact else 0)) * ratio
    # The kernels take the floor by floorf, which rounds to float32 first.
    return np.asarray(np.floor(at.astype(np.float32)), np.int64)


def computed_positions(t: TorchTranslation, axis: Axis, rounding: Rounding) -> Value:
    """The old sample of each new one, where a length is known only when the model runs."""
    old, new = axis.lengths
    kind, dtype = (np.float64, _D.DOUBLE) if rounding.wide else (np.float32, _D.FLOAT)
    steps = t.op.Range(np.array(0), new, np.array(1))
    if axis.factor is None:
        ratio = t.op.Div(t.op.Cast(old, to=dtype), t.op.Cast(new, to=dtype))
    else:
        ratio = t.op.const(kind(1 / axis.factor))
    at = t.op.Cast(steps, to=dtype)
    at = t.op.Mul(t.op.Add(at, t.op.const(kind(0.5))) if rounding.exact else at, ratio)
    found = t.op.Cast(t.op.Floor(t.op.Cast(at, to=_D.FLOAT) if rounding.wide else at), to=_D.INT64)
    made: Value = t.op.Min(found, t.op.Sub(old, np.array(1)))
    times = rounding.shortcut(axis)
    if times:
        copied = t.op.Div(steps, np.array(times)) if times > 1 else steps
        made = t.op.Where(t.op.Equal(new, t.op.Mul(old, np.array(times))), copied, made)
    return made


def is_repetition(axis: Axis, rounding: Rounding) -> bool:
    """True if each sample is repeated, which Resize does by the same samples whatever the length."""
    if axis.is_fixed:
        resized = _resized_positions(axis)
        return resized is not None and np.array_equal(known_positions(axis, rounding), resized)
    factor = axis.factor
    if factor is None or factor < 1 or factor != int(factor):
        return False
    steps = np.arange(_CHECKED)
    kind = np.float64 if rounding.wide else np.float32
    return np.array_equal(_floor(steps, kind(1 / factor), rounding), steps // int(factor))


def _resized_positions(axis: Axis) -> np.ndarray | None:
    """What Resize (asymmetric, floor) takes; None where real numbers and float32 do not agree on it."""
    assert axis.old is not None and axis.new is not None
    steps = np.arange(axis.new)
    exact = steps * axis.old // axis.new
    near = np.floor(steps.astype(np.float32) / (np.float32(axis.new) / np.float32(axis.old))).astype(np.int64)
    return np.minimum(exact, axis.old - 1) if np.array_equal(exact, near) else None
