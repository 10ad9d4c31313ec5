"""Losses that models compute while they run."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import accumulation
from trueport.formulas.numeric import log_softmax
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("SoftmaxCrossEntropyWithLogits", domain=TF, error=accumulation(8))
def softmax_cross_entropy(t: Translation, features: ir.Value, labels: ir.Value) -> tuple[ir.Value, ir.Value]:
    logarithms = log_softmax(t, features)
    loss = t.op.Neg(t.op.ReduceSum(t.op.Mul(labels, logarithms), [-1], keepdims=0))
    return loss, t.op.Sub(t.op.Softmax(features, axis=-1), labels)


@maps("SparseSoftmaxCrossEntropyWithLogits", domain=TF, error=accumulation(8))
def sparse_softmax_cross_entropy(t: Translation, features: ir.Value, labels: ir.Value) -> tuple[ir.Value, ir.Value]:
    logarithms = log_softmax(t, features)
    chosen = t.op.GatherElements(logarithms, t.op.Unsqueeze(labels, [-1]), axis=-1)
    classes = t.op.Shape(features, start=-1)
    values = t.op.like(np.array([0, 1]), features)
    encoded = t.op.OneHot(labels, classes, values, axis=-1)
    return t.op.Neg(t.op.Squeeze(chosen, [-1])), t.op.Sub(t.op.Softmax(features, axis=-1), encoded)
