"""Reductions over axes."""

from __future__ import annotations

import onnx_ir as ir

from trueport.fidelity import AGAINST_TERMS, BITWISE, accumulation, ulps
from trueport.formulas.numeric import is_float
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []

_D = ir.DataType
_SHORT = frozenset({_D.INT16, _D.UINT16})
_SMALL = _SHORT | {_D.INT8, _D.UINT8}
"""ONNX adds and multiplies none of these; 32 bits hold all that their own bits depend on."""


def _reduced(
    t: Translation, op: str, x: ir.Value, axes: ir.Value, keep_dims: bool, too_small: frozenset[ir.DataType] = _SMALL
) -> ir.Value:
    """A reduction; over no axes at all it changes nothing."""
    dtype = t.dtype(x)
    wide = t.cast(x, _D.INT32) if dtype in too_small else x
    known = t.static(axes)
    if known is not None:
        listed = [int(axis) for axis in known.ravel()]
        made = t.op.add(op, [wide, listed], {"keepdims": int(keep_dims)}) if listed else wide
    else:
        flat = t.int64(axes) if t.rank(axes) == 1 else t.op.Reshape(t.int64(axes), [-1])
        made = t.op.add(op, [wide, flat], {"keepdims": int(keep_dims), "noop_with_empty_axes": 1})
    return t.cast(made, dtype)


def _reduced_dims(t: Translation, x: ir.Value, axes: ir.Value) -> dict[int, int | None]:
    """The sizes of the axes that are reduced, as far as they are known."""
    dims, known = t.dims(x), t.static(axes)
    listed = range(len(dims)) if known is None else (int(axis) % len(dims) for axis in known.ravel())
    return {axis: dims[axis] for axis in listed}


@maps("Sum", domain=TF, error=accumulation(against=AGAINST_TERMS))
def sum_(t: Translation, input: ir.Value, reduction_indices: ir.Value, *, keep_dims: bool) -> ir.Value:
    return _reduced(t, "ReduceSum", input, reduction_indices, keep_dims)


@maps("Mean", domain=TF, error=accumulation(against=AGAINST_TERMS))
def mean(t: Translation, input: ir.Value, reduction_indices: ir.Value, *, keep_dims: bool) -> ir.Value:
    made = _reduced(t, "ReduceMean", input, reduction_indices, keep_dims)
    if not is_float(input) or _reduced_dims(t, input, reduction_indices).get(0, 1) is not None:
        return made
    # The mean of an empty batch is NaN, which ONNX leaves to the runtime: 0 / size is 0 for any other.
    size = t.cast(t.op.Size(input), t.dtype(input))
    return t.op.Add(made, t.op.Div(t.op.like(0, input), size))


@maps("Prod", domain=TF, error=accumulation())
def prod(t: Translation, input: ir.Value, reduction_indices: ir.Value, *, keep_dims: bool) -> ir.Value:
    return _reduced(t, "ReduceProd", input, reduction_indices, keep_dims)


@maps("Max", domain=TF, error=ulps(0))
def max_(t: Translation, input: ir.Value, reduction_indices: ir.Value, *, keep_dims: bool) -> ir.Value:
    return _reduced(t, "ReduceMax", input, reduction_indices, keep_dims, _SHORT)


@maps("Min", domain=TF, error=ulps(0))
def min_(t: Translation, input: ir.Value, reduction_indices: ir.Value, *, keep_dims: bool) -> ir.Value:
    return _reduced(t, "ReduceMin", input, reduction_indices, keep_dims, _SHORT)


@maps("All", domain=TF, fidelity=BITWISE)
def all_(t: Translation, input: ir.Value, reduction_indices: ir.Value, *, keep_dims: bool) -> ir.Value:
    return _logical(t, "ReduceMin", input, reduction_indices, keep_dims)


@maps("Any", domain=TF, fidelity=BITWISE)
def any_(t: Translation, input: ir.Value, reduction_indices: ir.Value, *, keep_dims: bool) -> ir.Value:
    return _logical(t, "ReduceMax", input, reduction_indices, keep_dims)


def _logical(t: Translation, op: str, x: ir.Value, axes: ir.Value, keep_dims: bool) -> ir.Value:
    """Truth values as they are; as small integers where there may be none, for which runtimes know no answer."""
    if all(_reduced_dims(t, x, axes).values()):
        return _reduced(t, op, x, axes, keep_dims)
    return t.cast(_reduced(t, op, t.cast(x, _D.UINT8), axes, keep_dims, _SHORT), _D.BOOL)


@maps("EuclideanNorm", domain=TF, error=accumulation())
def euclidean_norm(t: Translation, input: ir.Value, reduction_indices: ir.Value, *, keep_dims: bool) -> ir.Value:
    axes = t.static(reduction_indices)
    if axes is not None and not axes.size:
        return t.op.Abs(input)
    return _reduced(t, "ReduceL2", input, reduction_indices, keep_dims)


@maps("L2Loss", domain=TF, error=accumulation())
def l2_loss(translation: Translation, t: ir.Value) -> ir.Value:
    op = translation.op
    return op.Mul(op.ReduceSumSquare(t, keepdims=0), op.like(0.5, t))
