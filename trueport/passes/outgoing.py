"""From a frontend's graph to an ONNX model that people keep: simplified, layouts settled."""

from __future__ import annotations

import onnx_ir as ir

from trueport.passes.fold import fold_constants
from trueport.passes.fuse import simplify
from trueport.passes.known import make_known
from trueport.passes.layout import assign_layouts
from trueport.passes.layout.channel_first import CHANNEL_FIRST
from trueport.passes.layout.rules import RULES
from trueport.passes.merge import merge_equal
from trueport.passes.prune import prune
from trueport.passes.recognize.activation import recognize_activations
from trueport.passes.recognize.bias import recognize_biases
from trueport.passes.recognize.dense import recognize_dense
from trueport.passes.recognize.normalization import recognize_normalizations
from trueport.passes.recognize.pooling import recognize_global_pools
from trueport.passes.recognize.quantize import recognize_quantization
from trueport.passes.recognize.recurrent import recognize_recurrences
from trueport.passes.recognize.views import store_casts, store_views
from trueport.passes.scalars import spread_scalars
from trueport.passes.shapes import infer_shapes

__all__ = ["NEWEST_OPSET", "OLDEST_OPSET", "arrange_for_onnx"]

NEWEST_OPSET = 26
"""The newest that the current ONNX Runtime release (1.31) runs; some operators need an older one.

Its optimizations (Conv with BatchNormalization and Relu, Gelu, LayerNormalization, QDQ, transposes …) leave the same
graph at 26 as at 13 to 25. Seven operators lost their kernel with version 22, which only added bfloat16: GlobalLpPool,
MaxRoiPool, Multinomial, RandomNormal(Like), RandomUniform(Like), RoiAlign. A model with one of those gets opset 21.
"""
OLDEST_OPSET = 13
"""The oldest that can be written, and the one that is tried first where none is asked for."""


def arrange_for_onnx(model: ir.Model) -> None:
    """Drop what does nothing, know what can be known, cancel transposes, in place."""
    prune(model)
    recognize_quantization(model)
    infer_shapes(model)
    make_known(model)
    simplify(model)
    recognize_recurrences(model)
    store_casts(model)
    recognize_dense(model)
    recognize_activations(model)
    recognize_normalizations(model)
    recognize_biases(model)
    prune(model)
    store_views(model)
    # No operator of ONNX wants channel-last data: those with channels keep their order, all others follow them.
    assign_layouts(model, lambda _: False, {**RULES, **CHANNEL_FIRST})
    fold_constants(model)
    simplify(model)
    recognize_biases(model)
    recognize_global_pools(model)
    store_views(model)
    merge_equal(model)
    spread_scalars(model)
    prune(model)
