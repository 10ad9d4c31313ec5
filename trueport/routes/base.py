"""What every way from one form to another offers to the program that walks it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from trueport.checking.rules import Subject
from trueport.checking.rules.base import Hit
from trueport.fidelity import Loss
from trueport.ir.ports import Port, make_ports
from trueport.mapping.registry import Finding, Registry
from trueport.report.graphs import Graph
from trueport.runtimes.base import Model

if TYPE_CHECKING:
    from trueport.verifying.oracle import Oracle

__all__ = ["Ops", "Route"]

Ops = Sequence[str | Path | ModuleType]


class Route(ABC):
    """One source on its way to one target; the stages are called in the order in which they stand here."""

    target: str
    registry: Registry

    def __init__(self) -> None:
        self.findings: tuple[Finding, ...] = ()
        self.losses: list[Loss] = []
        self.needs: tuple[Hit, ...] = ()
        """nodes of an ONNX file that need a newer runtime than the oldest one that files are written for"""
        self.contradictions: tuple[Hit, ...] = ()
        """nodes for whose results the source declares other shapes than they have"""

    @property
    @abstractmethod
    def name(self) -> str:
        """What to call the source."""

    @abstractmethod
    def capture(self) -> None:
        """Read the source."""

    @abstractmethod
    def canonicalize(self) -> None:
        """Bring it into the form that is assessed: fills in ``findings`` and ``losses``."""

    @abstractmethod
    def emit(self) -> Any:
        """The target in memory, as the target's own users know it."""

    @abstractmethod
    def write(self, place: Path) -> None:
        """The target as a file or folder."""

    @abstractmethod
    def ports(self) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        """Inputs and outputs of the target."""

    @abstractmethod
    def sources(self) -> Sequence[Model] | str:
        """Equivalent executions of the source in its own runtime, the plain one first; or why it can't run."""

    @abstractmethod
    def result(self, written: Path | None) -> Model:
        """The target in its runtime: as written, or as it is in memory."""

    @abstractmethod
    def oracle(self) -> Oracle | str:
        """What tells the truth about the source, or why nothing does."""

    @abstractmethod
    def graph(self) -> ir.Model:
        """The ONNX graph that source and target have in common."""

    def rehearse(self) -> None:
        """Go on after ``canonicalize`` as far as no framework is loaded: raises what ``emit`` would."""
        return

    def subject(self) -> Subject:
        """What the rules of the check look at."""
        return Subject(
            self.graph(),
            self.target,
            self.findings,
            *self.border(),
            self.described(),
            self.needs,
            self.contradictions,
        )

    def border(self) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        """Inputs and outputs, as far as they are known without building the target."""
        graph = self.graph().graph
        return make_ports(graph.inputs), make_ports(graph.outputs)

    @property
    def captured_by(self) -> str:
        """How the source became a graph, where there are several ways to do that; asked after ``capture``."""
        return ""

    def described(self) -> Mapping[str, Any]:
        """What the source says of itself."""
        return {}

    def source_graph(self) -> Graph | None:
        """The source as a report draws it, asked right after ``capture``; None where that is not known."""
        return None

    def target_graph(self) -> Graph | None:
        """The target as a report draws it, its nodes with their origins; asked after ``emit``."""
        return None

    def findings_by_node(self) -> Mapping[str, Finding]:
        """The worst that was found about each of the source's nodes, by name."""
        return {finding.node: finding for finding in sorted(self.findings, key=lambda finding: finding.fidelity)}

    def refined(self, source: Graph) -> Graph:
        """``source`` with what became known of its values later on."""
        return source

    @property
    def bounds(self) -> Registry:
        """The declared bounds of the operators in that graph."""
        return self.registry
