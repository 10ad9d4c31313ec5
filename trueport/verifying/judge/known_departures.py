"""Where a source's runtime is known to depart from ONNX's formula of Resize, which a target follows."""

from __future__ import annotations

from trueport.ir.places import place
from trueport.ir.resizing import resizes_by_fractions
from trueport.runtimes.base import Model
from trueport.runtimes.onnxruntime import OnnxRuntimeModel

__all__ = ["known_departure"]


def known_departure(source: Model) -> str:
    """Return why the source's results may be far from the reference, "" where nothing is known."""
    nodes = source.graph().all_nodes() if isinstance(source, OnnxRuntimeModel) else ()
    places = ", ".join(place(node) for node in resizes_by_fractions(nodes))
    if not places:
        return ""
    return (
        f"ONNX Runtime departs from the specification at {places}: it aligns corners by the rounded length, ONNX by "
        "scale × length, which the target follows; give sizes instead of scales to make both alike"
    )
