"""BatchNormalization tells its mode by the number of outputs before 14; RMSNormalization came with 23."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx_ir import Value

from trueport.passes.lower.adapt import ABSENT, Downgrade, downgrades

__all__: list[str] = []


@downgrades("BatchNormalization", 14, 9)
def batch_normalization_14_to_9(
    op: Downgrade,
    X: Value,
    scale: Value,
    B: Value,
    input_mean: Value,
    input_var: Value,
    *,
    epsilon: float,
    momentum: float,
    training_mode: int,
) -> Any:
    """For inference nothing changes; the statistics of a batch are computed, for 9 has others in training."""
    if not training_mode:
        return op.again(X, scale, B, input_mean, input_var, epsilon=epsilon, momentum=momentum)
    axes = [axis for axis in range(op.rank(X)) if axis != 1]
    mean = op.ReduceMean(X, axes)
    spread = op.Sub(X, mean)
    var = op.ReduceMean(op.Mul(spread, spread), axes)
    mean, var = (op.Squeeze(value, axes) for value in (mean, var))
    made = op.older(
        "BatchNormalization", [X, scale, B, mean, var], {"epsilon": np.float32(epsilon).item(), "momentum": momentum}
    )

    def running(before: Value, now: Value) -> Any:
        return op.Add(op.Mul(before, op.like(momentum, before)), op.Mul(now, op.like(1 - momentum, now)))

    return [made, running(input_mean, mean), running(input_var, var)][: len(op.node.outputs)]


@downgrades("RMSNormalization", 23, ABSENT)
def rms_normalization_23_to_none(
    op: Downgrade, X: Value, scale: Value, *, axis: int, epsilon: float, stash_type: int
) -> Any:
    """Emit the formula of ONNX's function body, with constant axes: ONNX Runtime fuses it into one kernel again."""
    rank = 0 if axis < 0 and X.shape is None else op.rank(X)
    first = axis % rank if rank else axis
    wide = X if X.dtype == stash_type else op.Cast(X, to=stash_type)
    mean = op.ReduceMean(op.Pow(wide, op.like(2, wide)), list(range(first, rank)))
    normal = op.Div(wide, op.Sqrt(op.Add(mean, op.like(epsilon, wide))))
    return op.Mul(normal if X.dtype == stash_type else op.Cast(normal, to=X.dtype), scale)
