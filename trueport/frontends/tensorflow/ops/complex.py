"""Complex tensors: made, taken apart, moved and compared, as their real and imaginary parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_TERMS, BITWISE, accumulation, ulps
from trueport.formulas.pairs import angle, by_part, conjugate, constant, from_real, modulus, part_of
from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.source.dtypes import COMPLEX_PARTS, tf_type
from trueport.frontends.tensorflow.source.nodes import COMPLEX
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.frontends.tensorflow.translate.values import Pair, Resource, Translated
from trueport.mapping.declare import Handler, maps

__all__: list[str] = []

_MOVES = (
    *("Identity", "IdentityN", "StopGradient", "Snapshot", "PreventGradient", "EnsureShape", "PlaceholderWithDefault"),
    *(
        "Reshape",
        "ExpandDims",
        "Squeeze",
        "Transpose",
        "BroadcastTo",
        "Tile",
        "Fill",
        "ZerosLike",
        "Select",
        "SelectV2",
    ),
    *("Concat", "ConcatV2", "Pack", "Unpack", "Split", "SplitV", "Slice", "StridedSlice", "Pad", "PadV2", "MirrorPad"),
    *("Gather", "GatherV2", "GatherNd", "ScatterNd", "TensorScatterUpdate", "DynamicStitch", "DynamicPartition"),
    *("ReverseV2", "ReverseSequence", "Roll", "DepthToSpace", "SpaceToDepth", "SpaceToBatchND", "BatchToSpaceND"),
    *("Diag", "DiagPart", "MatrixDiag", "MatrixDiagV2", "MatrixDiagV3", "MatrixDiagPart", "MatrixDiagPartV2"),
    *("MatrixDiagPartV3", "MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3", "MatrixBandPart", "OneHot"),
    *("TensorStridedSliceUpdate", "ExtractImagePatches"),
)
"""Operators that only move, copy or choose elements."""
_SUMS = (
    *("AddV2", "Add", "Sub", "Neg", "AddN", "Sum", "Mean", "Cumsum", "BiasAdd", "TensorScatterAdd"),
    *("TensorScatterSub", "SegmentSum", "SegmentMean", "UnsortedSegmentSum"),
)
"""Operators that only add, subtract, or divide by a count."""
_SHAPES = ("Shape", "ShapeN", "Size", "Rank")


def _all(names: tuple[str, ...], **promise: Any) -> Callable[[Handler], Handler]:
    def declare(handler: Handler) -> Handler:
        for name in names:
            maps(name, domain=COMPLEX, **promise)(handler)
        return handler

    return declare


@_all(_MOVES, fidelity=BITWISE)
@_all(_SUMS, error=accumulation(against=AGAINST_TERMS))
def each_part(t: Translation, *inputs: Any, **attributes: Any) -> Any:
    return by_part(t.redo, *inputs)


@_all(_SHAPES, fidelity=BITWISE)
def of_one_part(t: Translation, *inputs: Any, **attributes: Any) -> Any:
    return t.redo(*(part_of(value, 0) for value in inputs))


@maps("Const", domain=COMPLEX, fidelity=BITWISE)
def const(t: Translation, *, value: np.ndarray) -> Pair:
    return constant(t, value)


@maps("ReadVariableOp", domain=COMPLEX, fidelity=BITWISE)
def read(t: Translation, resource: Translated, *, dtype: ir.DataType) -> Pair:
    assert isinstance(resource, Resource), "what is captured or made as a variable is one"
    if resource.handle is None:
        raise t.fail(
            f"reads the complex variable {resource.name!r}, which nothing has set",
            "convert the model that holds its value, loaded or saved",
        )
    return constant(t, tf.raw_ops.ReadVariableOp(resource=resource.handle, dtype=tf_type(dtype)).numpy())


@maps("Cast", domain=COMPLEX, fidelity=BITWISE, ignores={"Truncate": "says how numbers are cut to narrower ones"})
def cast(t: Translation, x: Translated, *, DstT: ir.DataType) -> Any:
    part = COMPLEX_PARTS.get(DstT)
    if part is None:
        # TensorFlow drops the imaginary part, also on the way to bool.
        return t.redo(part_of(x, 0))
    if isinstance(x, Pair):
        return Pair(t.cast(x.real, part), t.cast(x.imag, part))
    assert isinstance(x, ir.Value)
    return from_real(t, t.cast(x, part))


@maps("Where", domain=COMPLEX, fidelity=BITWISE)
def where(t: Translation, input: Pair) -> Any:
    return t.redo(t.op.Or(*(t.op.Cast(part, to=ir.DataType.BOOL) for part in input)))


@maps("OnesLike", domain=COMPLEX, fidelity=BITWISE)
def ones_like(t: Translation, x: Pair) -> Pair:
    return from_real(t, t.redo(x.real))


@maps("Complex", domain=COMPLEX, fidelity=BITWISE)
def complex_(t: Translation, real: ir.Value, imag: ir.Value) -> Pair:
    if real.shape is not None and real.shape == imag.shape and None not in t.dims(real):
        return Pair(real, imag)
    shape = t.op.Shape(t.op.Add(real, imag))
    return Pair(t.op.Expand(real, shape), t.op.Expand(imag, shape))


@maps("Real", domain=COMPLEX, fidelity=BITWISE)
def real(t: Translation, input: Translated) -> Any:
    return part_of(input, 0)


@maps("Imag", domain=COMPLEX, fidelity=BITWISE)
def imag(t: Translation, input: Pair) -> ir.Value:
    return input.imag


@maps("Conj", domain=COMPLEX, fidelity=BITWISE)
def conj(t: Translation, input: Pair) -> Pair:
    return conjugate(t, input)


@maps("ConjugateTranspose", domain=COMPLEX, fidelity=BITWISE)
def conjugate_transpose(t: Translation, x: Pair, perm: ir.Value) -> Pair:
    order = [int(axis) for axis in t.need(perm, "perm")]
    return conjugate(t, by_part(lambda part: t.op.Transpose(part, perm=order), x))


@maps("ComplexAbs", domain=COMPLEX, error=ulps(4))
def complex_abs(t: Translation, x: Pair) -> ir.Value:
    return modulus(t, x)


@maps("Angle", domain=COMPLEX, error=ulps(4))
def angle_(t: Translation, input: Pair) -> ir.Value:
    return angle(t, input.imag, input.real)


@maps("Equal", domain=COMPLEX, fidelity=BITWISE, ignores={"incompatible_shape_error": "shapes that fit have no error"})
def equal(t: Translation, x: Pair, y: Pair) -> ir.Value:
    return t.op.And(t.op.Equal(x.real, y.real), t.op.Equal(x.imag, y.imag))


@maps(
    "NotEqual", domain=COMPLEX, fidelity=BITWISE, ignores={"incompatible_shape_error": "shapes that fit have no error"}
)
def not_equal(t: Translation, x: Pair, y: Pair) -> ir.Value:
    return t.op.Not(equal(t, x, y))
