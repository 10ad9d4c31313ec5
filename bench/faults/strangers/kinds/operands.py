"""Operands: swapped, left out, of another value; indices, bounds and axes that are inputs."""

from __future__ import annotations

import functools

import numpy as np
from onnx import helper
from onnx.defs import OpSchema

from bench.faults.strangers.kind import Change, Collector, name_formal, name_words
from bench.faults.strangers.schemas import operators_with_input
from bench.faults.strangers.site import FLOATS, INTEGERS, Site

__all__ = ["KINDS"]

_collect = Collector()
_WIRING = (
    r"\boperand",
    r"\bswap",
    r"\bexchang",
    r"\border\b",
    r"(another|other|wrong|earlier|stale) (value|input|tensor)",
)


@_collect("inputs_swapped", None)
def swap_inputs(site: Site) -> Change | None:
    """Exchange two operands of equal type and shape."""
    if site.op in ("Concat", "If", "Loop", "Scan"):
        return None
    known = [(slot, site.input(slot)) for slot in range(len(site.node.input))]
    pairs = [
        (i, j)
        for i, a in known
        for j, b in known[:i]
        if a is not None and a == b and site.node.input[i] != site.node.input[j]
    ]
    chosen = site.pick(pairs)
    if chosen is None:
        return None
    i, j = chosen
    site.node.input[i], site.node.input[j] = site.node.input[j], site.node.input[i]
    return Change(
        f"inputs {j} and {i} are swapped", (*_WIRING, *name_formal(site.formal(i)), *name_formal(site.formal(j)))
    )


@_collect("inputs_swapped_by_broadcast", {"Sub", "Div", "Pow", "Mod", "Less", "Greater", "BitShift", "MatMul", "Gemm"})
def swap_broadcast(site: Site) -> Change | None:
    """Exchange the operands of an operator that does not commute, whatever their shapes."""
    site.node.input[0], site.node.input[1] = site.node.input[1], site.node.input[0]
    return Change("both operands are swapped", _WIRING)


@_collect("optional_input_dropped", operators_with_input((), optional=True))
def drop_optional(site: Site) -> Change | None:
    schema = site.schema
    if schema is None:
        return None
    optional = [
        slot
        for slot, item in enumerate(schema.inputs[: len(site.node.input)])
        if item.option == OpSchema.FormalParameterOption.Optional and site.node.input[slot]
    ]
    slot = site.pick(optional)
    if slot is None:
        return None
    name = site.formal(slot)
    site.node.input[slot] = ""
    while site.node.input and not site.node.input[-1]:
        del site.node.input[-1]
    roles = ("bias",) if name in ("B", "C", "bias") else ()
    return Change(f"optional input {name} is left out", name_formal(name, roles))


@_collect("stale_input", None)
def read_stale(site: Site) -> Change | None:
    """Let an operand read an earlier value of the same shape and type."""
    moves = []
    for slot in range(len(site.node.input)):
        tensor, old = site.input(slot), site.node.input[slot]
        if tensor is None or site.constant(slot) is not None:
            continue
        moves += [(slot, name) for name in site.visible_before() if name != old and site.tensor(name) == tensor]
    chosen = site.pick(moves)
    if chosen is None:
        return None
    slot, name = chosen
    old = site.node.input[slot]
    site.node.input[slot] = name
    return Change(
        f"input {slot} reads {name} in place of {old}",
        (*_WIRING, *name_formal(name, ()), *name_formal(site.formal(slot))),
    )


@_collect("constant_of_another_node", None)
def take_other_constant(site: Site) -> Change | None:
    """Let an operand read another initializer of the same shape and type: weights of two layers are mixed up."""
    moves = []
    for slot, array in site.constants():
        if array.size < 2 or array.dtype.kind not in "fiu":
            continue
        for tensor in site.model.graph.initializer:
            other = site.constant_named(tensor.name)
            same = other is not None and other.shape == array.shape and other.dtype == array.dtype
            if other is not None and same and not np.array_equal(other, array):
                moves.append((slot, tensor.name))
    chosen = site.pick(moves)
    if chosen is None:
        return None
    slot, name = chosen
    site.node.input[slot] = name
    roles = ("weight", "kernel", "constant", "operand", "initializer", "bias", "scale")
    return Change(f"input {slot} reads {name}", name_formal(site.formal(slot), roles))


