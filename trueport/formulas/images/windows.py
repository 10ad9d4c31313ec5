"""Sliding windows: their extents and paddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.formulas.images.spatial import size_at, spatial
from trueport.formulas.writer import Writer

__all__ = ["extents", "padding_attributes", "same_pads", "without_unreached"]

Sizes = Sequence[int | None]


def extents(kernel: Sequence[int], dilations: Sequence[int]) -> list[int]:
    """How far a window reaches along each axis."""
    return [(size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True)]


def same_pads(size: int | None, extent: int, stride: int) -> tuple[int, int] | None:
    """What SAME adds at both ends of an axis; None where that hangs on a size that is open."""
    if size is None and stride > 1:
        return None
    # With stride 1 the size cancels out.
    rest = 0 if size is None or stride == 1 else (-(-size // stride) - 1) * stride - size + 1
    total = max(extent - 1 + rest, 0)
    return total // 2, total - total // 2


def padding_attributes(
    padding: str,
    explicit: Sequence[int],
    data_format: str,
    *,
    sizes: Sizes,
    kernel: Sizes,
    strides: Sequence[int],
    dilations: Sequence[int],
) -> dict[str, Any]:
    """ONNX's attributes for TensorFlow's padding: numbers where they are known, else the rule by its name."""
    if padding == "EXPLICIT":
        before, after = spatial(explicit[0::2], data_format), spatial(explicit[1::2], data_format)
        return _pads(before, after)
    if padding == "VALID":
        return {}
    reach = None if None in kernel else extents([size or 0 for size in kernel], dilations)
    found = [same_pads(*axis) for axis in zip(sizes, reach, strides, strict=True)] if reach else [None]
    pairs = [pair for pair in found if pair is not None]
    if len(pairs) < len(found):
        return {"auto_pad": "SAME_UPPER"}
    return _pads([pair[0] for pair in pairs], [pair[1] for pair in pairs])


def without_unreached(
    t: Writer, data: ir.Value, extent: Sequence[int], strides: Sequence[int], pads: dict[str, Any]
) -> ir.Value:
    """Return channels-first data without the elements behind the last window, where padding is left to ``auto_pad``.

    Where a stride exceeds its window, SAME_UPPER's formula gives a negative padding, which ONNX Runtime refuses;
    TensorFlow takes it as zero. Without the elements that no window reaches the padding is zero in both.
    """
    axes = [axis for axis, (reach, stride) in enumerate(zip(extent, strides, strict=True), start=2) if reach < stride]
    if "auto_pad" not in pads or not axes:
        return data
    reach, steps = (np.array([numbers[axis - 2] for axis in axes], np.int64) for numbers in (extent, strides))
    sizes = t.op.Concat(*(size_at(t, data, axis) for axis in axes), axis=0)
    before_last = t.op.Mul(t.op.Div(t.op.Sub(sizes, t.op.const(np.ones_like(steps))), steps), steps)
    return t.op.Slice(data, [0] * len(axes), t.op.Add(before_last, reach), axes)


def _pads(before: Sequence[int], after: Sequence[int]) -> dict[str, Any]:
    return {"pads": [*before, *after]} if any(before) or any(after) else {}
