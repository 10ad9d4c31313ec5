"""Which operators carry an order of axes, and how: one rule per operator. All others need the model's order."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import onnx_ir as ir

from trueport.passes.layout.blocks import Reshaped
from trueport.passes.layout.carry import (
    Along,
    AlongInput,
    Channels,
    Elementwise,
    Gathered,
    Inserted,
    PerAxis,
    Quantized,
    Reduced,
    ShapeOnly,
    Sliced,
    Squeezed,
)
from trueport.passes.layout.plan import Rule

__all__ = ["CHANNELS", "RULES", "gains_from_channels_last"]

_ELEMENTWISE = """
    Abs Acos Acosh Add And Asin Asinh Atan Atanh BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast Ceil
    Celu Clip Cos Cosh Div Dropout Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish Identity
    IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or PRelu Pow Reciprocal Relu Round
    Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu Where Xor
"""
_REDUCED = """
    ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare
"""

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **dict.fromkeys(_ELEMENTWISE.split(), Elementwise()),
        **dict.fromkeys(_REDUCED.split(), Reduced()),
        "ArgMax": Along(0, keeps=False),
        "ArgMin": Along(0, keeps=False),
        "CastLike": Elementwise(operands=1),
        "Concat": Along(operands=None),
        "CumProd": AlongInput(1),
        "CumSum": AlongInput(1),
        "DequantizeLinear": Quantized(),
        "DynamicQuantizeLinear": Elementwise(results=1),
        "Flatten": Reshaped(),
        "Gather": Gathered(),
        "GatherElements": Along(0, operands=2),
        "Hardmax": Along(-1),
        "LogSoftmax": Along(-1),
        "LpNormalization": Along(-1),
        "Pad": PerAxis({1: 2}, axes_input=3),
        "QuantizeLinear": Quantized(),
        "Reshape": Reshaped(),
        "Resize": PerAxis({1: 2, 2: 1, 3: 1}, axes_attribute="axes"),
        "ScatterElements": Along(0, operands=3),
        "Shape": ShapeOnly(),
        "Size": ShapeOnly(counts=True),
        "Slice": Sliced(),
        "Softmax": Along(-1),
        "Split": Along(0),
        "Squeeze": Squeezed(),
        "Tile": PerAxis({1: 1}),
        "TopK": Along(-1),
        "Unsqueeze": Inserted(),
    }
)
"""ONNX's own operators without a channel axis, by name. Transpose has no rule: it is taken as a mere renaming."""

CHANNELS: Rule = Channels()
"""For the operators that the target's handlers run channel-last."""

_INDIFFERENT = frozenset(
    {
        "BatchNormalization",
        "GlobalAveragePool",
        "GlobalLpPool",
        "GlobalMaxPool",
        "GroupNormalization",
        "InstanceNormalization",
    }
)


def gains_from_channels_last(node: ir.Node) -> bool:
    """Whether a handler that can run channel-last would have to transpose otherwise.

    The indifferent ones reduce or broadcast along any axis: they follow their neighbours.
    """
    return bool(node.domain) or node.op_type not in _INDIFFERENT
