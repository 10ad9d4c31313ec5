"""Activations."""

from __future__ import annotations

import onnx_ir as ir

from trueport.fidelity import BITWISE, accumulation, ulps
from trueport.frontends.tensorflow.context import Translation
from trueport.frontends.tensorflow.nodes import TF
from trueport.frontends.tensorflow.numeric import is_unsigned
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Relu", domain=TF, fidelity=BITWISE)
def relu(t: Translation, features: ir.Value) -> ir.Value:
    return features if is_unsigned(features) else t.op.Relu(features)


@maps("Relu6", domain=TF, fidelity=BITWISE)
def relu6(t: Translation, features: ir.Value) -> ir.Value:
    return t.op.Clip(features, t.op.like(0, features), t.op.like(6, features))


@maps("LeakyRelu", domain=TF, error=ulps(1))
def leaky_relu(t: Translation, features: ir.Value, *, alpha: float) -> ir.Value:
    return t.op.LeakyRelu(features, alpha=alpha)


@maps("Elu", domain=TF, error=accumulation())
def elu(t: Translation, features: ir.Value) -> ir.Value:
    return t.op.Elu(features, alpha=1.0)


@maps("Selu", domain=TF, error=accumulation())
def selu(t: Translation, features: ir.Value) -> ir.Value:
    return t.op.Selu(features)


@maps("Sigmoid", domain=TF, error=ulps(6))
def sigmoid(t: Translation, x: ir.Value) -> ir.Value:
    return t.op.Sigmoid(x)


@maps("Tanh", domain=TF, error=ulps(4))
def tanh(t: Translation, x: ir.Value) -> ir.Value:
    return t.op.Tanh(x)


@maps("Softplus", domain=TF, error=ulps(4))
def softplus(t: Translation, features: ir.Value) -> ir.Value:
    return t.op.Softplus(features)


@maps("Softsign", domain=TF, error=ulps(1))
def softsign(t: Translation, features: ir.Value) -> ir.Value:
    return t.op.Softsign(features)


@maps("Softmax", domain=TF, error=ulps(8))
def softmax(t: Translation, logits: ir.Value) -> ir.Value:
    return t.op.Softmax(logits, axis=-1)


@maps("LogSoftmax", domain=TF, error=accumulation())
def log_softmax(t: Translation, logits: ir.Value) -> ir.Value:
    return t.op.LogSoftmax(logits, axis=-1)
