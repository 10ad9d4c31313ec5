"""Tensors made from shapes and numbers."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE, ulps
from trueport.frontends.tensorflow.context import Translation
from trueport.frontends.tensorflow.nodes import TF
from trueport.frontends.tensorflow.shapes import dim_vector, shape_operand
from trueport.ir.dtypes import numpy_dtype
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Fill", domain=TF, fidelity=BITWISE)
def fill(t: Translation, dims: ir.Value, value: ir.Value) -> ir.Value:
    shape, known = shape_operand(t, dims), t.static(value)
    return t.op.Expand(value, shape) if known is None else _filled(t, shape, known)


@maps("ZerosLike", domain=TF, fidelity=BITWISE)
def zeros_like(t: Translation, x: ir.Value) -> ir.Value:
    return _filled(t, dim_vector(t, x), np.zeros((), numpy_dtype(t.dtype(x))))


@maps("OnesLike", domain=TF, fidelity=BITWISE)
def ones_like(t: Translation, x: ir.Value) -> ir.Value:
    return _filled(t, dim_vector(t, x), np.ones((), numpy_dtype(t.dtype(x))))


def _filled(t: Translation, shape: ir.Value, number: np.ndarray) -> ir.Value:
    if number.dtype == object:  # ONNX's ConstantOfShape makes no strings
        made: ir.Value = t.op.Expand(number, shape)
    else:
        made = t.op.ConstantOfShape(shape, value=ir.tensor(number.reshape(1)))
    return made


@maps("Range", domain=TF, error=ulps(1))
def range_(t: Translation, start: ir.Value, limit: ir.Value, delta: ir.Value) -> ir.Value:
    return t.op.Range(start, limit, delta)
