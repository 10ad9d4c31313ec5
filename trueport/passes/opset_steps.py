"""One engine for opsets, up and down: every node is taken, version by version, to the one in force at another opset.

An adapter handles one real change between two versions of an operator. It is a small function, declared with its
:class:`Direction` and bound from the schema of the version that it starts from:

    @upgrades("Softmax", 11, 13)                      @downgrades("Split", 18, 13)
    def softmax_11_to_13(op, input, *, axis): ...     def split_18_to_13(op, input, split, *, axis, num_outputs): ...

What it builds with ``op`` is walked in turn, so it may use any operator. Between two versions without an adapter the
node is relabelled. Directions differ in data alone: adapters, what ``op`` is, how a node is relabelled, and what is
seen to at the end.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

import onnx_ir as ir
from onnx.defs import OpSchema

from trueport.errors import ConversionError
from trueport.ir.schemas import CANONICAL_OPSETS, history
from trueport.mapping.bind import bind_by_schema, bind_by_signature
from trueport.passes.layout.decide import subgraphs_of

__all__ = ["ABSENT", "Adapter", "Course", "Direction", "Replacement", "Step", "listed_steps"]

Adapter = Callable[..., Any]
_A = TypeVar("_A", bound=Adapter)
Step = tuple[str, str, int, int]
"""domain, operator, the version that a step starts from, the version that it leads to"""

ABSENT = 0
"""The version of an operator before its first one: not there yet, or on trial without a schema."""


@dataclass(frozen=True)
class Direction:
    """Up to newer opsets, or down to older ones; adapters stand in the modules of a package."""

    package: str
    is_up: bool

    def step(self, op: str, start: int, end: int, *, domain: str = "") -> Callable[[_A], _A]:
        """Declare an adapter between two neighbouring versions of an operator."""

        def declare(adapter: _A) -> _A:
            setattr(adapter, self._mark, (*getattr(adapter, self._mark, ()), (domain, op, start, end)))
            return adapter

        return declare

    @functools.cached_property
    def adapters(self) -> Mapping[tuple[str, str, int], tuple[int, Adapter]]:
        """All adapters of the direction: (domain, op, version they start from) → (version they lead to, adapter)."""
        found: dict[tuple[str, str, int], tuple[int, Adapter]] = {}
        names = sorted(module.name for module in pkgutil.iter_modules(importlib.import_module(self.package).__path__))
        for module in (importlib.import_module(f"{self.package}.{name}") for name in names):
            for item in vars(module).values():
                is_own = getattr(item, "__module__", None) == module.__name__
                for domain, op, start, end in getattr(item, self._mark, ()) if is_own else ():
                    if (domain, op, start) in found:
                        raise TypeError(f"two adapters for {op} {start} → {end}")
                    found[domain, op, start] = (end, item)
        return found

    def path(self, node: ir.Node, wanted: int) -> Iterator[tuple[OpSchema | None, OpSchema | None]]:
        """Yield the versions of a node's operator on its way to another opset, each with the next one.

        The first is None if the operator has no version at the node's opset, the second if there is no next one.
        """
        versions, start = history(node.op_type, node.domain), _opset_of(node)
        known = [schema for schema in versions if schema.since_version <= start]
        if self.is_up:
            yield from itertools.pairwise([*known[-1:], *versions[len(known) :], None] if known else [None, None])
            return
        for before, schema in reversed(list(itertools.pairwise([None, *known]))):
            if schema is None or schema.since_version <= wanted:
                return
            yield schema, before

    def adapter(self, node: ir.Node, schema: OpSchema | None) -> tuple[int, Adapter] | None:
        """Return the version after a node's version, and the adapter to it; None if nothing real has changed."""
        found = self.adapters.get((node.domain, node.op_type, schema.since_version if schema else ABSENT))
        # An onnx older than the canonical opset has no schema for where the last step led: it is not taken twice.
        return found if found and (schema is None or (found[0] > _opset_of(node)) == self.is_up) else None

    @property
    def _mark(self) -> str:
        return f"__{self.package.replace('.', '_')}__"


class Replacement(Protocol):
    """What an adapter gets as ``op``: it builds the nodes that take a node's place."""

    @property
    def made(self) -> Sequence[ir.Node]: ...

    def finish(self, results: Sequence[ir.Value | None]) -> None:
        """Let the results stand for the node's outputs, and remove the node."""


class Course(ABC):
    """One model on its way to other opsets."""

    direction: ClassVar[Direction]
    refusals: list[ConversionError] | None = None
    """filled with what is refused, node by node; None raises the first"""

    def __init__(self, wanted: Mapping[str, int]) -> None:
        self.wanted = wanted
        """opset by domain; nodes of other domains stay as they are"""

    @abstractmethod
    def replacement(self, node: ir.Node, schema: OpSchema | None, end: int) -> Replacement:
        """Return an adapter's ``op`` for a node, the version that it is at, and the next one."""

    @abstractmethod
    def relabel(self, node: ir.Node, schema: OpSchema | None, following: OpSchema | None) -> None:
        """Make a node one of the next version; raise `ConversionError` where it has no form there."""

    @abstractmethod
    def arrive(self, node: ir.Node, *, is_noted: bool) -> Iterable[ir.Node]:
        """See to a node that is at the wanted version; return nodes that were added for it."""

    def note_change(self, node: ir.Node, schema: OpSchema | None) -> None:  # noqa: B027  # most want no note
        """Other operators have taken the place of a node of the model."""

    def walk(self, graph: ir.Graph) -> None:
        """Take all nodes of a graph, and of the graphs inside it, along."""
        for node in list(graph):
            try:
                self._walk_node(node)
            except ConversionError as refusal:
                if self.refusals is None:
                    raise
                self.refusals.append(refusal)

    def _walk_node(self, node: ir.Node, *, is_noted: bool = False) -> None:
        """``is_noted``: the node stands for one whose change is known already."""
        for graph in subgraphs_of(node):
            self.walk(graph)
        if node.domain not in self.wanted:
            return
        for schema, following in self.direction.path(node, self.wanted[node.domain]):
            step = self.direction.adapter(node, schema)
            if step is None:
                self.relabel(node, schema, following)
                continue
            made = self.replace(node, schema, *step)
            if not is_noted and [new.op_type for new in made] != [node.op_type]:
                self.note_change(node, schema)
                is_noted = True
            for new in made:
                self._walk_node(new, is_noted=is_noted)
            return
        for new in self.arrive(node, is_noted=is_noted):
            self._walk_node(new, is_noted=True)

    def replace(self, node: ir.Node, schema: OpSchema | None, end: int, adapter: Adapter) -> Sequence[ir.Node]:
        """Let what an adapter builds take a node's place; return the new nodes."""
        op = self.replacement(node, schema, end)
        bound = bind_by_schema(node, schema) if schema else bind_by_signature(node, adapter)
        made = bound.call(adapter, op, lambda value: value)
        op.finish(list(made) if isinstance(made, (tuple, list)) else [made])
        return op.made


def _opset_of(node: ir.Node) -> int:
    return CANONICAL_OPSETS[node.domain] if node.version is None else node.version


def listed_steps(reasons: Mapping[str, str]) -> dict[Step, str]:
    """Read a table of steps by their reason: ``Add:13:14 ai.onnx.ml/LabelEncoder:2:4 …``."""
    return {_step(item): reason for reason, listed in reasons.items() for item in listed.split()}


def _step(item: str) -> Step:
    name, start, end = item.split(":")
    domain, _, op = name.rpartition("/")
    return domain, op, int(start), int(end)
