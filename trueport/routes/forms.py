"""Of which form a model is: by its name on disk, or by its class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir

from trueport.frontends.tensorflow.sources import is_tensorflow
from trueport.frontends.torch.sources import is_torch
from trueport.requirements import Form

__all__ = ["form_of", "is_onnx"]


def form_of(model: Any) -> Form | None:
    """Return the form of a file or an object; None if it is none that is known. Loads no framework."""
    if is_torch(model):
        return "pytorch"
    if isinstance(model, (bytes, bytearray)) or (isinstance(model, (str, Path)) and Path(model).suffix == ".tflite"):
        return "tflite"
    if is_tensorflow(model):
        return "tensorflow"
    return "onnx" if is_onnx(model) else None


def is_onnx(model: Any) -> bool:
    """True if a model is an ONNX file, a zip that holds one, or an ONNX model in memory."""
    if isinstance(model, (str, Path)):
        return Path(model).suffix in (".onnx", ".zip")
    return isinstance(model, (onnx.ModelProto, ir.Model))
