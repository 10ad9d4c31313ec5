"""Layout assignment: whole regions of a graph are held in the order of axes that the target's kernels want."""

from trueport.passes.layout.assign import assign_layouts

__all__ = ["assign_layouts"]
