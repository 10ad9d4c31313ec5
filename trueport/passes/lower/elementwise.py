"""Elementwise operators and running products."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
from onnx_ir import Value

from trueport.passes.lower.adapt import ABSENT, Downgrade, downgrades

__all__: list[str] = []


@downgrades("Mod", 28, 13)
def mod_28_to_13(op: Downgrade, A: Value, B: Value, *, fmod: int) -> Any:
    """Before 28 floats have the dividend's sign: the divisor is added where its sign is the other."""
    assert A.dtype is not None
    if fmod or A.dtype.is_integer():
        return op.again(A, B, fmod=fmod)
    rest, zero = op.again(A, B, fmod=1), op.like(0, A)
    other_sign = op.Xor(op.Less(rest, zero), op.Less(B, zero))
    nothing = op.Equal(rest, zero)
    moved = op.Where(other_sign, op.Add(rest, B), rest)
    return op.Where(nothing, op.Mul(op.Sign(B), zero), moved)


@downgrades("CumProd", 26, ABSENT)
def cum_prod_26_to_none(op: Downgrade, x: Value, axis: Value, *, exclusive: int, reverse: int) -> Any:
    """A scan along the axis that carries the product; ONNX Runtime refuses one of no steps, so a step is added."""
    rank = op.rank(x)
    along = int(op.need(axis, "axis")) % rank
    # Along the first axis only, and joined instead of padded: ONNX Runtime 1.31 ends the process on a Pad of an empty
    # tensor, and on a Scan of one along another axis.
    order = [along, *(place for place in range(rank) if place != along)]
    assert x.shape is not None
    first, steps = op.Transpose(x, perm=order) if along else x, x.shape[along]
    maybe_empty = not isinstance(steps, int) or steps == 0
    if maybe_empty:
        one_step = op.ScatterElements(op.Shape(first), np.array([0], np.int64), np.array([1], np.int64))
        first = op.Concat(first, op.Expand(op.like(1, x), one_step), axis=0)
        first.shape = ir.Shape([None, *(x.shape[place] for place in order[1:])])
    made = _scanned_products(op, first, exclusive, reverse)
    if maybe_empty:
        made = op.Slice(made, [0], op.Gather(op.Shape(x), np.array([along], np.int64)), [0])
    return op.Transpose(made, perm=[order.index(place) for place in range(rank)]) if along else made


def _scanned_products(op: Downgrade, x: Value, exclusive: int, reverse: int) -> Value:
    """Return the running products along the first axis, which is not empty."""
    assert x.shape is not None
    rest = list(x.shape)[1:]
    state, element = (ir.Value(name=name, type=x.type, shape=ir.Shape(rest)) for name in ("product", "element"))
    inner = op.inside([state, element])
    product = inner.Mul(state, element)
    inner.graph.outputs.extend([product, inner.Identity(state if exclusive else product)])
    others = op.Gather(op.Shape(x), np.arange(1, len(x.shape), dtype=np.int64))
    made = op.several(2).Scan(
        op.Expand(op.like(1, x), others),
        x,
        body=inner.graph,
        num_scan_inputs=1,
        scan_input_directions=[reverse],
        scan_output_directions=[reverse],
    )
    made[0].type, made[0].shape = x.type, ir.Shape(rest)
    made[1].type, made[1].shape = x.type, x.shape
    return made[1]
