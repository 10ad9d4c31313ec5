"""Activations."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import AGAINST_ONE, BITWISE, accumulation, ulps
from trueport.formulas import numeric
from trueport.formulas.numeric import expm1, is_double, is_unsigned, log1p
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.mapping.declare import maps

__all__: list[str] = []

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_GAMMA = 1.0507009873554804934193349852946


@maps("Relu", domain=TF, fidelity=BITWISE)
def relu(t: Translation, features: ir.Value) -> ir.Value:
    return features if is_unsigned(features) else t.op.Relu(features)


@maps("Relu6", domain=TF, fidelity=BITWISE)
def relu6(t: Translation, features: ir.Value) -> ir.Value:
    return t.op.Clip(features, t.op.like(0, features), t.op.like(6, features))


@maps("LeakyRelu", domain=TF, error=ulps(1))
def leaky_relu(t: Translation, features: ir.Value, *, alpha: float) -> ir.Value:
    if is_double(features):
        below = t.op.Less(features, t.op.like(0, features))
        return t.op.Where(below, t.op.Mul(features, t.op.like(np.float32(alpha), features)), features)
    return t.op.LeakyRelu(features, alpha=alpha)


@maps("Elu", domain=TF, error=accumulation(against=AGAINST_ONE))
def elu(t: Translation, features: ir.Value) -> ir.Value:
    return _exponential_below_zero(t, features) if is_double(features) else t.op.Elu(features, alpha=1.0)


@maps("Selu", domain=TF, error=accumulation(against=AGAINST_ONE))
def selu(t: Translation, features: ir.Value) -> ir.Value:
    if is_double(features):
        return _exponential_below_zero(t, features, _SELU_ALPHA, _SELU_GAMMA)
    return t.op.Selu(features)


def _exponential_below_zero(t: Translation, x: ir.Value, alpha: float = 1.0, gamma: float = 1.0) -> ir.Value:
    """Elu and Selu of doubles, for which runtimes have no kernels."""
    below = t.op.Mul(expm1(t, x), t.op.like(alpha * gamma, x))
    return t.op.Where(t.op.Less(x, t.op.like(0, x)), below, t.op.Mul(x, t.op.like(gamma, x)))


@maps("Softplus", domain=TF, error=ulps(4, against=AGAINST_ONE))
def softplus(t: Translation, features: ir.Value) -> ir.Value:
    if is_double(features):
        decayed = t.op.Exp(t.op.Neg(t.op.Abs(features)))
        return t.op.Add(t.op.Max(features, t.op.like(0, features)), log1p(t, decayed))
    return t.op.Softplus(features)


@maps("Softsign", domain=TF, error=ulps(1))
def softsign(t: Translation, features: ir.Value) -> ir.Value:
    if is_double(features):
        return t.op.Div(features, t.op.Add(t.op.Abs(features), t.op.like(1, features)))
    return t.op.Softsign(features)


@maps("Softmax", domain=TF, error=ulps(8))
def softmax(t: Translation, logits: ir.Value) -> ir.Value:
    return t.op.Softmax(logits, axis=-1)


@maps("LogSoftmax", domain=TF, error=accumulation(against=AGAINST_ONE))
def log_softmax(t: Translation, logits: ir.Value) -> ir.Value:
    return numeric.log_softmax(t, logits)
