"""Loops that a handler writes itself: a step in Python, done by ONNX's Loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx_ir as ir

from trueport.formulas.writer import Writer

__all__ = ["repeated", "repeated_while"]

Step = Callable[[Writer, ir.Value, list[ir.Value]], Sequence[ir.Value]]
"""From the body's translation, the number of the step and the values before it to the values after it."""


def repeated(t: Writer, count: ir.Value | int, values: Sequence[ir.Value], step: Step) -> list[ir.Value]:
    """The values after so many steps; they keep their shapes."""
    return _loop(t, t.op.const(np.array(count, np.int64)) if isinstance(count, int) else count, values, step)


def repeated_while(t: Writer, values: Sequence[ir.Value], step: Step, limit: int | None = None) -> list[ir.Value]:
    """The values once the first of them, a truth value, is no longer true; ``limit`` steps at most."""
    return _loop(t, None if limit is None else t.op.const(np.array(limit, np.int64)), values, step, conditional=True)


def _loop(
    t: Writer, count: ir.Value | None, values: Sequence[ir.Value], step: Step, conditional: bool = False
) -> list[ir.Value]:
    index = ir.Value(name="step", type=ir.TensorType(ir.DataType.INT64), shape=ir.Shape([]))
    going = ir.Value(name="going", type=ir.TensorType(ir.DataType.BOOL), shape=ir.Shape([]))
    carried = [ir.Value(name="carried", type=value.type, shape=value.shape) for value in values]
    body = t.inside([index, going, *carried])
    after = list(step(body, index, carried))
    graph = body.close([body.op.Identity(after[0]) if conditional else body.op.Identity(going), *after])
    made = t.op.several(len(values)).Loop(count, values[0] if conditional else None, *values, body=graph)
    for result, value in zip(made, values, strict=True):
        result.type, result.shape = value.type, value.shape
    return list(made)
