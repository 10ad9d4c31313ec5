"""Softmax, LogSoftmax and Hardmax folded their input to two dims before opset 13."""

from __future__ import annotations

from typing import Any

from onnx_ir import Value

from trueport.passes.upgrade.adapt import AdapterBuilder, upgrades

__all__: list[str] = []


@upgrades("Softmax", 11, 13)
@upgrades("Softmax", 1, 11)
@upgrades("LogSoftmax", 11, 13)
@upgrades("LogSoftmax", 1, 11)
@upgrades("Hardmax", 11, 13)
@upgrades("Hardmax", 1, 11)
def folded_to_axis(op: AdapterBuilder, input: Value, *, axis: int) -> Any:
    """Before 13 all dims from ``axis`` on are one; since 13 ``axis`` is one dim."""
    if input.shape is not None and axis in (-1, len(input.shape) - 1):
        return op.at(13).again(input, axis=-1)
    folded = op.at(11).Flatten(input, axis=axis)
    return op.reshape_as(op.at(13).again(folded, axis=-1), input)
