"""Follow a graph for many candidate sizes at once: which are possible, what they cost, and what each of them reaches.

A size is one integer per candidate. Every operator says which sizes it can't take (`refuse`), and where it treats sizes
differently (`decide`): a window that does or does not fit, a bound of a Slice, the end of a table. Nothing is run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.ir.build import known_array
from trueport.verifying.inputs.flow.known import UNKNOWN, Known, Number, count_elements, has_gaps, is_varying, plain

__all__ = ["MAX_ELEMENTS", "Call", "Flow", "Point", "Rule"]

MAX_ELEMENTS = 64
"""Tensors of more elements are followed by their shape, and by the bounds of their elements."""
_MAX_CONSTANT = 1 << 20
"""Larger ones stand for infinity, as the end of a Slice that has none."""

Rule = Callable[["Call"], Sequence[Known]]


@dataclass(frozen=True)
class Point:
    """A place where a graph treats sizes differently, and how it treats each candidate."""

    where: str
    what: str
    kinds: np.ndarray
    """one integer per candidate: those with the same one are treated alike"""


class Flow:
    """One walk through a graph."""

    def __init__(self, count: int, rules: Mapping[str, Rule]) -> None:
        """``count``: how many candidates; ``rules`` by operator."""
        self.count = count
        self.violations = np.zeros(count, np.int64)
        """nodes that can't take a candidate"""
        self.stretched = np.zeros(count, np.int64)
        """dynamic dims of one element that are broadcast: most likely meant to be as long as the others"""
        self.deadly = np.zeros(count, bool)
        """candidates that kill a process that runs the graph"""
        self.empties = np.zeros(count, bool)
        """candidates with which some value of the graph has no elements"""
        self.cost = np.zeros(count)
        """elements that are made, and products that are summed up"""
        self.largest = np.zeros(count)
        """elements of the largest value"""
        self.points: dict[bytes, Point] = {}
        self.constants: set[int] = set()
        """numbers that sizes are compared with or divided by"""
        self.can_crash = False
        """whether a node may be given what kills the process: an integer divisor of zero, an empty tensor"""
        self.unknown = 0
        """values of whose shape something is not known"""
        self._rules = rules
        self._names: dict[str, Number] = {}
        self._held: dict[ir.Value, Known] = {}
        self._here: np.ndarray = np.ones(count, bool)
        """candidates that get to the graph that is followed: not all take each branch"""

    def run(self, graph: ir.Graph, inputs: Mapping[str, tuple[Number | None, ...]]) -> None:
        """Follow a graph; ``inputs`` are shapes by name."""
        for value in graph.inputs:
            if value.name is not None and value.name in inputs:
                shape = inputs[value.name]
                self._held[value] = Known(shape)
                for dim, size in zip(value.shape or (), shape, strict=False):
                    if not isinstance(dim, int) and dim.value is not None and size is not None:
                        self._names.setdefault(dim.value, size)
        self.walk(graph)

    def walk(self, graph: ir.Graph) -> None:
        """Follow the nodes of a graph, the main one or one inside."""
        for node in graph:
            rule = self._rules.get(node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}:{node.op_type}")
            call = Call(self, node, [self.known(value) for value in node.inputs])
            made = list(rule(call)) if rule is not None else []
            for index, value in enumerate(node.outputs):
                found = self._filled(made[index] if index < len(made) else UNKNOWN, value)
                self._held[value] = found
                self._check(found)

    def branch(self, graph: ir.Graph, taken: np.ndarray) -> None:
        """Follow a graph that only some candidates get to."""
        before, self._here = self._here, self._here & taken
        self.walk(graph)
        self._here = before

    def known(self, value: ir.Value | None) -> Known:
        """Return what is known of a value by now."""
        if value is None:
            return UNKNOWN
        if value in self._held:
            return self._held[value]
        tensor = value.const_value
        if tensor is None or value.is_graph_input():
            return self._filled(UNKNOWN, value)
        shape = tuple(int(dim) for dim in tensor.shape.numpy())
        if math.prod(shape) > MAX_ELEMENTS or tensor.dtype == ir.DataType.STRING:
            return Known(shape)
        return Known(shape, tuple(np.asarray(tensor.numpy()).ravel().tolist()))

    def refuse(self, impossible: Any) -> None:
        """Drop candidates."""
        self.violations = self.violations + (np.asarray(impossible, bool) & self._here)

    def kill(self, deadly: Any) -> None:
        """Drop candidates that must not be run in this process."""
        self.deadly = self.deadly | (np.asarray(deadly, bool) & self._here)
        self.refuse(deadly)

    def decide(self, where: str, what: str, kinds: Any) -> None:
        """Record that candidates are treated differently."""
        if not is_varying(np.asarray(kinds)):
            return
        found = np.where(self._here, np.asarray(kinds, np.int64), -1)
        self.points.setdefault(found.tobytes(), Point(where, what, found))

    def spend(self, cost: Any) -> None:
        """Add to what the candidates cost; sizes that come out negative are refused, and make nothing cheaper."""
        self.cost = self.cost + np.where(self._here, np.maximum(cost, 0.0), 0.0)

    def note(self, constant: float) -> None:
        """Remember a number that sizes are measured by."""
        if 1 < constant < _MAX_CONSTANT:
            self.constants.add(int(constant))

    def _check(self, found: Known) -> None:
        for dim in found.shape or ():
            if isinstance(dim, np.ndarray):
                self.refuse(dim < 0)
                self.empties |= (dim == 0) & self._here
        elements = count_elements(found.shape)
        self.spend(elements)
        self.largest = np.maximum(self.largest, np.where(self._here, elements, 0.0))

    def _filled(self, found: Known, value: ir.Value) -> Known:
        """Fill in what the graph itself says of a shape."""
        shape = found.shape
        if value.shape is not None and (shape is None or len(shape) == len(value.shape)):
            said = [dim if isinstance(dim, int) else self._names.get(dim.value or "") for dim in value.shape]
            own = shape if shape is not None else [None] * len(said)
            shape = tuple(b if a is None else a for a, b in zip(own, said, strict=True))
        self.unknown += shape is None or has_gaps(shape)
        elements = None if found.elements is None else tuple(plain(element) for element in found.elements)
        kept = None if shape is None else tuple(plain(dim) for dim in shape)
        return Known(kept, elements, plain(found.low), plain(found.high))


