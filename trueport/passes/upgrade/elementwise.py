"""Elementwise operators: in-place hints (before 6), broadcasting by attributes (before 7), limits as attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
from onnx_ir import Value

from trueport.passes.upgrade.adapt import AdapterBuilder, upgrades

__all__ = ["along_axis"]


@upgrades("Abs", 1, 6)
@upgrades("Add", 1, 6)
@upgrades("BatchNormalization", 1, 6)
@upgrades("Ceil", 1, 6)
@upgrades("Div", 1, 6)
@upgrades("Dropout", 1, 6)
@upgrades("Elu", 1, 6)
@upgrades("Exp", 1, 6)
@upgrades("Floor", 1, 6)
@upgrades("HardSigmoid", 1, 6)
@upgrades("InstanceNormalization", 1, 6)
@upgrades("LeakyRelu", 1, 6)
@upgrades("Log", 1, 6)
@upgrades("Max", 1, 6)
@upgrades("Mean", 1, 6)
@upgrades("Min", 1, 6)
@upgrades("Mul", 1, 6)
@upgrades("Neg", 1, 6)
@upgrades("PRelu", 1, 6)
@upgrades("Reciprocal", 1, 6)
@upgrades("Relu", 1, 6)
@upgrades("Selu", 1, 6)
@upgrades("Sigmoid", 1, 6)
@upgrades("Sqrt", 1, 6)
@upgrades("Sub", 1, 6)
@upgrades("Sum", 1, 6)
@upgrades("Tanh", 1, 6)
def without_consumed_inputs(
    op: AdapterBuilder, *inputs: Value | None, consumed_inputs: list[int] | None, **attributes: Any
) -> Any:
    """The attribute only allowed a runtime to reuse memory. Defaults of the old version (Selu's) are kept."""
    return op.again(*inputs, **attributes)


@upgrades("Add", 6, 7)
@upgrades("And", 1, 7)
@upgrades("Div", 6, 7)
@upgrades("Equal", 1, 7)
@upgrades("Greater", 1, 7)
@upgrades("Less", 1, 7)
@upgrades("Mul", 6, 7)
@upgrades("Or", 1, 7)
@upgrades("Pow", 1, 7)
@upgrades("Sub", 6, 7)
@upgrades("Xor", 1, 7)
def broadcasting_by_axis(op: AdapterBuilder, A: Value, B: Value, *, axis: int | None, broadcast: int) -> Any:
    """Before 7 the dims of B stood from ``axis`` on in A, or at its end as since 7."""
    return op.again(A, along_axis(op, A, B, axis) if broadcast and axis is not None else B)


def along_axis(op: AdapterBuilder, A: Value, B: Value, axis: int) -> Value:
    """B with dims of 1 at its end, so that its own stand from ``axis`` on in A."""
    if A.shape is not None and B.shape is not None:
        at = axis if axis >= 0 else axis + len(A.shape)
        missing = len(A.shape) - at - len(B.shape)
        return op.at(1).Unsqueeze(B, axes=[len(B.shape) + i for i in range(missing)]) if missing > 0 else B
    op = op.at(13)
    end = op.rank(A) if axis >= 0 else op.const([0])
    count = op.Max(op.Sub(op.Sub(end, op.const([axis])), op.rank(B)), op.const([0]))
    ones = op.ConstantOfShape(count, value=ir.tensor(np.array([1])))
    return op.Reshape(B, op.Concat(op.Shape(B), ones, axis=0))


@upgrades("PRelu", 6, 7)
def prelu_6_to_7(op: AdapterBuilder, X: Value, slope: Value) -> Any:
    """Before 7 a vector of slopes belonged to the channels, which are dim 1."""
    if slope.shape is not None and len(slope.shape) != 1:
        return op.again(X, slope)
    return op.again(X, along_axis(op, X, slope, 1))


@upgrades("Clip", 1, 6)
def clip_1_to_6(
    op: AdapterBuilder, input: Value, *, consumed_inputs: list[int] | None, max: float | None, min: float | None
) -> Any:
    """Both bounds were optional; 6 gives them defaults that no float32 number passes."""
    return op.again(input, max=max, min=min)


@upgrades("Clip", 6, 11)
def clip_6_to_11(op: AdapterBuilder, input: Value, *, max: float, min: float) -> Any:
    """Without an attribute infinities became the largest float32 number: the bounds are always given."""
    return op.again(input, op.like(min, input), op.like(max, input))


@upgrades("Cast", 1, 6)
def cast_1_to_6(op: AdapterBuilder, input: Value, *, to: str | int) -> Any:
    """The target type was given by name; some exporters already gave its number."""
    return op.again(input, to=to if isinstance(to, int) else ir.DataType[to.upper()].value)


@upgrades("Erf", 9, 13)
@upgrades("ReduceLogSum", 18, 28)
@upgrades("ReduceLogSumExp", 18, 28)
def without_integers(op: AdapterBuilder, input: Value, *inputs: Value | None, **attributes: Any) -> Any:
    """Integers were allowed: the result was rounded towards zero to the input's type."""
    if input.dtype is None or not input.dtype.is_integer():
        return op.again(input, *inputs, **attributes)
    real = op.again(op.Cast(input, to=ir.DataType.DOUBLE.value), *inputs, **attributes)
    return op.Cast(real, to=input.dtype.value)


@upgrades("Dropout", 6, 7)
def dropout_6_to_7(op: AdapterBuilder, data: Value, *, is_test: int, ratio: float) -> Any:
    """Between 7 and 11 dropout only exists for inference; training is told since 12."""
    if is_test:
        return op.again(data, ratio=ratio)
    new = op.at(12)
    return _mask_like_data(new, data, new.again(data, op.const(np.float32(ratio)), op.const(True)))


@upgrades("Dropout", 7, 10)
def dropout_7_to_10(op: AdapterBuilder, data: Value, *, ratio: float) -> Any:
    """Before 10 the mask had the data's type."""
    return _mask_like_data(op, data, op.again(data, ratio=ratio))


def _mask_like_data(op: AdapterBuilder, data: Value, made: Any) -> Any:
    return (made[0], op.at(15).CastLike(made[1], data)) if len(op.node.outputs) > 1 else made


@upgrades("Dropout", 10, 12)
def dropout_10_to_12(op: AdapterBuilder, data: Value, *, ratio: float) -> Any:
    """The ratio became an input; it has no effect without ``training_mode``."""
    return op.again(data, op.const(np.float32(ratio)))
