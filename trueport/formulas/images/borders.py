"""Padding as TensorFlow gives it, one row of two numbers per axis, by ONNX's Pad."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from trueport.formulas.writer import Writer

__all__ = ["padded_by"]


def padded_by(
    t: Writer,
    value: ir.Value,
    paddings: ir.Value,
    number: ir.Value | None = None,
    *,
    mode: str | None = None,
    axes: Sequence[int] | None = None,
) -> ir.Value:
    """The value with a border of ``number``, or mirrored; the rows are for ``axes``, all of them by default."""
    known = t.static(paddings)
    pads: ir.Value | np.ndarray
    if known is None:
        pads = t.op.Reshape(t.op.Transpose(t.int64(paddings), perm=[1, 0]), [-1])
        which = None if axes is None else list(axes)
    else:
        full = np.zeros((t.rank(value), 2), np.int64)
        full[slice(None) if axes is None else list(axes)] = known
        pads, which = full.T.ravel(), None
    return t.op.Pad(value, pads, number, which, mode=mode) if known is None or known.any() else value
