"""Writing an ONNX file: weights streamed to a file beside it when they are large, and checked before it is shown."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx_ir as ir
from onnx.checker import ValidationError
from onnx.shape_inference import InferenceError

from trueport.backends.writing.companions import companion_name
from trueport.errors import EmitError
from trueport.ir.provenance import plain_metadata
from trueport.quoting import one_line

__all__ = ["EXTERNAL_FROM", "write_onnx"]

EXTERNAL_FROM = 1 << 31
"""Bytes of weights that a protobuf file can't hold."""
_EMBEDDED = 1024
"""Tensors up to this size stay in the model: shapes and axes must be readable without the data file."""


def write_onnx(model: ir.Model, path: Path, *, external_data: bool = False) -> None:
    """Write, and refuse to leave a file that ONNX's own checker does not accept."""
    plain_metadata(model.graph)
    apart = external_data or _weights(model) >= EXTERNAL_FROM - (1 << 24)
    if apart:
        ir.save(model, path, external_data=companion_name(path.name), size_threshold_bytes=_EMBEDDED)
    else:
        ir.save(model, path)
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except (ValidationError, InferenceError) as error:
        raise EmitError(
            f"the model that was made is not valid ONNX: {one_line(error, 400)}",
            where=path.name,
            remedy="nothing was written; correct your handlers (@maps), if one made it, or report it with the model",
        ) from error


def _weights(model: ir.Model) -> int:
    return sum(
        value.const_value.nbytes
        for graph in model.graphs()
        for value in graph.initializers.values()
        if value.const_value is not None and value.const_value.dtype != ir.DataType.STRING
    )
