"""Matrix products and biases."""

from __future__ import annotations

import onnx_ir as ir

from trueport.fidelity import accumulation, ulps
from trueport.frontends.tensorflow.context import Translation
from trueport.frontends.tensorflow.nodes import TF
from trueport.frontends.tensorflow.spatial import channel_vector
from trueport.mapping.declare import maps

__all__: list[str] = []

_GRADIENTS = {"grad_a": "used in training only", "grad_b": "used in training only"}


@maps("MatMul", domain=TF, error=accumulation(), ignores=_GRADIENTS)
def mat_mul(t: Translation, a: ir.Value, b: ir.Value, *, transpose_a: bool, transpose_b: bool) -> ir.Value:
    left = t.op.Transpose(a, perm=[1, 0]) if transpose_a else a
    right = t.op.Transpose(b, perm=[1, 0]) if transpose_b else b
    return t.op.MatMul(left, right)


@maps("BiasAdd", domain=TF, error=ulps(1))
def bias_add(t: Translation, value: ir.Value, bias: ir.Value, *, data_format: str) -> ir.Value:
    return t.op.Add(value, channel_vector(t, bias, value, data_format))
