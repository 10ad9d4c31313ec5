"""TopK's count, OneHot's negative indices, and Scatter, which was renamed."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
from onnx_ir import Value

from trueport.passes.upgrade.adapt import AdapterBuilder, upgrades

__all__: list[str] = []


@upgrades("TopK", 1, 10)
def top_k_1_to_10(op: AdapterBuilder, X: Value, *, k: int, axis: int) -> Any:
    """The count became an input."""
    return op.again(X, op.const([k]), axis=axis)


@upgrades("Scatter", 9, 11)
def scatter_9_to_11(op: AdapterBuilder, data: Value, indices: Value, updates: Value, *, axis: int) -> Any:
    """The operator has another name since 11."""
    return op.ScatterElements(data, indices, updates, axis=axis)


@upgrades("OneHot", 9, 11)
def one_hot_9_to_11(op: AdapterBuilder, indices: Value, depth: Value, values: Value, *, axis: int) -> Any:
    """Before 11 a negative index was out of range; ``depth`` is an index that still is."""
    int64 = ir.DataType.INT64.value
    whole = op.Cast(indices, to=int64)
    beyond = op.Reshape(op.Cast(depth, to=int64), op.const([1]))
    # A scalar index must not become a vector.
    beyond = op.Squeeze(beyond, axes=[0])
    return op.again(op.Where(op.Less(whole, op.const(0)), beyond, whole), depth, values, axis=axis)
