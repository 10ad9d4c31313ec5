"""Trueport moves neural networks between PyTorch, ONNX and TensorFlow and shows that nothing was lost on the way.

Importing it loads no framework; each function loads what it needs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from trueport.errors import (
    ConversionError,
    EmitError,
    InvalidInput,
    InvalidModel,
    MissingDependency,
    OutputExists,
    TrueportError,
    Unsupported,
    UsageError,
    WriteFailed,
)
from trueport.lazy import defer

# onnx_ir needs SymPy to calculate with the names of dims; importing it takes longer than all of onnx_ir.
defer("sympy", "onnx_ir._symbolic_shapes")

if TYPE_CHECKING:
    from trueport import surgery
    from trueport.comparison import locate, verify
    from trueport.frontends.torch.registry import maps_torch
    from trueport.mapping.declare import maps
    from trueport.pipeline import Conversion, check, convert, convert_file
    from trueport.report.data import Report
    from trueport.sources.open import load

__version__ = "0.1.0"

__all__ = [
    "Conversion",
    "ConversionError",
    "EmitError",
    "InvalidInput",
    "InvalidModel",
    "MissingDependency",
    "OutputExists",
    "Report",
    "TrueportError",
    "Unsupported",
    "UsageError",
    "WriteFailed",
    "check",
    "convert",
    "convert_file",
    "load",
    "locate",
    "maps",
    "maps_torch",
    "surgery",
    "verify",
]

_LAZY = {
    "Conversion": ("trueport.pipeline", "Conversion"),
    "Report": ("trueport.report.data", "Report"),
    "check": ("trueport.pipeline", "check"),
    "convert": ("trueport.pipeline", "convert"),
    "convert_file": ("trueport.pipeline", "convert_file"),
    "load": ("trueport.sources.open", "load"),
    "locate": ("trueport.comparison", "locate"),
    "maps": ("trueport.mapping.declare", "maps"),
    "maps_torch": ("trueport.frontends.torch.registry", "maps_torch"),
    "verify": ("trueport.comparison", "verify"),
}


def __getattr__(name: str) -> Any:
    if name == "surgery":
        return importlib.import_module("trueport.surgery")
    if name not in _LAZY:
        raise AttributeError(f"module 'trueport' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
