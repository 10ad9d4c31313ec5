"""Element types: conversion of values, reinterpretation of bits."""

from __future__ import annotations

import onnx_ir as ir

from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.casting import convert, reinterpret
from trueport.fidelity import BITWISE, EXACT, Limit
from trueport.mapping.declare import maps
from trueport.mapping.examples import example

__all__: list[str] = []


@maps("Cast", audited=28)
def cast(t: Emission, input: Tensor, *, to: int, saturate: int, round_mode: str) -> Tensor:
    return convert(input, t.input_type(0), ir.DataType(to), saturate=bool(saturate), round_mode=round_mode)


@maps("CastLike", audited=25)
def cast_like(t: Emission, input: Tensor, target_type: Tensor, *, saturate: int, round_mode: str) -> Tensor:
    return convert(input, t.input_type(0), t.input_type(1), saturate=bool(saturate), round_mode=round_mode)


def _reads_float8e5m2(node: ir.Node) -> bool:
    value = node.inputs[0]
    return value is not None and value.dtype == ir.DataType.FLOAT8E5M2


@maps(
    "BitCast",
    audited=26,
    fidelity=BITWISE,
    limits=[
        Limit(
            "bitcast-float8e5m2-nan",
            _reads_float8e5m2,
            EXACT,
            "TensorFlow has no kernel that reads the bits of float8_e5m2; its six NaNs come out as two, one per sign",
            example=example("(float8e5m2[n] x) => (uint8[n] y) { y = BitCast <to = 2> (x) }"),
        )
    ],
)
def bit_cast(t: Emission, input: Tensor, *, to: int) -> Tensor:
    return reinterpret(input, t.input_type(0), ir.DataType(to))
