"""Sums of products: convolutions, matrix products, recurrences, attention; and quantization around them."""

from __future__ import annotations

from functools import partial

from trueport.fidelity import AGAINST_DATA, AGAINST_STEPS, AGAINST_TERMS, accumulation, ulps
from trueport.operators.order import Elementwise, Quantized
from trueport.operators.record import Decision, IntegerSum, Kind, Operator, Role, Trait, Widening

__all__ = ["OPERATORS"]

_product = partial(Operator, kind=Kind.PRODUCT, error=accumulation(against=AGAINST_TERMS))
_integer = partial(Operator, kind=Kind.PRODUCT, error=ulps(0))
_quantization = partial(Operator, kind=Kind.QUANTIZATION, error=ulps(0))
_recurrence = partial(
    Operator,
    kind=Kind.RECURRENCE,
    error=accumulation(against=AGAINST_DATA),
    roles=(Role.DATA, Role.DATA, Role.DATA, Role.DATA, Role.LENGTHS, Role.DATA),
)
_attention = partial(Operator, kind=Kind.ATTENTION, error=accumulation(8, against=AGAINST_STEPS))

OPERATORS: tuple[Operator, ...] = (
    _product("CausalConvWithState", error=accumulation(4, against=AGAINST_DATA)),
    _product("Conv", traits=Trait.WEIGHTED, pads_with=0.0),
    _product("ConvTranspose", traits=Trait.WEIGHTED),
    _product("DeformConv", error=accumulation(8, 4, against=AGAINST_DATA)),
    _product("Det", error=accumulation(against=AGAINST_DATA)),
    _product("Einsum", widening=Widening.WRAPS, family="matmul"),
    _product("Gemm", family="matmul", traits=Trait.WEIGHTED),
    _product("MatMul", widening=Widening.WRAPS, traits=Trait.WEIGHTED),
    _integer("ConvInteger", family="conv", integer_sum=IntegerSum(((1, 3),), 0, 2)),
    _integer("MatMulInteger", family="matmul", integer_sum=IntegerSum(((1, 3),), 0, 2)),
    _integer("QLinearConv", family="conv", integer_sum=IntegerSum(((3, 5),), 0, 2)),
    _integer("QLinearMatMul", family="matmul", integer_sum=IntegerSum(((3, 5),), 0, 2)),
    _quantization("DequantizeLinear", order=Quantized()),
    _quantization("DynamicQuantizeLinear", order=Elementwise(results=1)),
    _quantization("QuantizeLinear", order=Quantized(), widening=Widening.STEPS, decides=Decision(steps=True)),
    _recurrence("GRU"),
    _recurrence("LSTM"),
    _recurrence("RNN"),
    _attention(
        "Attention", roles=(Role.DATA, Role.DATA, Role.DATA, Role.DATA, Role.DATA, Role.DATA, Role.PADDED_LENGTHS)
    ),
    _attention("LinearAttention"),
    _attention("RotaryEmbedding", error=accumulation(against=AGAINST_DATA)),
)
