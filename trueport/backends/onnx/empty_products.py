"""Matrix products of an empty batch, which ONNX Runtime refuses in two forms."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.ir.insert import Inserter, Workshop
from trueport.ir.products import empty_axes, may_be_empty, swaps_matrix_axes
from trueport.ir.provenance import MADE_BY
from trueport.ir.replace import replace_node

__all__ = ["broadcast_to_empty_batches", "keep_transposes_apart"]


def keep_transposes_apart(product: ir.Node, shop: Workshop) -> bool:
    """Put a Reshape, which copies nothing, between a Transpose and its product with one matrix: it is not fused."""
    data, matrix = product.inputs
    if data is None or matrix is None or matrix.shape is None or len(matrix.shape) > 2:
        return False
    if not swaps_matrix_axes(data) or data.shape is None or not set(empty_axes(data)) & set(range(len(data.shape) - 2)):
        return False
    op = Inserter(shop, product)
    op.metadata[MADE_BY] = "runtime-bug:fused-transposes-of-nothing"
    same: ir.Value = op.Reshape(data, np.zeros(len(data.shape), np.int64))
    same.type, same.shape = data.type, data.shape
    product.replace_input_with(0, same)
    return True


def broadcast_to_empty_batches(product: ir.Node, shop: Workshop) -> bool:
    """Cut the operand that is broadcast down to as many matrices as the other one has, where that has none."""
    left, right = product.inputs
    if left is None or right is None or left.shape is None or right.shape is None or len(right.shape) < 2:
        return False
    batches = len(right.shape) - 2
    if set(right.shape[:batches]) <= {1} and len(left.shape) > 1:
        return False  # the product with one matrix runs
    op = Inserter(shop, product)
    op.metadata[MADE_BY] = "runtime-bug:empty-batch-of-products"
    if len(left.shape) == 1:
        if not set(empty_axes(right)) & set(range(batches)):
            return False
        row = op.Unsqueeze(left, [0])
        row.type, row.shape = left.type, ir.Shape([1, *left.shape])
        cut = _cut(op, row, right)
        replace_node(product, [op.Squeeze(op.MatMul(cut, right), [batches])])
        return True
    cut_left, cut_right = _cut(op, left, right), _cut(op, right, left)
    product.replace_input_with(0, cut_left)
    product.replace_input_with(1, cut_right)
    return cut_left is not left or cut_right is not right


def _cut(op: Inserter, value: ir.Value, other: ir.Value) -> ir.Value:
    """The value with no matrices along each axis where the other one has none and the value is broadcast."""
    assert value.shape is not None and other.shape is not None
    sizes: list[int | ir.SymbolicDim] = list(value.shape)
    wanted = list(other.shape)
    missing = max(0, len(wanted) - len(sizes))
    sizes = [*[1] * missing, *sizes]
    ahead = len(sizes) - len(wanted)
    axes = [
        axis for axis in range(max(0, ahead), len(sizes) - 2) if sizes[axis] == 1 and may_be_empty(wanted[axis - ahead])
    ]
    if not axes:
        return value
    whole = op.Unsqueeze(value, list(range(missing))) if missing else value
    counts = [op.Shape(other, start=axis - ahead, end=axis - ahead + 1) for axis in axes]
    ends = counts[0] if len(counts) == 1 else op.Concat(*counts, axis=0)
    made: ir.Value = op.Slice(whole, [0] * len(axes), ends, axes)
    made.type = value.type
    made.shape = ir.Shape([None if axis in axes else size for axis, size in enumerate(sizes)])
    return made
