"""Scan had a batch before 9."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
from onnx_ir import Value

from trueport.passes.upgrade.adapt import AdapterBuilder, upgrades

__all__: list[str] = []


@upgrades("Scan", 8, 9)
def scan_8_to_9(
    op: AdapterBuilder,
    sequence_lens: Value | None,
    *values: Value,
    body: ir.Graph,
    num_scan_inputs: int,
    directions: list[int] | None,
) -> Any:
    """A scan over the batch, whose body is the scan over the sequence."""
    lengths = [] if sequence_lens is None else [sequence_lens]
    name = op.node.outputs[0].name
    formal = [_row(value, f"{name}.row.{i}") for i, value in enumerate([*lengths, *values])]
    inner = AdapterBuilder(op.node, 9)
    outputs = _one_sequence(inner, formal, bool(lengths), body, num_scan_inputs, directions)
    for i, value in enumerate(value for node in inner.made for value in node.outputs):
        value.name = f"{name}.of_row.{i}"
    states = len(values) - num_scan_inputs
    for i, (value, of_body) in enumerate(zip(outputs, body.outputs, strict=True)):
        value.type = of_body.type
        if of_body.shape is not None:
            value.shape = ir.Shape([*([None] if i >= states else []), *of_body.shape])
    rows = ir.Graph(formal, outputs, nodes=inner.made, name=f"{body.name}.rows")
    return op.again(*lengths, *values, body=rows, num_scan_inputs=len(formal))


def _row(value: Value, name: str) -> Value:
    shape = None if value.shape is None else ir.Shape(list(value.shape)[1:])
    return Value(name=name, type=value.type, shape=shape)


def _one_sequence(
    op: AdapterBuilder,
    formal: list[Value],
    has_length: bool,
    body: ir.Graph,
    num_scan_inputs: int,
    directions: list[int] | None,
) -> list[Value]:
    """The original scan; a sequence with a length is cut to it, and what it gives is filled up with zeros."""
    values = formal[1:] if has_length else formal
    states, sequences = values[: len(values) - num_scan_inputs], values[len(values) - num_scan_inputs :]
    attributes = {"body": body, "num_scan_inputs": num_scan_inputs, "scan_input_directions": directions}
    count = len(op.node.outputs)
    if not has_length:
        return list(op.several(count).Scan(*values, **attributes))
    new = op.at(13)
    length = new.Reshape(formal[0], op.const([1]))
    cut = [new.Slice(value, op.const([0]), length, op.const([0])) for value in sequences]
    made = op.several(count).Scan(*states, *cut, **attributes)
    missing = new.Sub(new.at(15).Shape(sequences[0], end=1), length)
    filled = [_filled(new, value, missing) for value in made[len(states) :]]
    return [*made[: len(states)], *filled]


def _filled(op: AdapterBuilder, value: Value, missing: Value) -> Value:
    """``value`` with this many more rows of zeros."""
    others = op.Slice(op.Shape(value), op.const([1]), op.const([np.iinfo(np.int64).max]))
    zero = op.at(15).CastLike(op.const(np.float32(0)), value)
    return op.Concat(value, op.Expand(zero, op.Concat(missing, others, axis=0)), axis=0)
