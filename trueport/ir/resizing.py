"""Resizes whose new length is not scale × length, because that is not an integer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import onnx_ir as ir

from trueport.ir.build import known_array

__all__ = ["resizes_by_fractions"]


def resizes_by_fractions(nodes: Iterable[ir.Node]) -> Iterator[ir.Node]:
    """Yield the nodes that align corners of an axis whose scale × length is not, or may not be, an integer."""
    for node in nodes:
        mode = node.attributes.get("coordinate_transformation_mode")
        if node.op_type != "Resize" or node.domain or mode is None or mode.as_string() != "align_corners":
            continue
        scales = known_array(node.inputs[2]) if len(node.inputs) > 2 else None
        if scales is None or not scales.size or node.inputs[0] is None:
            continue
        dims = node.inputs[0].shape
        axes = node.attributes.get("axes")
        order = range(scales.size) if axes is None else axes.as_ints()
        lengths = [None if dims is None else dims[axis] for axis in order]
        if any(_is_fraction(scale, length) for scale, length in zip(scales.ravel(), lengths, strict=True)):
            yield node


def _is_fraction(scale: np.floating, length: int | ir.SymbolicDim | None) -> bool:
    """True for a product with a fraction, or one that may have one as the length is not known."""
    product = float(scale) * length if isinstance(length, int) else float(scale)
    return not product.is_integer()
