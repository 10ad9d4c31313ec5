"""Vectors of dims: what is known of their elements before the model runs, and the few nodes that make them.

TensorFlow's graphs take shapes apart and put them together again (``Shape``, ``StridedSlice``, ``Pack``), in int32.
``elements`` looks through that at the nodes made so far, ``vector`` writes the result down anew, in int64.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from trueport.formulas.writer import Writer
from trueport.ir.build import known_array

__all__ = [
    "Dim",
    "Element",
    "Item",
    "dim_elements",
    "dim_vector",
    "divided",
    "elements",
    "multiplied",
    "reshaped",
    "shape_operand",
    "vector",
]

_WHOLE = (ir.DataType.INT32, ir.DataType.INT64)


@dataclass(frozen=True)
class Dim:
    """The size of a value's axis, known when the model runs."""

    value: ir.Value
    axis: int


@dataclass(frozen=True)
class Item:
    """One element of a vector, or a scalar, of which no more is known."""

    value: ir.Value
    index: int


Element = int | Dim | Item


def elements(value: ir.Value) -> list[Element] | None:
    """The elements of a vector (or a scalar's one) of integers; None where their number is not known."""
    known = None if value.meta.get("weight") else known_array(value)
    if known is not None:
        return [int(number) for number in known.ravel()]
    seen = _through(value)
    return _items(value) if seen is None else seen


def vector(t: Writer, parts: Sequence[Element]) -> ir.Value:
    """These elements as an int64 vector: a constant where all are known, ``Shape`` of the axes where they are dims."""
    runs = [list(run) for _, run in itertools.groupby(enumerate(parts), key=_run_key)]
    pieces = [_piece(t, [part for _, part in run]) for run in runs]
    if len(pieces) == 1:
        return pieces[0]
    return t.op.Concat(*pieces, axis=0) if pieces else t.op.const(np.zeros(0, np.int64))


def shape_operand(t: Writer, shape: ir.Value) -> ir.Value:
    """A vector of TensorFlow's as ONNX's operators take shapes."""
    parts = elements(shape)
    if parts is None:
        return t.int64(shape)
    whole = _whole_shape(shape)
    return vector(t, parts) if whole is None or _all_known(parts) else whole


def dim_vector(t: Writer, value: ir.Value) -> ir.Value:
    """A value's shape as an int64 vector; a constant where it is known."""
    dims = [None] if value.shape is None else t.dims(value)
    return t.op.Shape(value) if None in dims else t.op.const(np.array(dims, np.int64))


def dim_elements(t: Writer, value: ir.Value) -> list[Element]:
    """A value's dims: numbers where they are known."""
    return [Dim(value, axis) if dim is None else dim for axis, dim in enumerate(t.dims(value))]


def multiplied(t: Writer, part: Element, factor: Element) -> Element:
    """The product of two elements."""
    if isinstance(part, int) and isinstance(factor, int):
        return part * factor
    return Item(t.op.Mul(vector(t, [part]), vector(t, [factor])), 0)


def divided(t: Writer, part: Element, divisor: int) -> Element:
    """An element by a number that divides it."""
    return part // divisor if isinstance(part, int) else Item(t.op.Div(vector(t, [part]), [divisor]), 0)


def reshaped(t: Writer, value: ir.Value, dims: Sequence[Element]) -> ir.Value:
    """The value with these dims (-1: what is left), with as little computed as can be."""
    dims = _without_rest(t, value, dims)
    opens = [axis for axis, dim in enumerate(dims) if not isinstance(dim, int) or dim == -1]
    copied = [axis for axis in opens if dims[axis] == Dim(value, axis)]
    made: ir.Value
    if not opens or 0 in dims:
        made = t.op.Reshape(value, vector(t, dims), allowzero=1 if 0 in dims else None)
    elif len(opens) == 1:
        made = t.op.Reshape(value, vector(t, [-1 if axis in opens else dim for axis, dim in enumerate(dims)]))
    elif all(axis in copied or dims[axis] == -1 for axis in opens):
        made = t.op.Reshape(value, vector(t, [0 if axis in copied else dim for axis, dim in enumerate(dims)]))
    else:
        # A dim of zero that is computed is meant; without allowzero ONNX copies the input's.
        made = t.op.Reshape(value, vector(t, dims), allowzero=1)
    return made