class Call:
    """A node with what is known of its inputs."""

    def __init__(self, flow: Flow, node: ir.Node, inputs: Sequence[Known]) -> None:
        self.flow = flow
        self.node = node
        self.inputs = inputs
        self.name = node.name or (node.outputs[0].name if node.outputs else "") or node.op_type

    def input(self, index: int) -> Known:
        """Return what is known of an input; nothing where it is left out."""
        return self.inputs[index] if index < len(self.inputs) else UNKNOWN

    def has(self, index: int) -> bool:
        """True if an input is given."""
        return index < len(self.node.inputs) and self.node.inputs[index] is not None

    def integer(self, name: str, default: int) -> int:
        return self.node.attributes[name].as_int() if name in self.node.attributes else default

    def integers(self, name: str, default: Sequence[int] = ()) -> list[int]:
        return list(self.node.attributes[name].as_ints()) if name in self.node.attributes else list(default)

    def text(self, name: str, default: str = "") -> str:
        return self.node.attributes[name].as_string() if name in self.node.attributes else default

    def constants(self, index: int) -> list[Any] | None:
        """Return the elements of an input that is the same for all candidates."""
        elements = self.input(index).elements
        if elements is None or any(is_varying(element) for element in elements):
            return None
        return [element.flat[0].item() if isinstance(element, np.ndarray) else element for element in elements]

    def parameters(self, index: int, attribute: str) -> list[Any] | None:
        """Return integers that are an input, or an attribute in older versions."""
        if attribute in self.node.attributes:
            return self.integers(attribute)
        return self.constants(index)

    def array(self, index: int) -> np.ndarray | None:
        """Return a constant, however large it is."""
        return known_array(self.node.inputs[index]) if self.has(index) else None

    def refuse(self, impossible: Any) -> None:
        self.flow.refuse(impossible)

    def decide(self, what: str, kinds: Any) -> None:
        self.flow.decide(self.name, what, kinds)

    def needs_elements(self, shape: Sequence[Number | None] | None) -> None:
        """Drop candidates with which a tensor is empty, for a kernel that kills the process then."""
        self.flow.can_crash |= shape is None or has_gaps(shape)
        for dim in shape or ():
            if dim is not None:
                self.flow.kill(np.asarray(dim) == 0)

    def agree(self, one: Number | None, other: Number | None) -> Number | None:
        """Return a size that two operands have to share; candidates with which they do not are dropped."""
        if one is None or other is None:
            return other if one is None else one
        self.refuse(np.asarray(one) != np.asarray(other))
        return one if isinstance(one, np.ndarray) else other
