"""What a kind of fault is, how kinds are collected and how they are split into two halves."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable, Collection, Iterable
from typing import Literal

import numpy as np
import onnx

from bench.faults.strangers.running import redeclare_outputs, run_plain
from bench.faults.strangers.site import Facts, Site, open_site

__all__ = ["Change", "Collector", "Half", "Injected", "Kind", "half_of", "name_formal", "name_words"]

Half = Literal["tune", "report"]
_COMMON = frozenset({"input", "inputs", "data", "output", "shape", "value", "values", "start", "limit", "condition"})
"""Formal inputs that any sentence may have as a word."""


@dataclasses.dataclass(frozen=True)
class Change:
    """What was changed in a node, and the regular expressions of which a right explanation matches one."""

    what: str
    facets: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Injected:
    """A model with a fault in one node."""

    model: onnx.ModelProto
    change: Change
    values: frozenset[str]
    """outputs of the node, and of the nodes that hold it if it is in a subgraph"""


@dataclasses.dataclass(frozen=True)
class Kind:
    """A family of faults: the operators that it applies to and the edit that puts it into a node."""

    name: str
    operators: frozenset[str] | None
    """None: any operator"""
    edit: Callable[[Site], Change | None]
    """changes the node in place; None if the node does not take the fault"""

    def takes(self, node: onnx.NodeProto) -> bool:
        return node.op_type != "Constant" and (self.operators is None or node.op_type in self.operators)

    def inject(
        self, model: onnx.ModelProto, index: int, rng: np.random.Generator, facts: Facts, feeds: dict[str, np.ndarray]
    ) -> Injected | None:
        """Return a changed copy that passes the checker and runs on ``feeds``; None if there is none."""
        site = open_site(model, index, facts, rng)
        if not self.takes(site.node):
            return None
        values = frozenset(name for node in (*site.holders, site.node) for name in node.output if name)
        change = self.edit(site)
        if change is None:
            return None
        faulty = site.model
        try:
            redeclare_outputs(faulty, feeds)
            onnx.checker.check_model(faulty)
            run_plain(faulty, feeds)
        except Exception:  # the checker's, shape inference's or the runtime's own types: not a model that runs
            return None
        return Injected(faulty, change, values)


class Collector:
    """Collects the kinds of one module, in the order in which they are written."""

    def __init__(self) -> None:
        self.kinds: list[Kind] = []

    def __call__(
        self, name: str, operators: Collection[str] | None
    ) -> Callable[[Callable[[Site], Change | None]], Callable[[Site], Change | None]]:
        def add(edit: Callable[[Site], Change | None]) -> Callable[[Site], Change | None]:
            self.add(name, operators, edit)
            return edit

        return add

    def add(self, name: str, operators: Collection[str] | None, edit: Callable[[Site], Change | None]) -> None:
        self.kinds.append(Kind(name, None if operators is None else frozenset(operators), edit))


def half_of(name: str) -> Half:
    """Return the half that a kind belongs to; depends on its name alone."""
    return "tune" if hashlib.sha256(name.encode()).digest()[0] % 2 == 0 else "report"


def name_words(*words: str) -> tuple[str, ...]:
    """Return expressions that match these words (attributes, operators, types) where they stand by themselves."""
    return tuple(rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9_])" for word in words if word)


def name_formal(name: str, roles: Iterable[str] = ("operand",)) -> tuple[str, ...]:
    """Return expressions for a formal input and its roles; a single letter or a common word counts in quotes only."""
    quoted = len(name) == 1 or name.lower() in _COMMON
    named = (rf"['\"`]{re.escape(name)}['\"`]",) if quoted else name_words(name)
    return (*(named if name else ()), *(rf"\b{role}" for role in roles))
