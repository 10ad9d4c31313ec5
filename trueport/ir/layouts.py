"""Values that are held in another axis order than in the source: which one, and of which source value."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

__all__ = ["LAYOUT", "LAYOUT_OF", "mark_layout", "source_layout"]

LAYOUT = "trueport.layout"
LAYOUT_OF = "trueport.layout_of"


def mark_layout(value: ir.Value, perm: Sequence[int], of: str) -> None:
    """``value`` is the source's value ``of``, transposed by ``perm``."""
    value.metadata_props[LAYOUT] = ",".join(map(str, perm))
    value.metadata_props[LAYOUT_OF] = of


def source_layout(value: ir.Value) -> tuple[str, tuple[int, ...] | None]:
    """The source's name for a value, and the permutation that it is held in."""
    perm = value.metadata_props.get(LAYOUT)
    name = value.metadata_props.get(LAYOUT_OF) or value.name or ""
    return name, tuple(map(int, perm.split(","))) if perm else None
