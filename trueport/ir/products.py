"""Matrix products of operands whose batch may be empty, as ONNX Runtime's kernels see them."""

from __future__ import annotations

import onnx_ir as ir

__all__ = ["empty_axes", "may_be_empty", "moves_batch_into_matrix", "swaps_matrix_axes"]


def may_be_empty(size: int | ir.SymbolicDim) -> bool:
    """True for a dynamic size and for 0."""
    return not isinstance(size, int) or size == 0


def empty_axes(value: ir.Value | None) -> tuple[int, ...]:
    """The axes whose sizes may be 0; none where the rank is not known."""
    if value is None or value.shape is None:
        return ()
    return tuple(axis for axis, size in enumerate(value.shape) if may_be_empty(size))


def swaps_matrix_axes(value: ir.Value | None) -> bool:
    """True if the value is a Transpose of the last two axes, which the optimizer fuses into the product after it."""
    perm = _perm(value)
    rank = len(perm)
    return rank > 2 and perm == (*range(rank - 2), rank - 1, rank - 2)


def moves_batch_into_matrix(product: ir.Node) -> bool:
    """True for a MatMul of batches of which one is transposed so that its first axis, which may be empty, becomes an
    axis of the matrices: the optimizer fuses both into a kernel that divides by the size of that axis."""
    if product.op_type != "MatMul" or product.domain:
        return False
    for value, other in (tuple(product.inputs), tuple(reversed(product.inputs))):
        perm = _perm(value)
        rank = len(perm)
        if rank < 3 or perm[:-2] != tuple(range(1, rank - 1)) or {0, rank - 1} != set(perm[-2:]):
            continue
        assert value is not None
        transpose = value.producer()
        assert transpose is not None
        is_batched = other is None or other.shape is None or len(other.shape) > 2
        if is_batched and 0 in empty_axes(transpose.inputs[0]):
            return True
    return False


def _perm(value: ir.Value | None) -> tuple[int, ...]:
    """The order of axes of the Transpose that makes a value; () for other values."""
    node = None if value is None else value.producer()
    if node is None or node.op_type != "Transpose" or node.domain:
        return ()
    given = node.attributes.get("perm")
    return () if given is None else tuple(given.as_ints())
