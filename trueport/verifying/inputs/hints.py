"""What a graph does with its inputs: the tables they index, the values at which it decides, the parts they play.

An input is followed as far as it stays what it was; so a token behind a cast is still a token, and an input that is
clipped after a reshape still has the clip's bounds as its knees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import onnx_ir as ir

from trueport.ir.build import known_array
from trueport.ir.marks import borders_are_open
from trueport.operators.record import Decision, Kind, Role, Sizing, Trait
from trueport.operators.table import facts_of

__all__ = ["Hints", "graph_hints", "hints_of"]

Dim = int | str

_MAX_BOUNDARIES = 64


@dataclass
class Hints:
    """What is known of one input."""

    indices_below: list[Dim] = field(default_factory=list)
    """sizes of the tables that it indexes; a name stands for an open dim"""
    lengths_to: list[Dim] = field(default_factory=list)
    """sizes of the axes that it counts along, from one on"""
    boundaries: list[float] = field(default_factory=list)
    """values at which the graph decides: ties of a quantization, bounds of a clip, knees"""
    divides: bool = False
    """whether it is a divisor: as an integer it must not be zero"""
    sizes: list[Dim] = field(default_factory=list)
    """the dims of the tensor that it gives a new size to: with these it keeps its own"""
    role: str = ""
    """the part it plays as a parameter (`shape`, `start`, …), which not every number can"""
    texts: list[str] = field(default_factory=list)
    """strings that it is compared with or looked up among"""
    free: bool = False
    """whether it is known to become no size, no number of steps and no parameter, whatever is computed of it"""
    tests: list[str] = field(default_factory=list)
    """operators that test it for NaN or infinity, in the order of the graph"""

    @property
    def bounded(self) -> bool:
        """Whether it is an index, a length, a divisor or a parameter."""
        known = (self.indices_below, self.lengths_to, self.sizes, self.role, self.divides)
        return any(known) or not self.free

    @property
    def fixed(self) -> bool:
        """Whether it plays a part that leaves it no choice."""
        return self.role == "off"


def graph_hints(graph: ir.Graph) -> dict[str, Hints]:
    """Hints for every input of a graph, by its name."""
    return {value.name or "": hints_of(value) for value in graph.inputs}


def hints_of(value: ir.Value) -> Hints:
    """Follow an input through the graph."""
    hints = Hints()
    for node, index in _users(value):
        operator = facts_of(node)
        role = operator.role(index)
        hints.role = hints.role or _WORDS.get(role, "")
        if role in _LEARN:
            _LEARN[role](node, hints)
        if operator.decides is not None and index in operator.decides.inputs:
            hints.boundaries += _boundaries(node, operator.decides)
        hints.boundaries += _signed_zeros(node, index)
        hints.texts += _texts(node)
    del hints.boundaries[_MAX_BOUNDARIES:], hints.texts[_MAX_BOUNDARIES:]
    hints.free, hints.tests = _fate(value)
    return hints


_TESTS = frozenset({"IsNaN", "IsInf"})


def _fate(value: ir.Value) -> tuple[bool, list[str]]:
    """Return whether nothing computed of a value is a parameter, and which tests for NaN and infinity it meets."""
    waiting, seen, free, tests = [value], {value}, True, []
    while waiting:
        for node, index in waiting.pop().uses():
            operator = facts_of(node)
            if operator.kind is Kind.SHAPE:
                continue
            known = operator.is_known and not operator.role(index).is_parameter
            free &= known and operator.sizing is not Sizing.STEPS
            if node.op_type in _TESTS and not node.domain:
                tests.append(node.op_type)
            made = [made for made in node.outputs if made not in seen and (made.dtype is None or _counts(made))]
            seen.update(made)
            waiting += made
    return free, tests


def _counts(value: ir.Value) -> bool:
    return value.dtype is not ir.DataType.BOOL


def _signed_zeros(node: ir.Node, index: int) -> Iterator[float]:
    """Yield both zeros for what is divided by: their quotients are infinities of both signs."""
    if node.op_type == "Reciprocal" or (node.op_type == "Div" and index == 1):
        yield from (0.0, -0.0)


def _texts(node: ir.Node) -> Iterator[str]:
    for name in ("keys_strings", "cats_strings"):
        if name in node.attributes:
            yield from (text.decode() if isinstance(text, bytes) else text for text in node.attributes[name].value)
    if node.op_type == "Equal":
        for other in node.inputs:
            array = known_array(other)
            if array is not None and array.dtype.kind == "O" and array.size <= _MAX_BOUNDARIES:
                yield from (_decoded(text) for text in array.ravel())


def _decoded(text: object) -> str:
    return text.decode() if isinstance(text, bytes) else str(text)


def _users(value: ir.Value) -> Iterator[tuple[ir.Node, int]]:
    waiting, seen = [value], {value}
    while waiting:
        for node, index in waiting.pop().uses():
            yield node, index
            stays = index == 0 and facts_of(node).has(Trait.KEEPS_INDEX)
            if stays and node.outputs[0] not in seen:
                seen.add(node.outputs[0])
                waiting.append(node.outputs[0])


_WORDS: Mapping[Role, str] = {
    Role.SHAPE: "shape",
    Role.EXTENT: "extent",
    Role.COUNT: "ones",
    Role.SCALES: "scales",
    Role.START: "start",
    Role.END: "end",
    Role.STEP: "step",
    Role.AXES: "axes",
    Role.RATIO: "share",
    Role.TRAINING: "off",  # in training its values are random
    Role.BRANCH: "branch",
    Role.GOES_ON: "branch",
}
"""Parameters that a model takes as inputs: not every number can play these parts."""


def _axis(node: ir.Node, default: int = 0) -> int:
    return node.attributes["axis"].as_int() if "axis" in node.attributes else default


def _size(value: ir.Value | None, axis: int) -> list[Dim]:
    """The size of an axis: its number, its name, or nothing."""
    if value is None or value.shape is None or not -len(value.shape) <= axis < len(value.shape):
        return []
    dim = value.shape[axis]
    size = dim if isinstance(dim, int) else dim.value
    return [] if size is None else [size]


def _indexes(node: ir.Node, hints: Hints) -> None:
    hints.indices_below += _size(node.inputs[0], _axis(node))


def _indexes_all(node: ir.Node, hints: Hints) -> None:
    """GatherND and ScatterND: one column per axis; what is below the smallest fits all."""
    data, indices = node.inputs[0], node.inputs[1]
    depth = indices.shape[-1] if indices is not None and indices.shape is not None else 1
    for axis in range(depth if isinstance(depth, int) else 1):
        hints.indices_below += _size(data, axis)


def _one_hot(node: ir.Node, hints: Hints) -> None:
    depth = known_array(node.inputs[1])
    if depth is not None:
        hints.indices_below.append(int(depth.ravel()[0]))


def _lengths(node: ir.Node, hints: Hints) -> None:
    axis = node.attributes["time_axis"].as_int() if "time_axis" in node.attributes else 0
    hints.lengths_to += _size(node.inputs[0], axis)


def _padded_lengths(node: ir.Node, hints: Hints) -> None:
    hints.lengths_to += _size(node.inputs[1], -2)


def _resizes(node: ir.Node, hints: Hints) -> None:
    """One number per axis: the batch and the channels stay, for few kernels resize those."""
    data = node.inputs[0]
    dims = [_size(data, axis) for axis in range(len(data.shape or ()))] if data is not None else []
    if all(dims) and "axes" not in node.attributes:
        hints.sizes = [dim[0] * 2 if isinstance(dim[0], int) and axis > 1 else dim[0] for axis, dim in enumerate(dims)]


def _sizes_a_grid(node: ir.Node, hints: Hints) -> None:
    axes = _size(node.inputs[1], 0)
    hints.sizes = [*_size(node.inputs[0], 0), 2, 3, 5, 4][: axes[0] if axes and isinstance(axes[0], int) else 4]


def _divides(node: ir.Node, hints: Hints) -> None:
    hints.divides = True


def _boundaries(node: ir.Node, decides: Decision) -> Iterator[float]:
    """Yield the values at which a node decides."""
    yield from decides.points
    if decides.attribute is not None:
        name, default = decides.attribute
        point = node.attributes[name].as_float() if name in node.attributes else default
        yield from (-point, point)
    if decides.steps and not borders_are_open(node):
        yield from _ties(node)
    if decides.operands:
        yield from _constants(node)


def _ties(node: ir.Node) -> Iterator[float]:
    scale = known_array(node.inputs[1])
    if scale is not None and scale.size:
        steps = [float(step) for step in np.unique(scale.astype(np.float64).ravel())[:4]]
        yield from ((place + 0.5) * step for step in steps for place in range(-4, 4))


def _constants(node: ir.Node) -> Iterator[float]:
    """Yield the other operands: a bound, or what it is compared with."""
    for other in node.inputs:
        array = known_array(other)
        if array is not None and array.dtype.kind in "fiu" and 0 < array.size <= _MAX_BOUNDARIES:
            finite = array.astype(np.float64).ravel()
            yield from (float(number) for number in finite[np.isfinite(finite)])


_LEARN: Mapping[Role, Callable[[ir.Node, Hints], None]] = {
    Role.INDEX: _indexes,
    Role.INDEX_TUPLE: _indexes_all,
    Role.CLASS: _one_hot,
    Role.LENGTHS: _lengths,
    Role.PADDED_LENGTHS: _padded_lengths,
    Role.SIZES: _resizes,
    Role.GRID_SIZES: _sizes_a_grid,
    Role.DIVISOR: _divides,
}
"""What the role of an input says about the number that is fed."""
