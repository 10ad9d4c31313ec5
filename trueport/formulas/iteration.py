"""Numbers that are refined step by step, all elements at once, until none changes: an ONNX Loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx_ir as ir

from trueport.formulas.writer import Writer

__all__ = ["any_of", "iterate"]

_MOST_TURNS = 1 << 20

Step = Callable[..., Sequence[ir.Value]]


def iterate(t: Writer, starts: Sequence[ir.Value], step: Step) -> list[ir.Value]:
    """The last values of what ``step`` makes of the first ones, all of one shape.

    ``step(t, turn, *values)`` builds in a graph of its own: it gets the turn, counted from zero, and gives whether
    there is another, then the next values.
    """
    turn = ir.Value(name="turn", type=ir.TensorType(ir.DataType.INT64), shape=ir.Shape([]))
    go_on = ir.Value(name="go_on", type=ir.TensorType(ir.DataType.BOOL), shape=ir.Shape([]))
    states = [ir.Value(name="state", type=start.type, shape=start.shape) for start in starts]
    body = t.inside([turn, go_on, *states])
    graph = body.close(step(body, turn, *states))
    made: tuple[ir.Value, ...] = t.op.several(len(starts)).Loop(_MOST_TURNS, np.array(True), *starts, body=graph)
    for value, start in zip(made, starts, strict=True):
        value.type, value.shape = start.type, start.shape
    return list(made)


def any_of(t: Writer, condition: ir.Value) -> ir.Value:
    """Whether it holds for any element; of no elements for none."""
    counted = t.op.ReduceMax(t.cast(condition, ir.DataType.UINT8), keepdims=0)
    return t.cast(counted, ir.DataType.BOOL)
