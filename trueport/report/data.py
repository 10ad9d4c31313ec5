"""What a conversion says of itself: frozen data, rendered elsewhere."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from trueport.fidelity import BITWISE, Fidelity, Loss, Verdict
from trueport.ir.ports import CONTAINERS, Port
from trueport.mapping.registry import Finding
from trueport.verifying.verify import Verification

__all__ = ["Report"]

_SCHEMA = "trueport-report/1"


@dataclass(frozen=True)
class Report:
    """Source and target, every loss, the comparison, and where the time went."""

    source: str
    target: str
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    findings: tuple[Finding, ...] = ()
    losses: tuple[Loss, ...] = ()
    comparison: Verification | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def fidelity(self) -> Fidelity:
        """The worst over all nodes and losses: what the declarations promise."""
        return max([f.fidelity for f in self.findings] + [loss.fidelity for loss in self.losses], default=BITWISE)

    @property
    def verdict(self) -> Verdict | None:
        """What was measured; None when nothing was compared."""
        return self.comparison.verdict if self.comparison else None

    @property
    def users_operators(self) -> dict[str, str]:
        """Operators that a user's own module translates, and which."""
        return {
            finding.op: finding.mapping.by
            for finding in self.findings
            if finding.mapping and not finding.mapping.by.startswith("trueport.")
        }

    def counts(self) -> dict[str, int]:
        """Nodes by fidelity, worst first."""
        found = Counter(finding.fidelity for finding in self.findings)
        return {level.name.lower(): found[level] for level in sorted(found, reverse=True)}

    def to_json(self) -> str:
        """The report as JSON text."""
        return json.dumps(self._plain(), indent=1)

    def _plain(self) -> dict[str, Any]:
        return {
            "schema": _SCHEMA,
            "source": self.source,
            "target": self.target,
            "fidelity": self.fidelity.name.lower(),
            "inputs": [port.to_json() for port in self.inputs],
            "outputs": [port.to_json() for port in self.outputs],
            "nodes": self.counts(),
            "users_operators": self.users_operators,
            "findings": [_finding(f) for f in self.findings if f.reasons],
            "losses": [{**asdict(loss), "fidelity": loss.fidelity.name.lower()} for loss in self.losses],
            "comparison": self.comparison.to_json() if self.comparison else None,
            "seconds": dict(self.seconds),
        }

    def __str__(self) -> str:
        lines = [f"{self.source} → {self.target}: {self.fidelity.name.lower()} by declaration"]
        lines.append("  nodes: " + ", ".join(f"{count} {name}" for name, count in self.counts().items()))
        lines += [f"  by {module}: {op}" for op, module in self.users_operators.items()]
        lines += [f"  {f.fidelity.name.lower()}: {f}" for f in self.findings if f.reasons]
        lines += [f"  loss: {loss}" for loss in self.losses]
        lines += [f"  {words}" for port in (*self.inputs, *self.outputs) for words in _carried(port)]
        lines.append(f"  {self.comparison}" if self.comparison else "  not compared")
        return "\n".join(lines)


def _carried(port: Port) -> Iterator[str]:
    """How a port differs from what the source calls it and makes it of."""
    if port.parts != (port.name,):
        how = "renamed" if port.kind == "tensor" else f"{port.kind.replace('_', ' of ')} carried as"
        yield f"{how}: {port.name!r} → {', '.join(map(repr, port.parts))}"
    if port.element in CONTAINERS:
        yield f"{port.name!r}: {port.dtype} is carried as its bits in {CONTAINERS[port.element].name}"


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "where": finding.where,
        "op": finding.op,
        "fidelity": finding.fidelity.name.lower(),
        "reasons": [{"label": r.label, "because": r.because, "remedy": r.remedy} for r in finding.reasons],
    }
