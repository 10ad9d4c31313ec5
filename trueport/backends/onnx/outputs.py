"""The dims that an ONNX file declares for its outputs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import onnx_ir as ir

from trueport.errors import ConversionError
from trueport.ir.ports import Dims

__all__ = ["settle_outputs"]


def settle_outputs(graph: ir.Graph, declared: Mapping[str, Dims | None]) -> None:
    """Give the outputs shapes: sizes where known, else the inputs' names for them, or the source's, or their own.

    Outputs of which the source declares nothing stay as they are.
    """
    shared = {dim.value for value in graph.inputs for dim in value.shape or () if isinstance(dim, ir.SymbolicDim)}
    unknown = []
    for value in graph.outputs:
        name = value.name or ""
        if name not in declared:
            continue
        claimed = declared[name]
        known = claimed if value.shape is None else tuple(value.shape)
        if known is None:
            unknown.append(f"output {name!r}")
            continue
        stored = claimed if claimed is not None and len(claimed) == len(known) else [None] * len(known)
        value.shape = ir.Shape(
            [
                _settled(dim, mine, shared, f"{name}_dim_{axis}")
                for axis, (dim, mine) in enumerate(zip(known, stored, strict=True))
            ]
        )
    if unknown:
        raise ConversionError(
            "the number of its dims is not known, and an ONNX output declares its dims",
            where=", ".join(unknown),
            remedy="give the inputs a shape (--shape NAME=DIMS), or fix the rank in the model (tf.ensure_shape)",
        )


def _settled(dim: Any, stored: int | str | None, shared: Collection[str | None], otherwise: str) -> int | str:
    if isinstance(dim, int):
        return dim
    if stored is not None:
        return stored
    name = dim.value if isinstance(dim, ir.SymbolicDim) else dim
    return name if name is not None and name in shared else otherwise
