"""Choosing: by a condition, by rank, by order."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.formulas.indexing.indices import integer_of
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.ir.marks import mark_order_open
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Select", domain=TF, fidelity=BITWISE)
def select(translation: Translation, condition: ir.Value, t: ir.Value, e: ir.Value) -> ir.Value:
    # A vector chooses whole rows.
    added = translation.rank(t) - 1 if translation.rank(condition) == 1 else 0
    chosen = translation.op.Unsqueeze(condition, list(range(1, 1 + added))) if added else condition
    return translation.op.Where(chosen, t, e)


@maps("SelectV2", domain=TF, fidelity=BITWISE)
def select_v2(translation: Translation, condition: ir.Value, t: ir.Value, e: ir.Value) -> ir.Value:
    return translation.op.Where(condition, t, e)


@maps("ArgMax", domain=TF, fidelity=BITWISE)
def arg_max(t: Translation, input: ir.Value, dimension: ir.Value) -> ir.Value:
    found = t.op.ArgMax(_comparable(t, input, -np.inf), axis=integer_of(t, dimension, "axis"), keepdims=0)
    return t.cast(found, t.output_type())


@maps("ArgMin", domain=TF, fidelity=BITWISE)
def arg_min(t: Translation, input: ir.Value, dimension: ir.Value) -> ir.Value:
    found = t.op.ArgMin(_comparable(t, input, np.inf), axis=integer_of(t, dimension, "axis"), keepdims=0)
    return t.cast(found, t.output_type())


def _comparable(t: Translation, value: ir.Value, last: float) -> ir.Value:
    """Values that have an order: TensorFlow passes over NaN, ONNX does not say what it does with it."""
    if value.dtype == ir.DataType.BOOL:
        return t.op.Cast(value, to=ir.DataType.UINT8)
    if not t.dtype(value).is_floating_point():
        return value
    return t.op.Where(t.op.IsNaN(value), t.op.like(last, value), value)


@maps("TopKV2", domain=TF, fidelity=BITWISE)
def top_k_v2(t: Translation, input: ir.Value, k: ir.Value, *, sorted: bool) -> tuple[ir.Value, ir.Value]:
    return _largest(t, input, t.op.Reshape(t.int64(k), [1]), sorted)


@maps("TopK", domain=TF, fidelity=BITWISE)
def top_k(t: Translation, input: ir.Value, *, k: int, sorted: bool) -> tuple[ir.Value, ir.Value]:
    return _largest(t, input, t.op.const(np.array([k], np.int64)), sorted)


def _largest(t: Translation, data: ir.Value, count: ir.Value, ordered: bool) -> tuple[ir.Value, ir.Value]:
    """Always from the largest on: where the source leaves the order open, that is one of those allowed."""
    values, indices = t.op.several(2).TopK(data, count)
    if not ordered:
        mark_order_open(values)
    return values, t.cast(indices, t.output_type(1))


@maps(
    "ApproxTopK",
    domain=TF,
    fidelity=BITWISE,
    ignores={
        "recall_target": "the exact answer is near enough to any",
        "reduction_input_size_override": "tunes the recall on TPUs",
        "aggregate_to_topk": "TensorFlow gives the k best on CPUs anyway",
    },
)
def approx_top_k(
    t: Translation, input: ir.Value, *, k: int, reduction_dimension: int, is_max_k: bool
) -> tuple[ir.Value, ir.Value]:
    values, indices = t.op.several(2).TopK(input, [k], axis=reduction_dimension, largest=int(is_max_k))
    return values, t.cast(indices, t.output_type(1))
