"""DFT took its axis as an attribute before 20."""

from __future__ import annotations

from typing import Any

from onnx_ir import Value

from trueport.passes.upgrade.adapt import AdapterBuilder, upgrades

__all__: list[str] = []


@upgrades("DFT", 17, 20)
def dft_17_to_20(op: AdapterBuilder, input: Value, dft_length: Value | None, *, axis: int, **attributes: Any) -> Any:
    """The axis became an input, with another default."""
    return op.again(input, dft_length, op.const(axis), **attributes)
