"""ONNX Runtime's own operators (com.microsoft) that are read."""

from __future__ import annotations

from functools import partial

from trueport.fidelity import AGAINST_DATA, AGAINST_INPUT, AGAINST_PLACES, AGAINST_TERMS, accumulation, ulps
from trueport.operators.record import IntegerSum, Kind, Operator, Sizing, Trait, Widening

__all__ = ["OPERATORS"]

_attention = partial(
    Operator, kind=Kind.ATTENTION, error=accumulation(16, against=AGAINST_DATA), domain="com.microsoft"
)
_fused = partial(Operator, kind=Kind.PRODUCT, error=accumulation(8, against=AGAINST_DATA), domain="com.microsoft")
_activation = partial(
    Operator, kind=Kind.ELEMENTWISE, error=accumulation(4, against=AGAINST_INPUT), domain="com.microsoft"
)
_integer = partial(Operator, kind=Kind.PRODUCT, domain="com.microsoft")
_kin = partial(Operator, kind=Kind.MOVEMENT, error=None, widening=Widening.MOVES, domain="com.microsoft")
_normalization = partial(
    Operator, kind=Kind.NORMALIZATION, error=accumulation(8, against=AGAINST_DATA), domain="com.microsoft"
)
_pool = partial(Operator, kind=Kind.POOLING, error=ulps(0), domain="com.microsoft")
_quantized = partial(Operator, kind=Kind.QUANTIZATION, error=ulps(0), domain="com.microsoft")
_recurrence = partial(Operator, kind=Kind.RECURRENCE, error=accumulation(against=AGAINST_DATA), domain="com.microsoft")

OPERATORS: tuple[Operator, ...] = (
    _attention("Attention"),
    _attention("GroupQueryAttention"),
    _attention("MultiHeadAttention"),
    _attention("QAttention", integer_sum=IntegerSum(((1, 7),), 0, 6)),
    _attention("RotaryEmbedding", error=accumulation(against=AGAINST_DATA)),
    _fused("FusedConv", family="conv"),
    _fused("FusedGemm"),
    _fused("FusedMatMul", error=accumulation(against=AGAINST_TERMS)),
    _fused("MatMulNBits", error=accumulation(4, against=AGAINST_DATA)),
    _fused("TransposeMatMul", error=accumulation(against=AGAINST_TERMS)),
    _activation("BiasGelu", error=accumulation(4, against=AGAINST_DATA)),
    _activation("FastGelu", error=accumulation(4, against=AGAINST_DATA)),
    _activation("Gelu"),
    _activation("QuickGelu"),
    _integer("DynamicQuantizeMatMul", integer_sum=IntegerSum(((1, 3),))),
    _integer("MatMulInteger16", error=ulps(0)),
    _integer("MatMulIntegerToFloat", integer_sum=IntegerSum(((1, 5),), 0, 4)),
    _integer("QGemm", integer_sum=IntegerSum(((3, 5),), 0, 2)),
    _integer("QLinearConv", error=ulps(0), family="conv", integer_sum=IntegerSum(((3, 5),), 0, 2)),
    _kin("CDist", kind=Kind.PRODUCT, error=accumulation(8, 2), widening=Widening.NOT_INTEGERS),
    _kin("ExpandDims", family="reshape", traits=Trait.SAME_NUMBERS),
    _kin("GatherND"),
    _kin(
        "GridSample",
        kind=Kind.INTERPOLATION,
        error=accumulation(16, 8, against=AGAINST_PLACES),
        widening=Widening.NOT_INTEGERS,
    ),
    _kin("Inverse", kind=Kind.PRODUCT, error=accumulation(64, 8, against=AGAINST_DATA), widening=Widening.NOT_INTEGERS),
    _kin("Pad"),
    _kin("Range", kind=Kind.GENERATION, error=ulps(1), widening=Widening.WRAPS),
    _kin("Trilu"),
    _kin("Unique", kind=Kind.SELECTION, widening=Widening.ORDERED, sizing=Sizing.VALUES),
    _normalization("EmbedLayerNormalization"),
    _normalization("LayerNormalization"),
    _normalization("SimplifiedLayerNormalization"),
    _normalization("SkipLayerNormalization"),
    _normalization("SkipSimplifiedLayerNormalization"),
    _pool("NhwcMaxPool"),
    _pool("QLinearAveragePool"),
    _pool("QLinearGlobalAveragePool"),
    _quantized("DequantizeLinear"),
    _quantized("QLinearAdd"),
    _quantized("QLinearConcat"),
    _quantized("QLinearLeakyRelu"),
    _quantized("QLinearMul"),
    _quantized("QLinearSigmoid"),
    _quantized("QLinearSoftmax"),
    _quantized("QLinearWhere"),
    _quantized("QuantizeLinear"),
    _recurrence("DynamicQuantizeLSTM", integer_sum=IntegerSum(((1, 9), (2, 11)))),
)
