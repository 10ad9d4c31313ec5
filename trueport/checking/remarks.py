"""What a check has to say: one remark per place, grouped where many places have the same reason."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trueport.fidelity import APPROXIMATE, UNSUPPORTED, Fidelity, Loss
from trueport.mapping.needs import NOT_KNOWN
from trueport.mapping.registry import Finding

__all__ = ["Group", "Remark", "Severity", "grouped", "of_findings", "of_losses"]


class Severity(enum.IntEnum):
    """How much a remark weighs, lightest first; the names are SARIF's levels."""

    NOTE = 0
    """good to know: nothing is lost"""
    WARNING = 1
    """something is lost, changed for the caller, or may fail later"""
    ERROR = 2
    """can't be converted"""

    @classmethod
    def of(cls, fidelity: Fidelity) -> Severity:
        """What a declared fidelity weighs."""
        if fidelity == UNSUPPORTED:
            return cls.ERROR
        return cls.WARNING if fidelity >= APPROXIMATE else cls.NOTE

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class Remark:
    """One thing at one place: what, why, what to do."""

    rule: str
    severity: Severity
    because: str
    remedy: str = ""
    where: str = ""
    """the place in words: a node, an input, the model"""
    node: str = ""
    op: str = ""
    source: str = ""
    """the layer or the line of the program that the node comes from, where that is known"""


@dataclass(frozen=True)
class Group:
    """One reason with all places that share it."""

    rule: str
    severity: Severity
    because: str
    remedy: str
    remarks: tuple[Remark, ...]


def of_findings(findings: Iterable[Finding]) -> list[Remark]:
    """A remark per reason that a node is not carried over to the bit."""
    return [
        Remark(
            reason.label,
            Severity.WARNING if reason.label == NOT_KNOWN else Severity.of(reason.effect),
            reason.because,
            reason.remedy,
            finding.where,
            finding.node,
            finding.op,
            finding.source,
        )
        for finding in findings
        for reason in finding.reasons
    ]


def of_losses(losses: Iterable[Loss]) -> list[Remark]:
    """A remark per loss that was recorded on the way."""
    return [
        Remark("loss", Severity.of(loss.fidelity), f"{loss.what}: {loss.because}", where=loss.where) for loss in losses
    ]


def grouped(remarks: Iterable[Remark]) -> list[Group]:
    """Worst first, then in the order in which the reasons come up."""
    found: dict[tuple[Severity, str, str, str], list[Remark]] = {}
    for remark in remarks:
        found.setdefault((remark.severity, remark.rule, remark.because, remark.remedy), []).append(remark)
    groups = [
        Group(rule, severity, because, remedy, _unique(members))
        for (severity, rule, because, remedy), members in found.items()
    ]
    return sorted(groups, key=lambda group: -group.severity)


def _unique(remarks: Sequence[Remark]) -> tuple[Remark, ...]:
    return tuple(dict.fromkeys(remarks))