def _without_rest(t: Writer, value: ir.Value, dims: Sequence[Element]) -> Sequence[Element]:
    """The dims with -1 replaced by what it is, where that is known although others may be 0.

    ONNX can't say what is left of nothing: 0 / 0 is refused when the model runs.
    """
    rest = [axis for axis, dim in enumerate(dims) if dim == -1]
    if value.shape is None or len(rest) != 1 or all(isinstance(dim, int) for dim in dims):
        return dims
    left = dim_elements(t, value)
    for dim in dims:
        if isinstance(dim, Dim) and dim in left:
            left.remove(dim)
        elif not isinstance(dim, int):
            return dims
    given = math.prod(dim for dim in dims if isinstance(dim, int) and dim != -1)
    known = math.prod(dim for dim in left if isinstance(dim, int))
    moving = [dim for dim in left if not isinstance(dim, int)]
    if len(moving) > 1 or not given or known % given:
        return dims
    found = multiplied(t, moving[0], known // given) if moving and known != given else (*moving, known // given)[0]
    return [found if axis == rest[0] else dim for axis, dim in enumerate(dims)]


def _whole_shape(shape: ir.Value) -> ir.Value | None:
    """The int64 vector that TensorFlow's int32 one is a copy of, where it is all of a value's shape."""
    node = shape.producer()
    source = node.inputs[0] if node is not None and node.op_type == "Cast" else shape
    maker = source.producer() if source is not None else None
    return source if maker is not None and maker.op_type == "Shape" else None


def _all_known(parts: Sequence[Element]) -> bool:
    return all(isinstance(part, int) for part in parts)


def _through(value: ir.Value) -> list[Element] | None:
    """The elements as the node that makes the value takes them from others; None where it computes them."""
    node = value.producer()
    data = node.inputs[0] if node is not None and node.inputs else None
    if node is None or data is None or value.dtype not in _WHOLE or not _is_flat(value):
        return None
    match node.op_type:
        case "Shape":
            return _dims(node, data)
        case "Size" if _rank(data) == 1:
            return [Dim(data, 0)]
        case "Cast" if data.dtype in _WHOLE:
            inner = elements(data)
            # Dims fit into int32; of other elements it is not known.
            return inner if inner and not any(isinstance(part, Item) for part in inner) else None
        case "Concat":
            listed = [elements(part) for part in node.inputs if part is not None]
            return None if None in listed else [part for inner in listed for part in inner or ()]
        case "Identity" | "Unsqueeze" | "Squeeze" | "Reshape" if _is_flat(data):
            return elements(data)
        case "Gather" if _rank(data) == 1:
            inner, indices = elements(data), known_array(node.inputs[1])
            return None if inner is None or indices is None else [inner[int(index)] for index in indices.ravel()]
        case "Slice" if _rank(data) == 1:
            return _sliced(node, elements(data))
    return None


def _dims(node: ir.Node, data: ir.Value) -> list[Element] | None:
    if data.shape is None:
        return None
    sizes = [dim if isinstance(dim, int) else Dim(data, axis) for axis, dim in enumerate(data.shape)]
    start = node.attributes.get_int("start", 0)
    end = node.attributes.get_int("end", len(sizes))
    return list(sizes[start:end])


def _sliced(node: ir.Node, inner: list[Element] | None) -> list[Element] | None:
    bounds = [known_array(bound) for bound in node.inputs[1:3]]
    step = known_array(node.inputs[4]) if len(node.inputs) > 4 else np.ones(1)
    if inner is None or step is None or any(bound is None for bound in bounds):
        return None
    start, end = (int(bound.item()) for bound in bounds if bound is not None)
    return inner[start:end] if step.item() == 1 else None


def _items(value: ir.Value) -> list[Element] | None:
    if value.shape is None or value.shape.rank() > 1:
        return None
    count = value.shape[0] if value.shape.rank() else 1
    return [Item(value, index) for index in range(count)] if isinstance(count, int) else None


def _run_key(numbered: tuple[int, Element]) -> tuple[object, ...]:
    """Neighbours with the same key are made by one node."""
    place, part = numbered
    match part:
        case Dim(value, axis):
            return ("dim", id(value), axis - place)
        case Item(value, index):
            return ("item", id(value), index - place)
    return ("number",)


def _piece(t: Writer, run: list[Element]) -> ir.Value:
    made: ir.Value
    match run[0]:
        case Dim(value, axis):
            whole = len(run) == t.rank(value)
            limits = {} if whole else {"start": axis, "end": axis + len(run)}
            made = t.op.Shape(value, **limits)
        case Item(value, _):
            made = t.int64(_taken(t, value, [part.index for part in run if isinstance(part, Item)]))
        case _:
            made = t.op.const(np.array(run, np.int64))
    return made


def _taken(t: Writer, value: ir.Value, indices: list[int]) -> ir.Value:
    made: ir.Value
    if not t.rank(value):
        made = t.op.Unsqueeze(value, [0])
    elif t.dims(value) == (len(indices),):
        made = value
    else:
        made = t.op.Gather(value, indices, axis=0)
    return made


def _rank(value: ir.Value) -> int | None:
    return value.shape.rank() if value.shape is not None else None


def _is_flat(value: ir.Value) -> bool:
    return _rank(value) in (0, 1)
