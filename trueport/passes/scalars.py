"""Single numbers beside pictures of one pixel get as many axes as these.

ONNX Runtime 1.31 walks over ``[N, C, 1, 1]`` element by element when the other operand has fewer axes, and in one go
when it has as many: for 1024 channels 16 µs against 2. The numbers are the same.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.operators.record import Trait
from trueport.operators.table import facts_of
from trueport.passes.layout.workshop import Workshop

__all__ = ["spread_scalars"]


def spread_scalars(model: ir.Model) -> int:
    """Store such numbers with more axes, in place; how many uses were changed."""
    shop = Workshop(model)
    made: dict[tuple[ir.Value, int], ir.Value] = {}
    found = 0
    for node in model.graph.all_nodes():
        if not facts_of(node).has(Trait.ARITHMETIC) or len(node.inputs) != 2:
            continue
        for place, (scalar, data) in enumerate((node.inputs, node.inputs[::-1])):
            rank = _rank_beside(scalar, data)
            if rank is None or scalar is None:
                continue
            if (scalar, rank) not in made:
                made[scalar, rank] = _spread(scalar, rank, model.graph, shop)
            node.replace_input_with(place, made[scalar, rank])
            found += 1
    return found


def _rank_beside(scalar: ir.Value | None, data: ir.Value | None) -> int | None:
    """How many axes a number should have; None where it does not matter, or for what is no number."""
    if scalar is None or scalar.const_value is None or scalar.is_graph_input() or scalar.const_value.size != 1:
        return None
    if data is None or data.shape is None or data.const_value is not None:
        return None
    rank = data.shape.rank()
    return rank if rank > max(1, len(scalar.const_value.shape)) and data.shape[-1] == 1 else None


def _spread(scalar: ir.Value, rank: int, graph: ir.Graph, shop: Workshop) -> ir.Value:
    assert scalar.const_value is not None
    array = np.asarray(scalar.const_value.numpy()).reshape([1] * rank)
    return shop.constant(graph, f"{scalar.name}.spread", array)