@_collect("where_branches_swapped", {"Where"})
def swap_where(site: Site) -> Change | None:
    site.node.input[1], site.node.input[2] = site.node.input[2], site.node.input[1]
    return Change("the branches of Where are swapped", (*_WIRING, r"\bbranch", r"\bcondition", r"\bnegat", r"\binver"))


@_collect("concat_order", {"Concat", "SequenceConstruct"})
def reorder_concat(site: Site) -> Change | None:
    if len(set(site.node.input)) < 2:
        return None
    names = list(site.node.input)
    i = int(site.rng.integers(len(names) - 1))
    names[i], names[i + 1] = names[i + 1], names[i]
    del site.node.input[:]
    site.node.input.extend(names)
    return Change("two parts are concatenated in the other order", _WIRING)


@_collect(
    "outputs_swapped", {"Split", "LSTM", "GRU", "RNN", "Loop", "Scan", "If", "TopK", "Unique", "DynamicQuantizeLinear"}
)
def swap_outputs(site: Site) -> Change | None:
    """Exchange two outputs of equal type and shape."""
    known = [(slot, site.output(slot)) for slot in range(len(site.node.output))]
    pairs = [(i, j) for i, a in known for j, b in known[:i] if a is not None and a == b]
    chosen = site.pick(pairs)
    if chosen is None:
        return None
    i, j = chosen
    site.node.output[i], site.node.output[j] = site.node.output[j], site.node.output[i]
    return Change(f"outputs {j} and {i} are swapped", (r"\bswap", r"\bexchang", r"\border\b"))


@_collect("index_off_by_one", operators_with_input(("indices",)) - {"MaxUnpool", "Unique", "OneHot"})
def shift_indices(site: Site) -> Change | None:
    slot = site.slot_of("indices")
    tensor = site.input(slot) if slot is not None else None
    if slot is None or tensor is None or tensor.dtype not in INTEGERS:
        return None
    by = int(site.pick([-1, 1]))
    one = site.add_constant(np.asarray(by, helper.tensor_dtype_to_np_dtype(tensor.dtype)))
    site.before(slot, "Add", one)
    return Change(f"indices are shifted by {by}", (*name_words("indices", "index"), r"\boff by one", r"\bshift"))


def _shift_bound(site: Site, names: tuple[str, ...], by: tuple[int, ...]) -> Change | None:
    """Change one entry of one of the named constant operands."""
    slots = [slot for name in names if (slot := site.slot_of(name)) is not None]
    slot = site.pick([slot for slot in slots if (array := site.constant(slot)) is not None and array.size])
    if slot is None:
        return None
    array = np.array(site.constant(slot))
    at = int(site.rng.integers(array.size))
    array.reshape(-1)[at] += site.pick(by)
    site.set_constant(slot, array)
    name = site.formal(slot)
    return Change(
        f"{name} becomes {array.tolist()}", name_formal(name, ("off by one", *(["pad"] if name == "pads" else [])))
    )


for _kind, _operators, _names in (
    ("slice_bound_off_by_one", {"Slice"}, ("starts", "ends")),
    ("slice_step_changed", {"Slice"}, ("steps",)),
    ("pad_amount_off_by_one", {"Pad"}, ("pads",)),
    ("repeats_changed", {"Tile", "Expand"}, ("repeats", "shape")),
    (
        "count_operand_off_by_one",
        {"TopK", "OneHot", "NonMaxSuppression", "Trilu", "Range", "DFT", "STFT"},
        ("K", "depth", "max_output_boxes_per_class", "k", "limit", "start", "delta", "frame_step", "dft_length"),
    ),
):
    _collect.add(_kind, _operators, functools.partial(_shift_bound, names=_names, by=(-1, 1)))


@_collect("split_sizes_moved", {"Split"})
def move_split(site: Site) -> Change | None:
    """Make one part one larger and another one smaller."""
    sizes = site.constant(1)
    if sizes is None or sizes.size < 2:
        return None
    new = np.array(sizes)
    i, j = site.rng.choice(new.size, 2, replace=False)
    new[i] += 1
    new[j] -= 1
    site.set_constant(1, new)
    return Change(f"split becomes {new.tolist()}", (*name_words("split"), r"\bsizes?\b", r"\boff by one"))


