"""From a frontend's graph to an ONNX model that people keep: simplified, layouts settled."""

from __future__ import annotations

import onnx_ir as ir

from trueport.passes.fold import fold_constants
from trueport.passes.known import MAKE_KNOWN
from trueport.passes.layout import assign_layouts
from trueport.passes.layout.channel_first import CHANNEL_FIRST
from trueport.passes.layout.rules import RULES
from trueport.passes.merge import merge_equal
from trueport.passes.pass_list import EXACT, Fact, Pass, PassList
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
from trueport.passes.shapes import INFER_SHAPES
from trueport.passes.simplify import SIMPLIFY, simplify

__all__ = ["FOR_ONNX", "NEWEST_OPSET", "OLDEST_OPSET", "arrange_for_onnx"]

NEWEST_OPSET = 26
"""The newest that the current ONNX Runtime release (1.31) runs; some operators need an older one.

Its optimizations (Conv with BatchNormalization and Relu, Gelu, LayerNormalization, QDQ, transposes …) leave the same
graph at 26 as at 13 to 25. Seven operators lost their kernel with version 22, which only added bfloat16: GlobalLpPool,
MaxRoiPool, Multinomial, RandomNormal(Like), RandomUniform(Like), RoiAlign. A model with one of those gets opset 21.
"""
OLDEST_OPSET = 13
"""The oldest that can be written, and the one that is tried first where none is asked for."""


_NO_CHANNELS_LAST = {**RULES, **CHANNEL_FIRST}

FOR_ONNX = PassList(
    "To ONNX",
    (
        Pass("prune", prune, "first: a frontend builds results that no output needs"),
        Pass(
            "recognize quantization",
            recognize_quantization,
            "before constants are folded: they are its parameters",
            keeps=EXACT,
        ),
        INFER_SHAPES.at("a frontend's graph has the shapes of the moment in which each node was built"),
        MAKE_KNOWN.at("before simplifying, which looks at constants"),
        SIMPLIFY.at("before anything is recognized: patterns are written without nodes that do nothing"),
        Pass(
            "recognize recurrences",
            recognize_recurrences,
            "before dense layers: a cell's own products are part of its pattern",
            needs=(Fact.SHAPES, Fact.SIMPLE),
            keeps=EXACT,
        ),
        Pass(
            "store casts",
            store_casts,
            "after folding, which leaves weights alone; before patterns, which take a weight as it is stored",
            needs=(Fact.KNOWN,),
        ),
        Pass(
            "recognize dense layers",
            recognize_dense,
            "after recurrences, whose cells hold such products",
            needs=(Fact.SHAPES,),
            keeps=EXACT,
        ),
        Pass(
            "recognize activations",
            recognize_activations,
            "anywhere after simplifying",
            needs=(Fact.SIMPLE,),
            keeps=EXACT,
        ),
        Pass(
            "recognize normalizations",
            recognize_normalizations,
            "anywhere after simplifying, with shapes known",
            needs=(Fact.SHAPES, Fact.SIMPLE),
            keeps=EXACT,
        ),
        Pass(
            "recognize biases",
            recognize_biases,
            "before layouts: a convolution with its bias has no sum behind it that wants an order",
            needs=(Fact.SHAPES, Fact.SIMPLE),
            keeps=EXACT,
        ),
        Pass("prune", prune, "what was recognized has left its pattern behind, whose uses would count"),
        Pass(
            "store views",
            store_views,
            "before layouts: a view of a weight is stored as a weight, so that nothing is transposed at run time",
            needs=(Fact.KNOWN,),
        ),
        Pass(
            "assign layouts",
            lambda model: assign_layouts(model, lambda _: False, _NO_CHANNELS_LAST),
            "no operator of ONNX wants channel-last data: those with channels keep their order, all others follow them",
            needs=(Fact.SHAPES, Fact.SIMPLE),
            ensures=(Fact.LAYOUTS,),
            keeps=EXACT,
        ),
        Pass(
            "fold constants",
            fold_constants,
            "layouts move constants by nodes; a weight that is used in one order only is stored in it",
            needs=(Fact.LAYOUTS,),
        ),
        Pass("simplify", simplify, "layouts leave reshapes and transposes that do nothing", needs=(Fact.LAYOUTS,)),
        Pass(
            "recognize biases",
            recognize_biases,
            "again: a transpose between a convolution and its sum is gone",
            needs=(Fact.LAYOUTS, Fact.SHAPES),
            keeps=EXACT,
        ),
        Pass(
            "recognize global pools",
            recognize_global_pools,
            "after layouts: height and width are the last axes now",
            needs=(Fact.LAYOUTS, Fact.SHAPES),
            keeps=EXACT,
        ),
        Pass("store views", store_views, "again: layouts reshape weights that are broadcast", needs=(Fact.LAYOUTS,)),
        Pass("merge equal nodes", merge_equal, "after all patterns, which ask whether a value has a single user"),
        Pass(
            "spread scalars",
            spread_scalars,
            "after all that looks for scalars: it gives them axes, for the sake of ONNX Runtime",
            needs=(Fact.SHAPES, Fact.LAYOUTS),
        ),
        Pass("prune", prune, "last: what the passes before have left unused is dropped"),
    ),
    given=(Fact.ORIGINS, Fact.CANONICAL, Fact.INITIALIZERS),
)
"""What a frontend's graph goes through before it is written as ONNX."""


def arrange_for_onnx(model: ir.Model) -> None:
    """Drop what does nothing, know what can be known, cancel transposes, in place."""
    FOR_ONNX.run(model)
