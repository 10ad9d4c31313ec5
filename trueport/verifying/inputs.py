"""Inputs that bite: several sizes of every open dim, several kinds of numbers, and those that the graph suggests.

A plan is made from the inputs' types and, where there is a graph, from what it does with them: an integer that indexes
a table stays inside it, a float that is quantized also comes at the ties between two steps, one that is clipped at the
bounds. The same seed gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.ir.build import known_array
from trueport.ir.dtypes import INTEGERS, NARROW_INTEGERS, numpy_dtype
from trueport.ir.ports import Port, make_ports

__all__ = ["STRATEGIES", "Hints", "hints_of", "make_inputs"]

Feeds = dict[str, Any]
Draw = Callable[[np.random.Generator, list[int]], np.ndarray]

STRATEGIES: Mapping[str, Draw] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "uniform": lambda rng, shape: rng.uniform(0, 1, size=shape),
    "heavy-tailed": lambda rng, shape: np.clip(rng.standard_t(2, size=shape), -50, 50),
    "integers": lambda rng, shape: rng.integers(-4, 5, size=shape).astype(np.float64),
    "negative": lambda rng, shape: -np.abs(rng.normal(size=shape)),
    "powers of two": lambda rng, shape: rng.choice([-1.0, 1.0], size=shape) * 2.0 ** rng.integers(-6, 4, size=shape),
    "zeros": lambda rng, shape: np.zeros(shape),
}
"""How floats are drawn, by name."""

_PLAN = (
    ("normal", 1),
    ("normal", 3),
    ("uniform", 2),
    ("heavy-tailed", 5),
    ("integers", 2),
    ("negative", 3),
    ("powers of two", 2),
    ("zeros", 1),
    ("boundaries", 3),
)
"""What is drawn, and how large open dims are: one, a prime, and in between."""
_NEUTRAL = "Cast Clip Concat Expand Flatten Identity Reshape Squeeze Transpose Unsqueeze".split()  # noqa: SIM905
"""Operators behind which an integer is still the index it was."""


@dataclass
class Hints:
    """What a graph does with one of its inputs."""

    indices_below: int | None = None
    """size of the smallest table that it indexes"""
    boundaries: list[float] = field(default_factory=list)
    """values at which the graph decides: ties of a quantization, bounds of a clip, knees"""


def make_inputs(
    model: ir.Model, *, seed: int = 0, dims: Mapping[str, Sequence[int]] | None = None, count: int | None = None
) -> list[Feeds]:
    """Inputs for a model's graph; ``dims`` gives the sizes of named dims, ``count`` how many sets are wanted."""
    graph = model.graph
    ports = make_ports(value for value in graph.inputs if value.name not in graph.initializers)
    hints = {value.name or "": hints_of(value) for value in graph.inputs}
    plan = _PLAN if _open(ports) else [(name, 1) for name, _ in _PLAN]
    wanted = [plan[index % len(plan)] for index in range(count or len(plan))]
    found = []
    for index, (strategy, size) in enumerate(wanted):
        rng = np.random.default_rng([seed, index])
        sizes = {name: options[index % len(options)] for name, options in (dims or {}).items()}
        found.append({p.name: _value(p, rng, strategy, size, sizes, hints.get(p.name, Hints())) for p in ports})
    return found


def _open(ports: Sequence[Port]) -> bool:
    return any(not isinstance(dim, int) for port in ports for dim in port.shape or ())


def _value(
    port: Port, rng: np.random.Generator, strategy: str, size: int, sizes: Mapping[str, int], hints: Hints
) -> Any:
    if port.kind in ("map", "sequence_map"):
        keys = ["a", "b"] if port.key_dtype == "STRING" else [0, 1]
        row = dict(zip(keys, rng.normal(size=2).tolist(), strict=True))
        return row if port.kind == "map" else [row]
    shape = [dim if isinstance(dim, int) else sizes.get(str(dim), size) for dim in port.shape or ()]
    array = _array(port.element, rng, strategy, shape, hints)
    return array if port.kind in ("tensor", "optional") else [array]


def _array(dtype: ir.DataType, rng: np.random.Generator, strategy: str, shape: list[int], hints: Hints) -> np.ndarray:
    target = numpy_dtype(dtype)
    if dtype == ir.DataType.STRING:
        return np.array(rng.choice(["a", "b", "true port", "", "Ünïcode"], size=shape), dtype=object)
    if dtype == ir.DataType.BOOL:
        return np.asarray(rng.integers(0, 2, size=shape)).astype(bool)
    if dtype in INTEGERS | NARROW_INTEGERS:
        # Without a hint small and not negative: integers are most often indices, lengths or token ids.
        return np.asarray(rng.integers(0, hints.indices_below or 2, size=shape)).astype(target)
    if strategy == "boundaries":
        drawn = rng.normal(size=shape)
        if hints.boundaries:
            drawn = np.where(rng.uniform(size=shape) < 0.5, rng.choice(hints.boundaries, size=shape), drawn)
    else:
        drawn = STRATEGIES[strategy](rng, shape)
    return np.asarray(drawn).astype(target)


def hints_of(value: ir.Value) -> Hints:
    """Follow an input through the graph as far as it stays what it was."""
    hints = Hints()
    for node, index in _users(value):
        _learn(node, index, hints)
    return hints


def _users(value: ir.Value) -> Iterator[tuple[ir.Node, int]]:
    waiting, seen = [value], {value}
    while waiting:
        for node, index in waiting.pop().uses():
            yield node, index
            if node.op_type in _NEUTRAL and not node.domain and node.outputs[0] not in seen:
                seen.add(node.outputs[0])
                waiting.append(node.outputs[0])


def _learn(node: ir.Node, index: int, hints: Hints) -> None:
    if node.op_type in ("Gather", "GatherElements", "GatherND") and index == 1 and node.inputs[0] is not None:
        axis = node.attributes["axis"].as_int() if "axis" in node.attributes else 0
        shape = node.inputs[0].shape
        size = shape[axis] if shape is not None else None
        if isinstance(size, int):
            hints.indices_below = min(size, hints.indices_below or size)
    elif node.op_type == "OneHot" and index == 0:
        depth = known_array(node.inputs[1])
        if depth is not None:
            hints.indices_below = min(int(depth.ravel()[0]), hints.indices_below or int(depth.ravel()[0]))
    elif node.op_type == "QuantizeLinear" and index == 0:
        scale = known_array(node.inputs[1])
        if scale is not None and scale.size:
            hints.boundaries += [float((step + 0.5) * scale.ravel()[0]) for step in range(-4, 4)]
    elif node.op_type == "Clip" and index == 0:
        bounds = [known_array(bound) for bound in node.inputs[1:]]
        hints.boundaries += [float(bound) for bound in bounds if bound is not None]
    elif node.op_type in ("Relu", "LeakyRelu", "Elu", "PRelu", "Sign", "Abs"):
        hints.boundaries.append(0.0)
    elif node.op_type == "Round":
        hints.boundaries += [step + 0.5 for step in range(-3, 3)]
