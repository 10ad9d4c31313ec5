"""The reference of every operator of ONNX Runtime's own that is read, by name.

A kernel takes inputs by position, None where one is left out, and attributes by name; it returns all outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from trueport.reference.onnx.microsoft.attention import ATTENTION
from trueport.reference.onnx.microsoft.fused import FUSED
from trueport.reference.onnx.microsoft.preliminary import PRELIMINARY
from trueport.reference.onnx.microsoft.quantized import QUANTIZED

__all__ = ["MICROSOFT"]

MICROSOFT: Mapping[str, Callable[..., Any]] = MappingProxyType({**ATTENTION, **FUSED, **PRELIMINARY, **QUANTIZED})