@_collect("slice_window_moved", {"Slice"})
def move_slice(site: Site) -> Change | None:
    """Shift start and end alike: the shape stays."""
    starts, ends = site.constant(1), site.constant(2)
    if starts is None or ends is None:
        return None
    at, by = int(site.rng.integers(starts.size)), int(site.pick([-1, 1]))
    starts, ends = np.array(starts), np.array(ends)
    starts[at] += by
    ends[at] += by
    site.set_constant(1, starts)
    site.set_constant(2, ends)
    return Change(
        f"the slice is moved by {by}", (*name_words("starts", "ends", "start", "end"), r"\bshift", r"\boff by one")
    )


@_collect("axes_operand_changed", operators_with_input(("axes", "axis")))
def change_axes(site: Site) -> Change | None:
    """Work over another axis, where axes are an operand: reductions, Squeeze, CumSum, Slice, DFT."""
    slot = site.slot_of("axes")
    slot = site.slot_of("axis") if slot is None else slot
    axes = site.constant(slot) if slot is not None else None
    tensor = site.input(0)
    if slot is None or axes is None or tensor is None or not tensor.shape or axes.dtype.kind not in "iu":
        return None
    rank = len(tensor.shape)
    taken = {int(axis) % rank for axis in axes.reshape(-1)}
    new = site.pick([axis for axis in range(rank) if axis not in taken])
    if new is None or not axes.size:
        return None
    changed = np.array(axes)
    changed.reshape(-1)[int(site.rng.integers(axes.size))] = new
    site.set_constant(slot, changed)
    return Change(f"axes become {changed.tolist()}", name_words("axes", "axis"))


@_collect("axes_operand_widened", operators_with_input(("axes",)) - {"Squeeze", "Unsqueeze", "Slice", "Pad"})
def widen_axes(site: Site) -> Change | None:
    """Reduce over one axis more, or one less."""
    slot, tensor = site.slot_of("axes"), site.input(0)
    axes = site.constant(slot) if slot is not None else None
    if slot is None or axes is None or tensor is None or not tensor.shape:
        return None
    taken = [int(axis) % len(tensor.shape) for axis in axes.reshape(-1)]
    free = [axis for axis in range(len(tensor.shape)) if axis not in taken]
    new = taken[:-1] if len(taken) > 1 and (not free or site.rng.random() < 0.5) else [*taken, *free[:1]]
    site.set_constant(slot, np.asarray(new, np.int64))
    return Change(f"axes become {new}", name_words("axes", "axis"))


@_collect("reshape_of_transposed", {"Reshape", "Flatten"})
def reshape_transposed(site: Site) -> Change | None:
    """Reshape what was transposed first: the same shape, elements in another order."""
    tensor = site.input(0)
    if (
        tensor is None
        or tensor.shape is None
        or sum(size > 1 for size in tensor.shape) < 2
        or tensor.dtype not in FLOATS
    ):
        return None
    rank = len(tensor.shape)
    i, j = site.pick([(i, j) for i in range(rank) for j in range(i) if tensor.shape[i] > 1 and tensor.shape[j] > 1])
    perm = list(range(rank))
    perm[i], perm[j] = perm[j], perm[i]
    shape = site.insert("Shape", [site.node.input[0]])
    site.before(0, "Transpose", perm=perm)
    site.before(0, "Reshape", shape)
    return Change(
        f"elements are read with axes {j} and {i} exchanged",
        (r"\btranspos", r"\bperm", r"\border", r"\blayout", r"\brow-major|column-major"),
    )


@_collect("reshape_in_place_of_transpose", {"Transpose"})
def reshape_instead(site: Site) -> Change | None:
    tensor = site.output()
    if tensor is None or not tensor.shape:
        return None
    perm = site.attribute("perm") or list(range(len(tensor.shape)))[::-1]
    shape = site.insert("Shape", [site.node.input[0]])
    order = site.add_constant(np.asarray(perm, np.int64))
    site.become("Reshape", [site.node.input[0], site.insert("Gather", [shape, order])])
    return Change("the shape is changed, elements stay in order", (r"\breshape", r"\btranspos", r"\bperm", r"\border"))


