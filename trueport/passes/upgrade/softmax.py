"""Softmax, LogSoftmax and Hardmax folded their input to two dims before opset 13."""

from __future__ import annotations

from trueport.passes.upgrade.adapt import AdapterBuilder, upgrades

__all__: list[str] = []


@upgrades("Softmax", 11, 13)
@upgrades("Softmax", 1, 11)
@upgrades("LogSoftmax", 11, 13)
@upgrades("LogSoftmax", 1, 11)
@upgrades("Hardmax", 11, 13)
@upgrades("Hardmax", 1, 11)
def folded_to_axis(op: AdapterBuilder, input, *, axis):  # type: ignore[no-untyped-def]
    """Before 13 all dims from ``axis`` on are one; since 13 ``axis`` is one dim."""
    folded = op.Flatten(input, axis=axis)
    made = getattr(op, op.node.op_type)(folded, axis=-1)
    return op.Reshape(made, op.Shape(input))
