"""Tensors made from shapes and numbers."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE, ulps
from trueport.formulas.indexing.shapes import dim_vector, shape_operand
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.ir.dtypes import numpy_dtype
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Fill", domain=TF, fidelity=BITWISE)
def fill(t: Translation, dims: ir.Value, value: ir.Value) -> ir.Value:
    shape, known = shape_operand(t, dims), t.static(value)
    return t.op.Expand(value, shape) if known is None else _filled(t, shape, known)


@maps("ZerosLike", domain=TF, fidelity=BITWISE)
def zeros_like(t: Translation, x: ir.Value) -> ir.Value:
    return _filled(t, dim_vector(t, x), _zero(t.dtype(x)))


@maps("OnesLike", domain=TF, fidelity=BITWISE)
def ones_like(t: Translation, x: ir.Value) -> ir.Value:
    return _filled(t, dim_vector(t, x), np.ones((), numpy_dtype(t.dtype(x))))


@maps("Empty", domain=TF, fidelity=BITWISE, ignores={"init": "what is not set may as well be zero"})
def empty(t: Translation, shape: ir.Value, *, dtype: ir.DataType) -> ir.Value:
    return _filled(t, shape_operand(t, shape), _zero(dtype))


def _zero(dtype: ir.DataType) -> np.ndarray:
    return np.array("", object) if dtype == ir.DataType.STRING else np.zeros((), numpy_dtype(dtype))


def _filled(t: Translation, shape: ir.Value, number: np.ndarray) -> ir.Value:
    if number.dtype == object:  # ONNX's ConstantOfShape makes no strings
        made: ir.Value = t.op.Expand(number, shape)
    else:
        made = t.op.ConstantOfShape(shape, value=ir.tensor(number.reshape(1)))
    return made


_RANGES = (ir.DataType.INT16, ir.DataType.INT32, ir.DataType.INT64)
"""Integers of which ONNX makes ranges."""


@maps("Range", domain=TF, error=ulps(1))
def range_(t: Translation, start: ir.Value, limit: ir.Value, delta: ir.Value) -> ir.Value:
    dtype = t.dtype(start)
    if dtype in _RANGES:
        return t.op.Range(start, limit, delta)
    if dtype.is_integer():
        return t.op.Cast(t.op.Range(*(t.int64(value) for value in (start, limit, delta))), to=dtype)
    if dtype == ir.DataType.FLOAT16 and not (t.static(start) == 0 and t.static(delta) == 1):
        # ONNX Runtime computes float16 in float32 and rounds at the end only: the count would come out differently.
        raise t.fail(
            "the number of steps hangs on float16's rounding, which runtimes leave out",
            "compute the range in float32 and cast it",
        )
    # ONNX Runtime adds up the steps and counts them in float64; TensorFlow multiplies and counts in the type itself.
    count = t.op.Ceil(t.op.Abs(t.op.Div(t.op.Sub(limit, start), delta)))
    steps = t.op.Range(0, t.op.Cast(count, to=ir.DataType.INT64), 1)
    return t.op.Add(start, t.op.Mul(t.op.Cast(steps, to=dtype), delta))


@maps("LinSpace", domain=TF, error=ulps(1))
def lin_space(t: Translation, start: ir.Value, stop: ir.Value, num: ir.Value) -> ir.Value:
    before_last = t.op.Sub(t.int64(num), 1)
    step = t.op.Div(t.op.Sub(stop, start), t.op.Cast(before_last, to=t.dtype(start)))
    steps = t.op.Cast(t.op.Range(0, before_last, 1), to=t.dtype(start))
    last = t.op.Where(t.op.Equal(before_last, 0), start, stop)
    return t.op.Concat(t.op.Add(start, t.op.Mul(steps, step)), t.op.Unsqueeze(last, [0]), axis=0)


@maps("UnravelIndex", domain=TF, fidelity=BITWISE)
def unravel_index(t: Translation, indices: ir.Value, dims: ir.Value) -> ir.Value:
    sizes = t.need(dims, "dims")
    steps = np.append(np.cumprod(sizes[:0:-1])[::-1], 1)
    column = (-1, *(1,) * t.rank(indices))
    places = t.op.Div(t.op.Unsqueeze(indices, [0]), t.op.like(steps.reshape(column), indices))
    return t.op.Mod(places, t.op.like(sizes.reshape(column), indices))
