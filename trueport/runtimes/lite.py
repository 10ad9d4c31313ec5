"""The TFLite interpreter: TensorFlow's, or that of LiteRT (ai-edge-litert) where TensorFlow is not installed.

TensorFlow's comes first because it has the kernels of Flex operators as well.
"""

from __future__ import annotations

import importlib
from typing import Any

from trueport.lazy import load
from trueport.requirements import is_installed, require_to_run

__all__ = ["MAGIC", "flatbuffer_utilities", "interpreter_class", "resolver_types"]

MAGIC = b"TFL3"
"""Bytes 4 to 8 of a TFLite file."""


def interpreter_class() -> Any:
    """Return the class ``Interpreter``."""
    return load("tensorflow").lite.Interpreter if _in_tensorflow() else _litert("interpreter").Interpreter


def resolver_types() -> Any:
    """Return the enumeration ``OpResolverType``."""
    if _in_tensorflow():
        return load("tensorflow").lite.experimental.OpResolverType
    return _litert("interpreter").OpResolverType


def flatbuffer_utilities() -> Any:
    """Return the module that reads and writes TFLite files as objects."""
    if _in_tensorflow():
        return importlib.import_module("tensorflow.lite.tools.flatbuffer_utils")
    return _litert("tools.flatbuffer_utils")


def _in_tensorflow() -> bool:
    # It announces that its interpreter will be removed one day.
    return is_installed("tensorflow") and hasattr(load("tensorflow").lite, "Interpreter")


def _litert(name: str) -> Any:
    require_to_run("tflite")
    return importlib.import_module(f"ai_edge_litert.{name}")
