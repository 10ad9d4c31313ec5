"""Normalizations: how BatchNormalization tells its mode, per-feature statistics, GroupNormalization's scales."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
from onnx_ir import Value

from trueport.passes.upgrade.adapt import AdapterBuilder, upgrades

__all__: list[str] = []

_TRAINING_OUTPUTS = 5


@upgrades("BatchNormalization", 6, 7)
def batch_normalization_6_to_7(op: AdapterBuilder, *inputs: Value, is_test: int, **attributes: Any) -> Any:
    """Since 7 the number of outputs tells the mode: five in training, one otherwise."""
    if not is_test:
        return op.several(_TRAINING_OUTPUTS).BatchNormalization(*inputs, **attributes)
    mean, var = inputs[3:]
    statistics = [op.Identity(value) for value in (mean, var, mean, var)]
    return op.BatchNormalization(*inputs, **attributes), *statistics[: len(op.node.outputs) - 1]


@upgrades("BatchNormalization", 7, 9)
def batch_normalization_7_to_9(
    op: AdapterBuilder, X: Value, *parameters: Value, spatial: int, **attributes: Any
) -> Any:
    """Before 9 each feature could have its own statistics: then features are channels."""
    if spatial:
        return op.again(X, *parameters, **attributes)
    vectors = [op.Reshape(value, op.const([-1])) for value in parameters]
    made = op.again(op.Flatten(X, axis=1), *vectors, **attributes)
    outputs = made if isinstance(made, (list, tuple)) else [made]
    return [op.reshape_as(value, X if i == 0 else parameters[0]) for i, value in enumerate(outputs)]


@upgrades("BatchNormalization", 9, 14)
def batch_normalization_9_to_14(op: AdapterBuilder, X: Value, *parameters: Value, **attributes: Any) -> Any:
    """Since 14 an attribute tells the mode, and the batch's own statistics are no longer put out."""
    if not any(op.wants(i) for i in range(1, _TRAINING_OUTPUTS)):
        return op.BatchNormalization(X, *parameters, **attributes)
    made = op.several(3).BatchNormalization(X, *parameters, training_mode=1, **attributes)
    if not op.wants(3) and not op.wants(4):
        return made
    rows = op.Reshape(X, op.const([0, 0, -1]))
    mean = op.ReduceMean(rows, axes=[0, 2])
    spread = op.Sub(rows, mean)
    variance = op.ReduceMean(op.Mul(spread, spread), axes=[0, 2], keepdims=0)
    return *made, op.Reshape(mean, op.const([-1])), variance


@upgrades("GroupNormalization", 18, 21)
def group_normalization_18_to_21(
    op: AdapterBuilder, X: Value, scale: Value, bias: Value, *, epsilon: float, num_groups: int
) -> Any:
    """Before 21 each group had one scale and one bias; since then each channel has."""
    channels = op.Shape(X, start=1, end=2)
    times = op.Concat(op.const([1]), op.Div(channels, op.const([num_groups])), axis=0)

    def per_channel(value: Value) -> Value:
        column = op.Reshape(value, op.const([-1, 1]))
        return op.Reshape(op.Expand(column, times), op.const([-1]))

    # Before 21 all was computed in the type of X; in float32, the default since, a double would lose digits.
    stash_type = ir.DataType.DOUBLE if X.dtype == ir.DataType.DOUBLE else ir.DataType.FLOAT
    return op.again(
        X, per_channel(scale), per_channel(bias), epsilon=epsilon, num_groups=num_groups, stash_type=stash_type.value
    )
