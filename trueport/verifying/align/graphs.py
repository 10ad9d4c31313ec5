"""Both models as plain graphs of families and names, whatever their frameworks: what alignment compares."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from trueport.reference.walk import Walkable
from trueport.runtimes.base import Model
from trueport.verifying.align.families import family
from trueport.verifying.align.probes import Probe

__all__ = ["STILL", "Graph", "Node", "source_graph", "target_graph"]

STILL = frozenset({"Const", "Constant", "Placeholder", "ReadVariableOp", "NoOp", "VarHandleOp"})
"""Operators that hold what they give, in ONNX and TensorFlow."""


@dataclass(frozen=True, eq=False)
class Node:
    """An operation; compared by identity."""

    op: str
    family: str
    reads: tuple[str, ...]
    """values that other nodes make, and inputs of the model, each once; no weights"""
    makes: tuple[str, ...]
    index: int
    weights: Callable[[], Sequence[np.ndarray]] = field(repr=False)
    """its constant operands, in their order"""


@dataclass(frozen=True)
class Graph:
    """A model's main graph, in an order in which it can be run."""

    nodes: Sequence[Node]
    probes: Mapping[str, Probe]
    """of values that can be fetched"""
    ends: frozenset[str]
    """outputs of the model"""
    makers: Mapping[str, Node] = field(init=False)
    readers: Mapping[str, Sequence[Node]] = field(init=False)

    def __post_init__(self) -> None:
        makers = {made: node for node in self.nodes for made in node.makes if made}
        readers: dict[str, list[Node]] = {}
        for node in self.nodes:
            for read in node.reads:
                readers.setdefault(read, []).append(node)
        object.__setattr__(self, "makers", makers)
        object.__setattr__(self, "readers", readers)

    def order(self, value: str) -> int:
        """Return the number of the node that makes a value; -1 for inputs of the model."""
        return self.makers[value].index if value in self.makers else -1

    def uses(self, value: str) -> list[str]:
        """Return the families of what reads a value, sorted; an output of the model counts as one."""
        return sorted([node.family for node in self.readers.get(value, ())] + ["output"] * (value in self.ends))

    def nearest(self, node: Node, known: Collection[str]) -> tuple[str, ...]:
        """Return the nearest known values behind a node, in the order in which it reads them."""
        found: dict[str, None] = {}
        seen: set[str] = set()
        waiting = list(reversed(node.reads))
        while waiting:
            read = waiting.pop()
            if read in known:
                found[read] = None
            elif read in self.makers and read not in seen:
                seen.add(read)
                waiting += reversed(self.makers[read].reads)
        return tuple(found)

    def between(self, node: Node, known: Collection[str]) -> list[Node]:
        """Return the nodes behind one, up to known values."""
        found: dict[Node, None] = {}
        waiting = list(node.reads)
        while waiting:
            read = waiting.pop()
            maker = self.makers.get(read)
            if read not in known and maker is not None and maker not in found:
                found[maker] = None
                waiting += maker.reads
        return list(found)


def source_graph(walk: Walkable, probes: Mapping[str, Probe]) -> Graph:
    """Return the source's places as a graph."""
    nodes = [
        Node(p.op, family(p.op), p.reads, p.makes, index, lambda p=p: walk.weights(p))  # type: ignore[misc]
        for index, p in enumerate(walk.places)
    ]
    return Graph(nodes, probes, frozenset(walk.outputs.values()))


def target_graph(model: Model, inputs: Iterable[str], probes: Mapping[str, Probe], ends: Iterable[str]) -> Graph:
    """Return a loaded model's operations as a graph, by the names of its tensors."""
    operations = [o for o in model.operations() if o.op not in STILL]
    made = {name for o in operations for name in o.outputs} | set(inputs)
    stored = model.constants()

    def weights(names: Sequence[str]) -> list[np.ndarray]:
        return [np.asarray(stored[name]) for name in names if name in stored]

    nodes = [
        Node(
            o.op,
            family(o.op),
            tuple(dict.fromkeys(name for name in o.inputs if name in made and name not in o.outputs)),
            o.outputs,
            index,
            lambda o=o: weights([name for name in o.inputs if name not in made]),  # type: ignore[misc]
        )
        for index, o in enumerate(operations)
    ]
    return Graph(nodes, probes, frozenset(ends))
