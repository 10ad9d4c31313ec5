"""Matrix products and biases."""

from __future__ import annotations

import onnx_ir as ir

from trueport.fidelity import AGAINST_TERMS, accumulation, ulps
from trueport.formulas.images.spatial import channel_vector
from trueport.formulas.linear.matrices import multiplied, swapped
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []

_D = ir.DataType
_GRADIENTS = {"grad_a": "used in training only", "grad_b": "used in training only"}
_BATCH_GRADIENTS = {"grad_x": "used in training only", "grad_y": "used in training only"}
_SPARSITY = {"a_is_sparse": "chooses a kernel", "b_is_sparse": "chooses a kernel"}
_BYTES = {_D.INT8, _D.UINT8}


@maps("MatMul", domain=TF, error=accumulation(against=AGAINST_TERMS), ignores=_GRADIENTS)
def mat_mul(t: Translation, a: ir.Value, b: ir.Value, *, transpose_a: bool, transpose_b: bool) -> ir.Value:
    return multiplied(t, swapped(t, a) if transpose_a else a, swapped(t, b) if transpose_b else b)


@maps("SparseMatMul", domain=TF, error=accumulation(against=AGAINST_TERMS), ignores=_SPARSITY)
def sparse_mat_mul(t: Translation, a: ir.Value, b: ir.Value, *, transpose_a: bool, transpose_b: bool) -> ir.Value:
    a, b = t.cast(a, _D.FLOAT), t.cast(b, _D.FLOAT)
    return mat_mul(t, a, b, transpose_a=transpose_a, transpose_b=transpose_b)


@maps("BatchMatMul", domain=TF, error=accumulation(against=AGAINST_TERMS), ignores=_BATCH_GRADIENTS)
@maps("BatchMatMulV2", domain=TF, error=accumulation(against=AGAINST_TERMS), ignores=_BATCH_GRADIENTS)
def batch_mat_mul(t: Translation, x: ir.Value, y: ir.Value, *, adj_x: bool, adj_y: bool) -> ir.Value:
    return multiplied(t, swapped(t, x) if adj_x else x, swapped(t, y) if adj_y else y)


@maps("BatchMatMulV3", domain=TF, error=accumulation(against=AGAINST_TERMS), ignores=_BATCH_GRADIENTS)
def batch_mat_mul_v3(t: Translation, x: ir.Value, y: ir.Value, *, adj_x: bool, adj_y: bool) -> ir.Value:
    x, y = swapped(t, x) if adj_x else x, swapped(t, y) if adj_y else y
    wanted = t.output_type()
    if wanted == _D.INT32 and {x.dtype, y.dtype} <= _BYTES:
        return t.op.MatMulInteger(x, y)
    return multiplied(t, t.cast(x, wanted), t.cast(y, wanted))


@maps("BiasAdd", domain=TF, error=ulps(1))
def bias_add(t: Translation, value: ir.Value, bias: ir.Value, *, data_format: str) -> ir.Value:
    return t.op.Add(value, channel_vector(t, bias, value, data_format))
