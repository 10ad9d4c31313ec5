"""Vectors of dims of which some are known: what chains of Shape, Gather, Concat and arithmetic make of a shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import onnx_ir as ir

__all__ = ["OpenDims"]

Dim = int | str | None
Dims = tuple[Dim, ...]
"""Flat, for scalars and vectors alike: numbers, the name of a dim or of a product of dims, None for anything else."""

_SOME_DIM = "?"
"""A dim, or a product of dims, without a name."""

_LIMIT = 64
"""Elements of a vector that is followed; shapes are shorter."""


class OpenDims:
    """The integer vectors and scalars of a model whose elements are known at least in part."""

    def __init__(self) -> None:
        self._known: dict[ir.Value, Dims] = {}

    def of(self, value: ir.Value | None) -> Dims | None:
        """The elements of a value; None when it is not followed."""
        if value is None:
            return None
        if value not in self._known and value.const_value is not None and not value.is_graph_input():
            tensor = value.const_value
            if tensor.dtype in (ir.DataType.INT64, ir.DataType.INT32) and tensor.size <= _LIMIT:
                self.know(value, np.asarray(tensor.numpy()))
        return self._known.get(value)

    def know(self, value: ir.Value, array: np.ndarray) -> None:
        """A value that is a constant by now."""
        if array.dtype.kind in "iu" and array.ndim <= 1 and array.size <= _LIMIT:
            self._known[value] = tuple(int(item) for item in array.ravel())

    def learn(self, node: ir.Node) -> None:
        """Follow one node."""
        rule = _RULES.get(node.op_type) if not node.domain else None
        made = rule(self, node) if rule else None
        if made is not None and len(made) <= _LIMIT:
            self._known[node.outputs[0]] = made

    def constant(self, node: ir.Node) -> np.ndarray | None:
        """The whole result of a node, when every element of it turned out to be known."""
        if len(node.outputs) != 1:
            return None
        value = node.outputs[0]
        dims = self._known.get(value)
        if dims is None or value.shape is None or value.dtype is None:
            return None
        numbers = [dim for dim in dims if isinstance(dim, int)]
        if len(numbers) != len(dims) or value.shape.rank() > 1:
            return None
        bounds = np.iinfo(value.dtype.numpy())
        if any(not bounds.min <= number <= bounds.max for number in numbers):
            return None  # wraps around: left to the runtime
        array = np.array(numbers, value.dtype.numpy())
        return array.reshape(()) if value.shape.rank() == 0 else array


def _shape(dims: OpenDims, node: ir.Node) -> Dims | None:
    data = node.inputs[0]
    if data is None or data.shape is None or not isinstance(data.type, ir.TensorType):
        return None
    whole = tuple(dim if isinstance(dim, int) else dim.value or _SOME_DIM for dim in data.shape)
    start = node.attributes["start"].as_int() if "start" in node.attributes else 0
    end = node.attributes["end"].as_int() if "end" in node.attributes else len(whole)
    return whole[slice(start, end)]


def _same(dims: OpenDims, node: ir.Node) -> Dims | None:
    return dims.of(node.inputs[0])


def _cast(dims: OpenDims, node: ir.Node) -> Dims | None:
    integers = (ir.DataType.INT64, ir.DataType.INT32)
    return dims.of(node.inputs[0]) if node.outputs[0].dtype in integers else None


def _reshape(dims: OpenDims, node: ir.Node) -> Dims | None:
    made = node.outputs[0]
    return dims.of(node.inputs[0]) if made.shape is not None and made.shape.rank() <= 1 else None


def _concat(dims: OpenDims, node: ir.Node) -> Dims | None:
    parts = [dims.of(value) for value in node.inputs]
    known = [part for part in parts if part is not None]
    return tuple(dim for part in known for dim in part) if len(known) == len(parts) else None


def _gather(dims: OpenDims, node: ir.Node) -> Dims | None:
    data, places = dims.of(node.inputs[0]), dims.of(node.inputs[1])
    if data is None or places is None:
        return None
    found: list[Dim] = []
    for place in places:
        if not isinstance(place, int) or not -len(data) <= place < len(data):
            return None
        found.append(data[place])
    return tuple(found)


def _slice(dims: OpenDims, node: ir.Node) -> Dims | None:
    data, start, end = (dims.of(value) for value in node.inputs[:3])
    step = dims.of(node.inputs[4]) if len(node.inputs) > 4 and node.inputs[4] is not None else (1,)
    bounds = [part[0] for part in (start, end, step) if part and len(part) == 1 and isinstance(part[0], int)]
    if data is None or len(bounds) != 3 or int(bounds[2] or 0) <= 0:
        return None
    return data[slice(*(int(bound or 0) for bound in bounds))]


def _arithmetic(
    compute: Callable[[int, int], int | None], open_as: Callable[[Dim, Dim], Dim] = lambda a, b: None
) -> Callable[[OpenDims, ir.Node], Dims | None]:
    def rule(dims: OpenDims, node: ir.Node) -> Dims | None:
        left, right = dims.of(node.inputs[0]), dims.of(node.inputs[1])
        if left is None or right is None or not (len(left) == len(right) or 1 in (len(left), len(right))):
            return None
        size = max(len(left), len(right)) if left and right else 0
        pairs = zip(left * size if len(left) == 1 else left, right * size if len(right) == 1 else right, strict=True)
        return tuple(
            _within(compute(a, b)) if isinstance(a, int) and isinstance(b, int) else open_as(a, b) for a, b in pairs
        )

    return rule


def _within(number: int | None) -> int | None:
    """Return an integer that int64 holds; squared again and again, others would fill the memory."""
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _product(a: Dim, b: Dim) -> Dim:
    """Dims multiplied by dims or by positive numbers are as good as dims: zero only when one of them is."""
    return _SOME_DIM if all(isinstance(x, str) or (isinstance(x, int) and x > 0) for x in (a, b)) else None


def _quotient(a: int, b: int) -> int | None:
    """Truncated, as ONNX divides integers."""
    return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_RULES: Mapping[str, Callable[[OpenDims, ir.Node], Dims | None]] = MappingProxyType(
    {
        "Add": _arithmetic(lambda a, b: a + b),
        "Cast": _cast,
        "Concat": _concat,
        "Div": _arithmetic(_quotient),
        "Gather": _gather,
        "Identity": _same,
        "Mul": _arithmetic(lambda a, b: a * b, _product),
        "Reshape": _reshape,
        "Shape": _shape,
        "Slice": _slice,
        "Squeeze": _reshape,
        "Sub": _arithmetic(lambda a, b: a - b),
        "Unsqueeze": _reshape,
    }
)
