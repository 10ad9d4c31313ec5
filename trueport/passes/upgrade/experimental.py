"""Operators that ONNX had on trial up to opset 9, in terms of those that stayed.

They have no schema any more: these adapters are bound by their own signatures, with the defaults of the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
from onnx_ir import Value

from trueport.passes.upgrade.adapt import EXPERIMENTAL, AdapterBuilder, upgrades

__all__: list[str] = []


@upgrades("Affine", EXPERIMENTAL, 13)
def affine(op: AdapterBuilder, X: Value, *, alpha: float = 1.0, beta: float = 0.0) -> Any:
    """alpha * X + beta"""
    return op.Add(op.Mul(X, op.like(alpha, X)), op.like(beta, X))


@upgrades("Scale", EXPERIMENTAL, 13)
def scale(op: AdapterBuilder, input: Value, *, scale: float = 1.0) -> Any:
    """scale * input"""
    return op.Mul(input, op.like(scale, input))


@upgrades("ScaledTanh", EXPERIMENTAL, 13)
def scaled_tanh(op: AdapterBuilder, input: Value, *, alpha: float = 1.0, beta: float = 1.0) -> Any:
    """alpha * tanh(beta * input)"""
    return op.Mul(op.Tanh(op.Mul(input, op.like(beta, input))), op.like(alpha, input))


@upgrades("ParametricSoftplus", EXPERIMENTAL, 13)
def parametric_softplus(op: AdapterBuilder, X: Value, *, alpha: float = 1.0, beta: float = 1.0) -> Any:
    """alpha * softplus(beta * X)"""
    return op.Mul(op.Softplus(op.Mul(X, op.like(beta, X))), op.like(alpha, X))


@upgrades("ThresholdedRelu", EXPERIMENTAL, 10)
def thresholded_relu(op: AdapterBuilder, X: Value, *, alpha: float = 1.0) -> Any:
    """As it stayed."""
    return op.again(X, alpha=alpha)


@upgrades("ImageScaler", EXPERIMENTAL, 13)
def image_scaler(op: AdapterBuilder, input: Value, *, bias: list[float], scale: float = 1.0) -> Any:
    """scale * input + bias, one for each channel of an image"""
    biases = op.at(15).CastLike(op.const(np.array(bias, np.float32).reshape(-1, 1, 1)), input)
    return op.Add(op.Mul(input, op.like(scale, input)), biases)


@upgrades("Crop", EXPERIMENTAL, 13)
def crop(op: AdapterBuilder, input: Value, *, border: list[int], scale: list[int] | None = None) -> Any:
    """An image without its border, or with a given size from the border's corner on."""
    left, top, right, bottom = border
    if scale:
        ends = op.const([top + scale[0], left + scale[1]])
    else:
        ends = op.Sub(op.at(15).Shape(input, start=2), op.const([bottom, right]))
    return op.Slice(input, op.const([top, left]), ends, op.const([2, 3]))


@upgrades("DynamicSlice", EXPERIMENTAL, 13)
def dynamic_slice(op: AdapterBuilder, data: Value, starts: Value, ends: Value, axes: Value | None = None) -> Any:
    """Slice with inputs; without axes the first ones are meant."""
    if axes is None:
        count = op.Squeeze(op.Shape(starts), op.const([0]))
        axes = op.Cast(op.Range(op.const(0), count, op.const(1)), to=ir.DataType.INT64.value)
        starts, ends = (op.Cast(value, to=ir.DataType.INT64.value) for value in (starts, ends))
    return op.Slice(data, starts, ends, axes)


@upgrades("MeanVarianceNormalization", EXPERIMENTAL, 9)
def mean_variance_normalization(
    op: AdapterBuilder, input: Value, *, across_channels: int = 0, normalize_variance: int = 1
) -> Any:
    """Over an image, with or without its channels; the variance could be left as it is."""
    axes = [1, 2, 3] if across_channels else [2, 3]
    centred = op.Sub(input, op.ReduceMean(input, axes=axes))
    if not normalize_variance:
        return centred
    return op.Div(centred, op.Sqrt(op.ReduceMean(op.Mul(centred, centred), axes=axes)))


@upgrades("ConstantFill", EXPERIMENTAL, 13)
def constant_fill(
    op: AdapterBuilder,
    input: Value | None = None,
    *,
    value: float = 0.0,
    dtype: int = 1,
    shape: list[int] | None = None,
    extra_shape: list[int] | None = None,
    input_as_shape: int = 0,
) -> Any:
    """One value in a shape that is given, or that the input has or holds."""
    filling = ir.tensor(np.array([value]).astype(ir.DataType(dtype).numpy()))
    return op.ConstantOfShape(_shape(op, input, shape, extra_shape, input_as_shape), value=filling)


@upgrades("GivenTensorFill", EXPERIMENTAL, 13)
def given_tensor_fill(
    op: AdapterBuilder,
    input: Value | None = None,
    *,
    values: list[float] | None = None,
    shape: list[int] | None = None,
    extra_shape: list[int] | None = None,
    input_as_shape: int = 0,
) -> Any:
    """The given values in such a shape."""
    return op.Reshape(op.const(values or [], np.float32), _shape(op, input, shape, extra_shape, input_as_shape))


def _shape(
    op: AdapterBuilder, input: Value | None, shape: list[int] | None, extra: list[int] | None, input_as_shape: int
) -> Value:
    if input is None:
        return op.const(shape or [], np.int64)
    dims: Value = op.Cast(input, to=ir.DataType.INT64.value) if input_as_shape else op.Shape(input)
    return op.Concat(dims, op.const(extra, np.int64), axis=0) if extra else dims
