"""One way in which a node could have been misread, and what it would give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.ir.schemas import canonical_schema
from trueport.reference.walk import Hypothesis, NodeCase

__all__ = ["Rule", "altered", "formal", "own_type", "replaced", "text", "with_input", "with_inputs"]


Rule = Callable[[NodeCase], Iterator[Hypothesis]]


def altered(case: NodeCase, **attributes: Any) -> Callable[[], Any]:
    """The node with other attributes (None removes one), on the same inputs."""
    return lambda: _output(case, _copy(case.node, case.node.op_type, attributes), case.inputs)


def replaced(case: NodeCase, op: str, inputs: Sequence[Any], **attributes: Any) -> Callable[[], Any]:
    """Another operator on these inputs; its attributes are only those that are given."""
    return lambda: case.again(_fresh(op, len(inputs), attributes), list(inputs))[0]


def with_inputs(case: NodeCase, inputs: Sequence[Any]) -> Callable[[], Any]:
    """The node on other inputs."""
    return lambda: _output(case, _copy(case.node, case.node.op_type, {}), inputs)


def with_input(case: NodeCase, index: int, array: Any) -> Callable[[], Any]:
    """The node with one input exchanged."""
    return with_inputs(case, [array if place == index else given for place, given in enumerate(case.inputs)])


def formal(node: ir.Node, index: int) -> str:
    """What the schema calls an input."""
    schema = canonical_schema(node.op_type, node.domain)
    return schema.inputs[min(index, len(schema.inputs) - 1)].name if schema and schema.inputs else f"input {index}"


def own_type(value: ir.Value, array: Any) -> Any:
    """The source's own array again: it was widened to be evaluated."""
    if value.dtype is None or value.dtype == ir.DataType.STRING or not isinstance(array, (np.ndarray, np.generic)):
        return array
    return np.asarray(array).astype(value.dtype.numpy())


def _output(case: NodeCase, node: ir.Node, inputs: Sequence[Any]) -> Any:
    names = [value.name for value in case.node.outputs]
    return case.again(node, list(inputs))[names.index(case.output)]


def _copy(node: ir.Node, op: str, attributes: dict[str, Any]) -> ir.Node:
    """A node outside of any graph that says the same, but for some attributes."""
    kept = {name: attr for name, attr in node.attributes.items() if name not in attributes}
    made = _fresh(op, 0, {name: value for name, value in attributes.items() if value is not None})
    inputs = [None if v is None else ir.Value(name=v.name, type=v.type, shape=v.shape) for v in node.inputs]
    outputs = [ir.Value(name=v.name, type=v.type) for v in node.outputs]
    return ir.Node(node.domain, op, inputs, [*kept.values(), *made.attributes.values()], outputs=outputs)


def _fresh(op: str, inputs: int, attributes: dict[str, Any]) -> ir.Node:
    return ir.node(
        op, [ir.Value(name=f"in{index}") for index in range(inputs)], attributes, outputs=[ir.Value(name="out")]
    )


def text(value: Any) -> str:
    """A number or a list, short enough for a sentence."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, float):
        return f"{value:g}"
    words = str(value)
    return words if len(words) <= 60 else words[:57] + "…"
