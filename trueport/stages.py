"""The two nouns that carry everything, a `Source` and a `Target`, and what they hand to each other.

    open → to_ir → plan → build → compare → report

A `Program` and a `Plan` are values: nobody changes them, so nobody has to ask in which state they are. Whoever wants
another graph clones the one that they hold.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import onnx_ir as ir

from trueport.errors import UsageError
from trueport.fidelity import UNSUPPORTED, Loss
from trueport.ir.ports import Dims, Port
from trueport.mapping.registry import Finding, Registry

if TYPE_CHECKING:
    from trueport.checking.rules.base import Hit
    from trueport.drawing.graph import Graph
    from trueport.reference.base import Oracle
    from trueport.runtimes.base import Model
    from trueport.runtimes.child import Limits
    from trueport.runtimes.settings import Setting

__all__ = ["Built", "Ops", "Plan", "Program", "Source", "Target"]

Ops = Sequence[str | Path | ModuleType]
"""Modules with a user's declarations: files, modules' names, or modules."""


@dataclass(frozen=True)
class NoOptions:
    """Of a form about which there is nothing to say."""


@dataclass(frozen=True)
class Program:
    """A source as a graph of ONNX operators at the canonical opsets."""

    name: str
    """what to call the source"""
    model: ir.Model
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    findings: tuple[Finding, ...] = ()
    """what its frontend can do with the source's own operators; none where these are ONNX's"""
    losses: tuple[Loss, ...] = ()
    declared: Mapping[str, Dims | None] = field(default_factory=dict)
    """dims that the source declares for its outputs: claims, which name dims and decide nothing"""
    contradictions: tuple[Hit, ...] = ()
    """nodes for whose results the source declares other shapes than they have"""
    described: Mapping[str, Any] = field(default_factory=dict)
    """what the source says of itself"""
    captured_by: str = ""
    """how the source became a graph, where there are several ways to do that"""
    foreign_domain: str = ""
    """domain of operators that were kept though no runtime knows them"""

    @property
    def is_whole(self) -> bool:
        """False if operators were refused: the graph lacks them then."""
        return all(finding.fidelity < UNSUPPORTED for finding in self.findings)


@dataclass(frozen=True)
class Plan:
    """A program as a target is going to make it; nothing of a framework is in it."""

    program: Program
    model: ir.Model
    """arranged for the target"""
    assessed: tuple[Finding, ...] = ()
    """what the target can do with each node of the model, in their order; none where all are its own"""
    needs: tuple[Hit, ...] = ()
    """nodes of an ONNX file that need a newer runtime than the oldest one that files are written for"""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """About the source's operators, and about those that the target is made of."""
        return (*self.program.findings, *self.assessed)


class Source(ABC):
    """Whatever a model is read from: a file, a folder, or an object in memory."""

    form: ClassVar[str]
    """onnx, tensorflow, pytorch or tflite"""
    Options: ClassVar[type[Any]] = NoOptions
    """what a caller may say about it: a dataclass"""

    def __init__(self, artifact: Any, ops: Ops, options: Any, limits: Limits | None = None) -> None:
        self.artifact = artifact
        """a path, bytes, or an object in memory"""
        self.ops = ops
        self.options = options
        self.limits = limits
        """run it in a process of its own, with these limits"""

    @property
    def name(self) -> str:
        """What to call it."""
        return str(self.artifact) if isinstance(self.artifact, (str, Path)) else "the model"

    def to_ir(self) -> Program:
        """Return it as a graph of ONNX operators; raises `ConversionError` where it can't be one."""
        self.refuse("converted")

    @abstractmethod
    def runs(self) -> Sequence[Model]:
        """Return equivalent executions, the plain one first; raises `InvalidModel` where nothing runs it."""

    @abstractmethod
    def deployed(self, *, exact_sums: bool = False, **settings: Any) -> Model:
        """Return it as its users run it; ``settings`` are those of its runtime.

        ``exact_sums``: with exact integer sums where the runtime would saturate them on this CPU.
        """

    @abstractmethod
    def reference(self) -> Oracle:
        """Return what knows the exact results; `NoReference` where nothing does."""

    @abstractmethod
    def reopened(self, setting: Setting, model: Model, *, as_source: bool) -> Model:
        """Return ``model``, one of its executions, under a setting of its runtime."""

    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """Return what ``trueport info`` shows."""

    def draw(self) -> Graph:
        """Return its graph as a report shows it."""
        self.refuse("drawn")

    def weights(self) -> Mapping[str, Callable[[], Any]]:
        """Return its constants by the names in its drawing, each read when it is called for."""
        self.refuse("read weight by weight")

    def refuse(self, what: str) -> NoReturn:
        """Raise `UsageError`: models of this form are run, not taken apart."""
        raise UsageError(
            f"it can't be {what}: models of this form ({self.form}) are run, not taken apart",
            where=self.name,
            remedy="take the model that it was made from; run, info and verify take it, locate does as a target",
        )

    def allowed_ulps(self) -> float:
        """Return the declared bounds added up, for comparisons without a reference."""
        return 0.0

    def redrawn(self, drawn: Graph, plan: Plan) -> Graph:
        """Return its drawing with what became known of its values later on."""
        return drawn

    def with_example(self, other: Model) -> Source:
        """Return the same source with an example of inputs that fit another model, where it needs one."""
        return self

    @property
    def needs_example(self) -> bool:
        """True if nothing is known of its inputs without an example."""
        return False


class Built(ABC):
    """A target that was made."""

    model: Any
    """the model in memory, as the target's own users know it"""
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    @property
    def why_not_run(self) -> str:
        """Why it can't be compared with its source; empty where it can."""
        return ""

    @abstractmethod
    def write(self, place: Path) -> None:
        """Write it as a file or folder."""

    @abstractmethod
    def run(self, written: Path | None = None) -> Model:
        """Return it in its runtime: as written, or as it is in memory."""

    @abstractmethod
    def draw(self) -> Graph:
        """Return its graph as a report shows it, each node with the source's nodes that it goes back to."""


class Target(ABC):
    """A form that models are written in."""

    form: ClassVar[str]
    Options: ClassVar[type[Any]] = NoOptions
    registry: Registry
    """declarations of ONNX's operators for this form; none where it holds these themselves"""

    def __init__(self, ops: Ops, options: Any) -> None:
        self.ops = ops
        self.options = options

    @abstractmethod
    def plan(self, program: Program) -> Plan:
        """Arrange a program for this form: all that can be refused is refused here, and no framework is loaded."""

    @abstractmethod
    def build(self, plan: Plan) -> Built:
        """Make what was planned."""
