"""Conversions between element types."""

from __future__ import annotations

import onnx_ir as ir

from trueport.fidelity import ulps
from trueport.frontends.tensorflow.context import Translation
from trueport.frontends.tensorflow.nodes import TF
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps("Cast", domain=TF, error=ulps(0))
def cast(t: Translation, x: ir.Value, *, DstT: ir.DataType, Truncate: bool) -> ir.Value:
    if Truncate and DstT.is_floating_point():
        raise t.fail("it drops the digits that don't fit; ONNX's Cast rounds", "cast without truncate")
    return t.cast(x, DstT)
