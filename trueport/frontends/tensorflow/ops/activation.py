"""Activations."""

from __future__ import annotations

import onnx_ir as ir

from trueport.fidelity import BITWISE, ulps
from trueport.frontends.tensorflow.context import Translation
from trueport.frontends.tensorflow.nodes import TF
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Relu", domain=TF, fidelity=BITWISE)
def relu(t: Translation, features: ir.Value) -> ir.Value:
    return t.op.Relu(features)


@maps("Softmax", domain=TF, error=ulps(8))
def softmax(t: Translation, logits: ir.Value) -> ir.Value:
    return t.op.Softmax(logits, axis=-1)
