"""Shapes behind operators that broadcast, move, cut and reduce."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trueport.verifying.inputs.flow.flow import Call, Rule
from trueport.verifying.inputs.flow.known import (
    UNKNOWN,
    Known,
    Number,
    count_elements,
    has_gaps,
    is_varying,
    relation,
    remainder,
)

__all__ = ["SHAPE_RULES", "broadcast", "reduced"]


def broadcast(call: Call) -> Known:
    """Return the shape of all inputs together."""
    shapes = [call.input(index).shape for index in range(len(call.node.inputs)) if call.has(index)]
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes) or not known:
        return UNKNOWN
    return Known(_broadcast(call, known))


def _broadcast(call: Call, shapes: Sequence[Sequence[Number | None]]) -> tuple[Number | None, ...]:
    rank = max(len(shape) for shape in shapes)
    dims: list[Number | None] = []
    for axis in range(rank):
        total: Number | None = 1
        for shape in shapes:
            place = axis - rank + len(shape)
            total = _joined(call, total, shape[place]) if place >= 0 else total
        dims.append(total)
    return tuple(dims)


def _joined(call: Call, a: Number | None, b: Number | None) -> Number | None:
    if a is None or b is None:
        known = b if a is None else a
        return known if isinstance(known, int) and known > 1 else None
    if isinstance(a, int) and isinstance(b, int) and (a == b or b == 1):
        return a
    if isinstance(a, int) and a == 1:
        return b
    stretched = [is_varying(x) & (np.asarray(x) == 1) & (np.asarray(y) > 1) for x, y in ((a, b), (b, a))]
    call.flow.stretched = call.flow.stretched + (stretched[0] | stretched[1])
    call.decide("broadcast", stretched[0] * 1 + stretched[1] * 2)
    call.refuse((np.asarray(a) != b) & (np.asarray(a) != 1) & (np.asarray(b) != 1))
    return np.where(np.asarray(a) == 1, b, a)


def _same(call: Call) -> Sequence[Known]:
    return [Known(call.input(0).shape)] * len(call.node.outputs)


def _transpose(call: Call) -> Sequence[Known]:
    shape = call.input(0).shape
    if shape is None:
        return [UNKNOWN]
    return [Known(tuple(shape[axis] for axis in call.integers("perm", range(len(shape))[::-1])))]


def _reshape(call: Call) -> Sequence[Known]:
    held, asked = call.input(0), call.input(1).elements
    if asked is None:
        return [Known(None, held.elements)]
    dims = [_kept(call, held, axis, dim) for axis, dim in enumerate(asked)]
    open_at = [axis for axis, dim in enumerate(dims) if not isinstance(dim, np.ndarray) and dim == -1]
    total = count_elements(held.shape) if held.shape is not None and not has_gaps(held.shape) else None
    others = count_elements([dim for axis, dim in enumerate(dims) if axis not in open_at])
    if total is not None and not has_gaps(dims):
        if open_at:
            call.refuse((others <= 0) | (total % np.maximum(others, 1) != 0))
            dims[open_at[0]] = (total // np.maximum(others, 1)).astype(np.int64)
        else:
            call.refuse(total != others)
    elif open_at:
        dims[open_at[0]] = None
    for dim in dims:
        if is_varying(dim):
            call.decide("reshaped to", np.minimum(np.asarray(dim), 3))
    _note_factors(call, held, dims)
    return [Known(tuple(dims), held.elements)]


def _kept(call: Call, held: Known, axis: int, dim: Number) -> Number | None:
    if not isinstance(dim, np.ndarray) and dim == 0 and not call.integer("allowzero", 0):
        return held.shape[axis] if held.shape is not None and axis < len(held.shape) else None
    if isinstance(dim, np.ndarray) and dim.ndim == 0:
        return int(dim)
    if isinstance(dim, np.ndarray):
        return dim.astype(np.int64)
    return int(dim)


def _note_factors(call: Call, held: Known, dims: Sequence[Number | None]) -> None:
    """Factors that a dim is cut into."""
    if any(is_varying(dim) for dim in held.shape or ()):
        for dim in dims:
            if isinstance(dim, int):
                call.flow.note(dim)


def _flatten(call: Call) -> Sequence[Known]:
    shape = call.input(0).shape
    if shape is None or has_gaps(shape):
        return [Known((None, None))]
    axis = call.integer("axis", 1) % (len(shape) + 1) if call.integer("axis", 1) != len(shape) else len(shape)
    parts = (count_elements(shape[:axis]), count_elements(shape[axis:]))
    return [Known(tuple(np.asarray(part).astype(np.int64) for part in parts))]


def _unsqueeze(call: Call) -> Sequence[Known]:
    held, axes = call.input(0), call.parameters(1, "axes")
    if held.shape is None or axes is None:
        return [Known(None, held.elements)]
    shape: list[Number | None] = list(held.shape)
    for axis in sorted(int(axis) % (len(held.shape) + len(axes)) for axis in axes):
        shape.insert(axis, 1)
    return [Known(tuple(shape), held.elements, held.low, held.high)]


def _squeeze(call: Call) -> Sequence[Known]:
    held, axes = call.input(0), call.parameters(1, "axes")
    if held.shape is None or (axes is None and (call.has(1) or any(not isinstance(dim, int) for dim in held.shape))):
        return [Known(None, held.elements)]
    gone = {int(axis) % len(held.shape) for axis in axes} if axes is not None else None
    for axis in gone or ():
        call.refuse(np.asarray(1 if held.shape[axis] is None else held.shape[axis]) != 1)
    kept = [dim for axis, dim in enumerate(held.shape) if (axis not in gone if gone is not None else dim != 1)]
    return [Known(tuple(kept), held.elements, held.low, held.high)]


def _concat(call: Call) -> Sequence[Known]:
    shapes = [held.shape for held in call.inputs]
    known = [shape for shape in shapes if shape is not None]
    elements = [held.elements for held in call.inputs]
    joined = None
    if all(held.rank == 1 for held in call.inputs) and all(part is not None for part in elements):
        joined = tuple(element for part in elements for element in part or ())
    if len(known) < len(shapes) or not known:
        return [Known(None, joined)]
    axis = call.integer("axis", 0) % len(known[0])
    dims: list[Number | None] = []
    for place in range(len(known[0])):
        sizes = [shape[place] for shape in known]
        if place == axis:
            dims.append(None if has_gaps(sizes) else sum(size for size in sizes if size is not None))
        else:
            total = sizes[0]
            for size in sizes[1:]:
                total = call.agree(total, size)
            dims.append(total)
    return [Known(tuple(dims), joined)]


def _split(call: Call) -> Sequence[Known]:
    shape, count = call.input(0).shape, len(call.node.outputs)
    if shape is None:
        return [UNKNOWN] * count
    axis = call.integer("axis", 0) % len(shape)
    asked = call.integers("split") if "split" in call.node.attributes else call.input(1).elements
    size = shape[axis]
    if asked is not None:
        if size is not None:
            call.refuse(np.asarray(size) != sum(asked))
        parts: list[Number | None] = list(asked)
    elif size is None:
        parts = [None] * count
    else:
        if "num_outputs" not in call.node.attributes:
            call.refuse(np.asarray(size) % count != 0)
        call.flow.note(count)
        call.decide(f"split into {count}", remainder(size, count))
        chunk = -(-np.asarray(size) // count)
        parts = [chunk] * (count - 1) + [size - chunk * (count - 1)]
    return [Known((*shape[:axis], part, *shape[axis + 1 :])) for part in parts]


def _slice(call: Call) -> Sequence[Known]:
    held = call.input(0)
    if held.shape is None:
        return [UNKNOWN]
    names = ("", "starts", "ends", "axes", "steps")
    starts, ends = (
        call.integers(names[i]) if names[i] in call.node.attributes else call.input(i).elements for i in (1, 2)
    )
    axes, steps = (call.parameters(i, names[i]) for i in (3, 4))
    if starts is None or ends is None or (axes is None and call.has(3)) or (steps is None and call.has(4)):
        return [Known((None,) * len(held.shape))]
    axes = axes if axes is not None else list(range(len(starts)))
    dims: list[Number | None] = list(held.shape)
    for place, axis in enumerate(axes):
        size, step = dims[int(axis)], int(steps[place]) if steps else 1
        dims[int(axis)] = None if size is None else _cut(call, size, starts[place], ends[place], step)
    elements = None
    if held.elements is not None and held.rank == 1:
        elements = _cut_elements(held.elements, starts, ends, int(steps[0]) if steps else 1)
    return [Known(tuple(dims), elements, held.low, held.high)]


def _cut(call: Call, size: Number, start: Number, end: Number, step: int) -> Number:
    if is_varying(size):
        for bound in (start, end):
            if not is_varying(bound):
                number = abs(int(np.asarray(bound).flat[0]))
                call.flow.note(number)
                if 0 < number < 1 << 20:
                    call.decide(f"cut at {int(np.asarray(bound).flat[0])}", relation(size, number))
        if abs(step) > 1:
            call.flow.note(abs(step))
            call.decide(f"every {abs(step)}th", remainder(size, abs(step)))
    size, first, last = (np.asarray(x, np.float64) for x in (size, start, end))
    first, last = np.where(first < 0, first + size, first), np.where(last < 0, last + size, last)
    if step > 0:
        first, last = np.clip(first, 0, size), np.clip(last, 0, size)
    else:
        first, last = np.clip(first, 0, size - 1), np.clip(last, -1, size - 1)
    count = np.maximum(np.ceil((last - first) / step), 0).astype(np.int64)
    return int(count) if count.ndim == 0 else count


def _cut_elements(
    elements: Sequence[Number], starts: Sequence[Number], ends: Sequence[Number], step: int
) -> tuple[Number, ...] | None:
    if not len(starts):
        return tuple(elements)
    if is_varying(starts[0]) or is_varying(ends[0]):
        return None
    return tuple(elements[int(np.asarray(starts[0]).flat[0]) : int(np.asarray(ends[0]).flat[0]) : step])


def _gather(call: Call) -> Sequence[Known]:
    held, indices = call.input(0), call.input(1)
    if held.shape is None or indices.shape is None or not held.shape:
        return [UNKNOWN]
    axis = call.integer("axis", 0) % len(held.shape)
    size, bounds = held.shape[axis], indices.bounds
    if size is not None and bounds is not None:
        call.refuse((np.asarray(bounds[1]) >= size) | (np.asarray(bounds[0]) < -np.asarray(size)))
        if isinstance(size, int) and is_varying(bounds[1]):
            call.flow.note(size)
            used = np.asarray(bounds[1], np.float64) + 1
            call.decide(f"rows of a table of {size}", np.select([used >= size, used > size / 2], [2, 1], 0))
    constants = call.constants(1)
    elements = None
    if held.elements is not None and held.rank == 1 and constants is not None:
        inside = all(-len(held.elements) <= int(i) < len(held.elements) for i in constants)
        elements = tuple(held.elements[int(i)] for i in constants) if inside else None
    return [Known((*held.shape[:axis], *indices.shape, *held.shape[axis + 1 :]), elements)]


def _second(call: Call) -> Sequence[Known]:
    return [Known(call.input(1).shape)]


def _expand(call: Call) -> Sequence[Known]:
    held, asked = call.input(0), call.input(1).elements
    if held.shape is None or asked is None:
        return [UNKNOWN]
    return [Known(_broadcast(call, [held.shape, asked]), None, *(held.bounds or (None, None)))]


def _tile(call: Call) -> Sequence[Known]:
    shape, repeats = call.input(0).shape, call.input(1).elements
    if shape is None or repeats is None or len(repeats) != len(shape):
        return [UNKNOWN]
    return [Known(tuple(None if a is None else a * b for a, b in zip(shape, repeats, strict=True)))]


def _pad(call: Call) -> Sequence[Known]:
    shape = call.input(0).shape
    pads = call.integers("pads") if "pads" in call.node.attributes else call.input(1).elements
    axes = call.constants(3) if call.has(3) else None
    if shape is None or pads is None or (axes is None and call.has(3)):
        return [Known(None if shape is None else (None,) * len(shape))]
    places = [int(axis) % len(shape) for axis in axes] if axes is not None else list(range(len(shape)))
    dims: list[Number | None] = list(shape)
    for place, axis in enumerate(places):
        size, before, after = dims[axis], pads[place], pads[place + len(places)]
        if size is None:
            continue
        if call.text("mode", "constant") == "reflect":
            call.refuse((np.asarray(before) >= size) | (np.asarray(after) >= size))
        dims[axis] = size + before + after
    return [Known(tuple(dims))]


def reduced(call: Call) -> Sequence[Known]:
    """Return the shape behind a reduction along axes."""
    shape = call.input(0).shape
    if shape is None:
        return [UNKNOWN]
    single = call.node.op_type in ("ArgMax", "ArgMin")
    axes: Sequence[Any] | None = [call.integer("axis", 0)] if single else call.parameters(1, "axes")
    if axes is None and call.has(1):
        return [UNKNOWN]
    if not axes and call.integer("noop_with_empty_axes", 0):
        return [Known(shape)]
    gone = {int(axis) % max(len(shape), 1) for axis in axes} if axes else set(range(len(shape)))
    keeps = call.integer("keepdims", 1)
    return [Known(tuple(1 if axis in gone else dim for axis, dim in enumerate(shape) if keeps or axis not in gone))]


def _top(call: Call) -> Sequence[Known]:
    shape, count = call.input(0).shape, call.input(1).elements
    if shape is None or count is None:
        return [UNKNOWN] * 2
    axis = call.integer("axis", -1) % len(shape)
    if shape[axis] is not None:
        call.refuse(np.asarray(count[0]) > shape[axis])
        if is_varying(shape[axis]) and not is_varying(count[0]):
            call.decide("as many as are kept", relation(shape[axis], int(np.asarray(count[0]).flat[0])))
    return [Known((*shape[:axis], count[0], *shape[axis + 1 :]))] * 2


SHAPE_RULES: Mapping[str, Rule] = {
    "Transpose": _transpose,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Concat": _concat,
    "Split": _split,
    "Slice": _slice,
    "Gather": _gather,
    "GatherElements": _second,
    "Expand": _expand,
    "Tile": _tile,
    "Pad": _pad,
    "TopK": _top,
    **dict.fromkeys(("ArgMax", "ArgMin"), reduced),
    **dict.fromkeys(("ScatterND", "ScatterElements", "Trilu", "ReverseSequence"), _same),
}
