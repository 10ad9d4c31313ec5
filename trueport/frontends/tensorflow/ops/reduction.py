"""Reductions over axes."""

from __future__ import annotations

import onnx_ir as ir

from trueport.fidelity import BITWISE, accumulation, ulps
from trueport.frontends.tensorflow.context import Translation
from trueport.frontends.tensorflow.nodes import TF
from trueport.frontends.tensorflow.numeric import is_unsigned
from trueport.mapping.declare import maps

__all__: list[str] = []

_D = ir.DataType
_SMALL = frozenset({_D.INT8, _D.INT16, _D.UINT8, _D.UINT16})
"""ONNX does not reduce these; 32 bits hold all that their lowest bits depend on."""


def _reduced(t: Translation, op: str, x: ir.Value, axes: ir.Value, keep_dims: bool) -> ir.Value:
    """A reduction; over no axes at all it changes nothing."""
    dtype = t.dtype(x)
    wide = t.cast(x, _D.UINT32 if is_unsigned(x) else _D.INT32) if dtype in _SMALL else x
    known = t.static(axes)
    if known is not None:
        listed = [int(axis) for axis in known.ravel()]
        made = t.op.add(op, [wide, listed], {"keepdims": int(keep_dims)}) if listed else wide
    else:
        flat = t.int64(axes) if t.rank(axes) == 1 else t.op.Reshape(t.int64(axes), [-1])
        made = t.op.add(op, [wide, flat], {"keepdims": int(keep_dims), "noop_with_empty_axes": 1})
    return t.cast(made, dtype)


@maps("Sum", domain=TF, error=accumulation())
def sum_(t: Translation, input: ir.Value, reduction_indices: ir.Value, *, keep_dims: bool) -> ir.Value:
    return _reduced(t, "ReduceSum", input, reduction_indices, keep_dims)


@maps("Mean", domain=TF, error=accumulation())
def mean(t: Translation, input: ir.Value, reduction_indices: ir.Value, *, keep_dims: bool) -> ir.Value:
    return _reduced(t, "ReduceMean", input, reduction_indices, keep_dims)


@maps("Prod", domain=TF, error=accumulation())
def prod(t: Translation, input: ir.Value, reduction_indices: ir.Value, *, keep_dims: bool) -> ir.Value:
    return _reduced(t, "ReduceProd", input, reduction_indices, keep_dims)


@maps("Max", domain=TF, error=ulps(0))
def max_(t: Translation, input: ir.Value, reduction_indices: ir.Value, *, keep_dims: bool) -> ir.Value:
    return _reduced(t, "ReduceMax", input, reduction_indices, keep_dims)


@maps("Min", domain=TF, error=ulps(0))
def min_(t: Translation, input: ir.Value, reduction_indices: ir.Value, *, keep_dims: bool) -> ir.Value:
    return _reduced(t, "ReduceMin", input, reduction_indices, keep_dims)


@maps("All", domain=TF, fidelity=BITWISE)
def all_(t: Translation, input: ir.Value, reduction_indices: ir.Value, *, keep_dims: bool) -> ir.Value:
    return _reduced(t, "ReduceMin", input, reduction_indices, keep_dims)


@maps("Any", domain=TF, fidelity=BITWISE)
def any_(t: Translation, input: ir.Value, reduction_indices: ir.Value, *, keep_dims: bool) -> ir.Value:
    return _reduced(t, "ReduceMax", input, reduction_indices, keep_dims)


@maps("EuclideanNorm", domain=TF, error=accumulation())
def euclidean_norm(t: Translation, input: ir.Value, reduction_indices: ir.Value, *, keep_dims: bool) -> ir.Value:
    return _reduced(t, "ReduceL2", input, reduction_indices, keep_dims)
