"""PyTorch, loaded at its first use."""

from __future__ import annotations

from typing import Any

from trueport.lazy import LazyModule

__all__ = ["torch"]

torch: Any = LazyModule("torch", "PyTorch", "torch")
