"""Gemm told its broadcasting by an attribute before 7."""

from __future__ import annotations

from typing import Any

from onnx_ir import Value

from trueport.passes.upgrade.adapt import AdapterBuilder, upgrades

__all__: list[str] = []


@upgrades("Gemm", 6, 7)
def gemm_6_to_7(op: AdapterBuilder, A: Value, B: Value, C: Value, *, broadcast: int, **attributes: Any) -> Any:
    """Since 7 C is always broadcast, in the same way."""
    return op.again(A, B, C, **attributes)
