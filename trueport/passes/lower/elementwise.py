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
    """A scan along the axis that carries the product."""
    rank = op.rank(x)
    along = int(op.need(axis, "axis")) % rank
    assert x.shape is not None
    rest = [dim for place, dim in enumerate(x.shape) if place != along]
    state, element = (ir.Value(name=name, type=x.type, shape=ir.Shape(rest)) for name in ("product", "element"))
    inner = op.inside([state, element])
    product = inner.Mul(state, element)
    inner.graph.outputs.extend([product, inner.Identity(state if exclusive else product)])
    others = op.Gather(op.Shape(x), np.array([place for place in range(rank) if place != along], np.int64))
    made = op.Scan(
        op.Expand(op.like(1, x), others),
        x,
        body=inner.graph,
        num_scan_inputs=1,
        scan_input_axes=[along],
        scan_input_directions=[reverse],
        scan_output_axes=[along],
        scan_output_directions=[reverse],
        outputs=2,
    )
    made[0].type, made[0].shape = x.type, ir.Shape(rest)
    made[1].type, made[1].shape = x.type, x.shape
    return made[1]
