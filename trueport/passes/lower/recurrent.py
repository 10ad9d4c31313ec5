"""RNN, GRU and LSTM have the sequence before the batch; since 14 the other order can be asked for."""

from __future__ import annotations

from typing import Any

from onnx_ir import Value

from trueport.passes.lower.adapt import Downgrade, downgrades

__all__: list[str] = []

_STATES = (5, 6)
"""Inputs that hold a state for each direction and sample."""


@downgrades("GRU", 14, 7)
@downgrades("LSTM", 14, 7)
@downgrades("RNN", 14, 7)
def without_layout(op: Downgrade, *inputs: Value | None, layout: int, **attributes: Any) -> Any:
    """Transposed before and after."""
    if not layout:
        return op.again(*inputs, **attributes)
    turned = [
        value if value is None or (place and place not in _STATES) else op.Transpose(value, perm=[1, 0, 2])
        for place, value in enumerate(inputs)
    ]
    made = op.again(*turned, **attributes)
    outputs = list(made) if isinstance(made, (list, tuple)) else [made]
    perms = [[2, 0, 1, 3]] + [[1, 0, 2]] * 2
    return [op.Transpose(value, perm=perms[place]) if op.wants(place) else None for place, value in enumerate(outputs)]
