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

__all__ = ["Hints", "graph_hints", "hints_of"]

Dim = int | str

_NEUTRAL = frozenset(
    {"Cast", "Clip", "Concat", "Expand", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"}
)
"""Operators behind which an integer is still the index it was."""
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
        role = _ROLES.get((node.op_type, index))
        if role and not node.domain:
            hints.role = hints.role or role
        learn = _LEARN.get((node.op_type, index))
        if learn and not node.domain:
            learn(node, hints)
    del hints.boundaries[_MAX_BOUNDARIES:]
    return hints


def _users(value: ir.Value) -> Iterator[tuple[ir.Node, int]]:
    waiting, seen = [value], {value}
    while waiting:
        for node, index in waiting.pop().uses():
            yield node, index
            if node.op_type in _NEUTRAL and not node.domain and index == 0 and node.outputs[0] not in seen:
                seen.add(node.outputs[0])
                waiting.append(node.outputs[0])


_ROLES: Mapping[tuple[str, int], str] = {
    ("Reshape", 1): "shape",
    ("Expand", 1): "ones",
    ("ConstantOfShape", 0): "extent",
    ("Tile", 1): "extent",
    ("Resize", 2): "scales",
    ("Upsample", 1): "scales",
    ("Dropout", 1): "share",
    ("Dropout", 2): "off",  # in training its values are random
    ("OneHot", 1): "extent",
    ("TopK", 1): "ones",
    ("Loop", 0): "extent",
    ("Range", 0): "start",
    ("Range", 1): "end",
    ("Range", 2): "step",
    ("Slice", 1): "start",
    ("Slice", 2): "end",
    ("Slice", 3): "axes",
    ("Slice", 4): "step",
    ("Pad", 1): "start",
    ("Squeeze", 1): "axes",
    ("Unsqueeze", 1): "axes",
    ("Split", 1): "ones",
    ("If", 0): "branch",
    ("Loop", 1): "branch",
    **{(f"Reduce{kind}", 1): "axes" for kind in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSumExp")},
}
"""Parameters that a model takes as inputs."""


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


def _quantized(node: ir.Node, hints: Hints) -> None:
    scale = known_array(node.inputs[1])
    if scale is not None and scale.size and not borders_are_open(node):
        steps = [float(step) for step in np.unique(scale.astype(np.float64).ravel())[:4]]
        hints.boundaries += [(place + 0.5) * step for step in steps for place in range(-4, 4)]


def _constants(node: ir.Node, hints: Hints) -> None:
    """The other operands: a bound, or what it is compared with."""
    for other in node.inputs:
        array = known_array(other)
        if array is not None and array.dtype.kind in "fiu" and 0 < array.size <= _MAX_BOUNDARIES:
            finite = array.astype(np.float64).ravel()
            hints.boundaries += [float(number) for number in finite[np.isfinite(finite)]]


def _at(*places: float) -> Callable[[ir.Node, Hints], None]:
    return lambda _, hints: hints.boundaries.extend(places)


def _by_attribute(name: str, default: float) -> Callable[[ir.Node, Hints], None]:
    def learn(node: ir.Node, hints: Hints) -> None:
        place = node.attributes[name].as_float() if name in node.attributes else default
        hints.boundaries += [-place, place]

    return learn


_HALVES = tuple(step + 0.5 for step in range(-3, 3))
_WHOLES = tuple(float(step) for step in range(-2, 3))
_LEARN: Mapping[tuple[str, int], Callable[[ir.Node, Hints], None]] = {
    ("Gather", 1): _indexes,
    ("GatherElements", 1): _indexes,
    ("ScatterElements", 1): _indexes,
    ("GatherND", 1): _indexes_all,
    ("ScatterND", 1): _indexes_all,
    ("OneHot", 0): _one_hot,
    ("ReverseSequence", 1): _lengths,
    **{(kind, 4): _lengths for kind in ("LSTM", "GRU", "RNN")},
    ("Attention", 6): _padded_lengths,
    ("Resize", 3): _resizes,
    ("AffineGrid", 1): _sizes_a_grid,
    ("Div", 1): _divides,
    ("Mod", 1): _divides,
    ("QuantizeLinear", 0): _quantized,
    ("Clip", 0): _constants,
    **{(op, place): _constants for op in ("Max", "Min") for place in (0, 1)},
    **{(op, p): _constants for op in ("Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal") for p in (0, 1)},
    **{(op, 0): _at(0.0) for op in ("Relu", "LeakyRelu", "Elu", "Selu", "Celu", "PRelu", "Sign", "Abs", "Sqrt", "Log")},
    ("HardSigmoid", 0): _at(-2.5, 2.5),
    ("HardSwish", 0): _at(-3.0, 3.0),
    ("ThresholdedRelu", 0): _by_attribute("alpha", 1.0),
    ("Shrink", 0): _by_attribute("lambd", 0.5),
    ("Round", 0): _at(*_HALVES),
    **{(op, 0): _at(*_WHOLES) for op in ("Floor", "Ceil", "Cast")},
}
"""What an operator's input says about the number that is fed."""
