"""Which operators carry an order of axes, and how: a rule for each `AxisOrder`. All others need the model's order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import onnx_ir as ir

from trueport.operators import order
from trueport.operators.record import Trait
from trueport.operators.table import OPERATORS, facts_of
from trueport.passes.layout import carry
from trueport.passes.layout.blocks import Reshaped
from trueport.passes.layout.plan import Rule

__all__ = ["CHANNELS", "RULES", "gains_from_channels_last"]

_RULE_OF: Mapping[type[order.AxisOrder], Callable[..., Rule]] = {
    order.Along: carry.Along,
    order.AlongInput: carry.AlongInput,
    order.Elementwise: carry.Elementwise,
    order.Gathered: carry.Gathered,
    order.Inserted: carry.Inserted,
    order.PerAxis: lambda blocks, **axes: carry.PerAxis(dict(blocks), **axes),
    order.Quantized: carry.Quantized,
    order.Reduced: carry.Reduced,
    order.Reshaped: Reshaped,
    order.ShapeOnly: carry.ShapeOnly,
    order.Sliced: carry.Sliced,
    order.Squeezed: carry.Squeezed,
}


def _rule(given: order.AxisOrder) -> Rule:
    fields: dict[str, Any] = vars(given)
    return _RULE_OF[type(given)](**fields)


RULES: Mapping[str, Rule] = MappingProxyType(
    {known.name: _rule(known.order) for known in OPERATORS.values() if known.order is not None and not known.domain}
)
"""ONNX's own operators without a channel axis, by name. Transpose has no rule: it is taken as a mere renaming."""

CHANNELS: Rule = carry.Channels()
"""For the operators that the target's handlers run channel-last."""


def gains_from_channels_last(node: ir.Node) -> bool:
    """Whether a handler that can run channel-last would have to transpose otherwise.

    The indifferent ones reduce or broadcast along any axis: they follow their neighbours.
    """
    return not facts_of(node).has(Trait.ANY_CHANNEL_AXIS)
