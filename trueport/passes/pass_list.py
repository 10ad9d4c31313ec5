"""Passes in their order, as data: what each needs and ensures, what it keeps, and why it stands where it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

import onnx_ir as ir

__all__ = ["ALL", "EXACT", "Fact", "Kept", "Pass", "PassList"]


class Fact(Enum):
    """What holds of a model between two passes."""

    FED = "no input has a default"
    ORIGINS = "every node names the source nodes that it goes back to"
    CANONICAL = "canonical opsets, functions inlined"
    INITIALIZERS = "constants are initializers of the main graph"
    SHAPES = "types and shapes are inferred"
    MAPPED = "an operator without a mapping is replaced by its function body, if it has one"
    KNOWN = "what depends on constants and known sizes alone is computed"
    SIMPLE = "nodes that do nothing are removed, paddings are joined"
    LAYOUTS = "each node has its order of axes"
    WRITTEN = "the opset is the one that a file is written at"


class Kept(Enum):
    """What a pass does not change."""

    SIGNATURE = "names, types and order of inputs and outputs"
    DTYPES = "the type of each value that stays under its name"
    BITS = "every bit of the results"


ALL = (Kept.SIGNATURE, Kept.DTYPES, Kept.BITS)
EXACT = (Kept.SIGNATURE, Kept.DTYPES)
"""The same function, rounded in another way, or in a form that only the target can run."""


@dataclass(frozen=True)
class Pass:
    """One pass, and its position in a list."""

    name: str
    run: Callable[[ir.Model], object]
    """changes a model in place"""
    because: str = ""
    """why it stands where it stands; see :meth:`at`"""
    needs: tuple[Fact, ...] = ()
    """what an earlier pass must have ensured"""
    ensures: tuple[Fact, ...] = ()
    keeps: tuple[Kept, ...] = ALL
    ends: tuple[Fact, ...] = ()
    """what does not hold any more afterwards"""

    def at(self, because: str) -> Pass:
        """Return the pass for its position in a list, with the reason for it."""
        return replace(self, because=because)


@dataclass(frozen=True)
class PassList:
    """Passes in their order; building one fails if a pass needs what no earlier one has ensured."""

    name: str
    passes: tuple[Pass, ...]
    given: tuple[Fact, ...] = ()
    """what holds before the first pass"""

    def __post_init__(self) -> None:
        facts = set(self.given)
        for step in self.passes:
            if not step.because:
                raise TypeError(f"{self.name}: {step.name} has no reason to stand where it stands")
            missing = [fact.name for fact in step.needs if fact not in facts]
            if missing:
                raise TypeError(f"{self.name}: {step.name} needs {', '.join(missing)}, which no earlier pass ensures")
            facts = (facts - set(step.ends)) | set(step.ensures)

    def __iter__(self) -> Iterator[Pass]:
        return iter(self.passes)

    def run(self, model: ir.Model) -> None:
        """Run all passes on a model, in place."""
        for step in self.passes:
            step.run(model)
