"""What every way from one form to another offers to the program that walks it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import onnx_ir as ir

from trueport.fidelity import Loss
from trueport.ir.ports import Port
from trueport.mapping.registry import Finding, Registry
from trueport.runtimes.base import Model
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

    @property
    def bounds(self) -> Registry:
        """The declared bounds of the operators in that graph."""
        return self.registry