@_collect("transpose_perm_changed", {"Transpose"})
def change_perm(site: Site) -> Change | None:
    """Exchange two axes of the permutation, of equal size where there are such."""
    tensor = site.output()
    if tensor is None or tensor.shape is None or len(tensor.shape) < 2:
        return None
    rank = len(tensor.shape)
    perm = list(site.attribute("perm") or range(rank)[::-1])
    pairs = [(i, j) for i in range(rank) for j in range(i)]
    i, j = site.pick([p for p in pairs if tensor.shape[p[0]] == tensor.shape[p[1]] > 1] or pairs)
    perm[i], perm[j] = perm[j], perm[i]
    site.set_attribute("perm", perm)
    return Change(f"perm becomes {perm}", (*name_words("perm"), r"\bpermut", r"\btranspos", r"\baxes\b"))


_BOUNDS = ("min", "max")


@_collect("clip_bound_changed", {"Clip"})
def change_bound(site: Site) -> Change | None:
    return _scale_operand(site, _BOUNDS, (0.5, 0.9, 1.1))


@_collect("threshold_changed", operators_with_input(("iou_threshold", "score_threshold")))
def change_threshold(site: Site) -> Change | None:
    return _scale_operand(site, ("iou_threshold", "score_threshold"), (0.5, 0.9, 1.2, 1.5))


@_collect("pad_value_changed", {"Pad"})
def change_pad_value(site: Site) -> Change | None:
    slot, tensor = site.slot_of("constant_value"), site.input(0)
    if tensor is None or tensor.dtype not in FLOATS or site.attribute("mode") not in (None, b"constant"):
        return None
    if slot is None:
        while len(site.node.input) < 3:
            site.node.input.append("")
        slot = 2
    old = site.constant(slot)
    new = np.asarray(
        1.0 if old is None else float(np.reshape(old, -1)[0]) + 1.0, helper.tensor_dtype_to_np_dtype(tensor.dtype)
    )
    site.set_constant(slot, new)
    return Change(f"constant_value becomes {new}", (*name_words("constant_value"), r"\bpad"))


def _scale_operand(site: Site, names: tuple[str, ...], factors: tuple[float, ...]) -> Change | None:
    slots = [slot for name in names if (slot := site.slot_of(name)) is not None]
    slot = site.pick([slot for slot in slots if (array := site.constant(slot)) is not None and np.any(array)])
    if slot is None:
        return None
    array = site.constant(slot)
    assert array is not None
    new = np.asarray(array * site.pick(factors)).astype(array.dtype)
    site.set_constant(slot, new)
    name = site.formal(slot)
    return Change(
        f"{name}: {array.tolist()} becomes {new.tolist()}",
        (*name_words(name), r"\bbound", r"\bthreshold", r"\boperand", r"\bclip(s|ped)? (to|at)"),
    )


@_collect("one_hot_values_swapped", {"OneHot"})
def swap_one_hot(site: Site) -> Change | None:
    values = site.constant(2)
    if values is None:
        return None
    site.set_constant(2, values[::-1])
    return Change("on and off values are swapped", (*name_formal("values"), r"\bswap", r"\bexchang", r"\boperand"))


@_collect("tile_as_repeat", {"Tile"})
def repeat_each(site: Site) -> Change | None:
    """Repeat each element in place of the whole: a b a b becomes a a b b."""
    repeats, tensor = site.constant(1), site.input(0)
    if repeats is None or tensor is None or tensor.shape is None:
        return None
    axis = site.pick([n for n, times in enumerate(repeats) if times > 1 and tensor.shape[n] > 1])
    if axis is None:
        return None
    order = np.tile(np.arange(tensor.shape[axis]), int(repeats[axis]))
    site.after("Gather", site.add_constant(np.argsort(order, kind="stable").astype(np.int64)), axis=axis)
    return Change("elements are repeated one by one", (r"\brepeat", r"\binterleav", r"\border", r"\btile"))


KINDS = _collect.kinds
