"""RNN, GRU and LSTM: an attribute that said whether an output is there, and a misspelt default."""

from __future__ import annotations

from typing import Any

from onnx_ir import Value

from trueport.passes.upgrade.adapt import AdapterBuilder, upgrades

__all__: list[str] = []


@upgrades("GRU", 1, 3)
def gru_1_to_3(op: AdapterBuilder, *inputs: Value | None, direction: str, **attributes: Any) -> Any:
    """The default direction was misspelt in version 1."""
    return op.again(*inputs, direction="forward" if direction == "foward" else direction, **attributes)


@upgrades("GRU", 3, 7)
@upgrades("LSTM", 1, 7)
@upgrades("RNN", 1, 7)
def without_output_sequence(op: AdapterBuilder, *inputs: Value | None, output_sequence: int, **attributes: Any) -> Any:
    """Since 7 the output Y is there when it has a name."""
    return op.again(*inputs, **attributes)
